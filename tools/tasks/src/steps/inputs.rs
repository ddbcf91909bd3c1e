//! Selects the steps that a change affects. A step is left out if it reads none of the changed
//! files.
//!
//! A table lists the inputs of each step as patterns of paths, relative to the root of the
//! repository:
//!
//! - `crates/` matches every file below that directory, except documents;
//! - `crates/*.md` matches every document below it, and `*.md` every document;
//! - `docs/graphs.md` matches only that file;
//! - `*` matches every file.
//!
//! A file that only `*` matches may be an input of any step, so a change to it runs all steps. If
//! no file has changed, all steps also run.

use std::collections::BTreeSet;

use super::step::Step;
use crate::changes::is_document;

/// The inputs of a step: its name and groups of patterns.
pub type Inputs = (&'static str, &'static [&'static [&'static str]]);

/// The pattern that matches every file.
const EVERY_FILE: &str = "*";

/// Splits steps into those that run after a change to these files, and those that are left out.
pub(super) fn split<S>(
    steps: Vec<Step<S>>,
    inputs: &[Inputs],
    files: &BTreeSet<String>,
) -> (Vec<Step<S>>, Vec<Step<S>>) {
    if files.is_empty() || files.iter().any(|file| !is_known(file, inputs)) {
        return (steps, Vec::new());
    }
    let runs = |step: &Step<S>| {
        let mut patterns = patterns_of(step.name, inputs).peekable();
        patterns.peek().is_none()
            || patterns.any(|pattern| files.iter().any(|file| matches(pattern, file)))
    };
    steps.into_iter().partition(runs)
}

/// Returns the names of steps without inputs, and of inputs without a step. Tests of a table use
/// it.
#[must_use]
pub fn unmatched<S>(steps: &[Step<S>], inputs: &[Inputs]) -> Vec<&'static str> {
    let names = steps.iter().map(|step| step.name);
    let without = names.filter(|name| patterns_of(name, inputs).next().is_none());
    let is_step = |name: &str| steps.iter().any(|step| step.name == name);
    without.chain(inputs.iter().map(|(name, _)| *name).filter(|name| !is_step(name))).collect()
}

/// Returns the names of the steps that run after a change to this file.
#[must_use]
pub fn steps_after<S>(steps: &[Step<S>], inputs: &[Inputs], file: &str) -> Vec<&'static str> {
    let (run, _) = split(steps.to_vec(), inputs, &BTreeSet::from([file.to_owned()]));
    run.iter().map(|step| step.name).collect()
}

fn patterns_of(name: &str, inputs: &[Inputs]) -> impl Iterator<Item = &'static str> {
    let groups =
        inputs.iter().filter(move |(step, _)| *step == name).flat_map(|(_, groups)| *groups);
    groups.flat_map(|group| *group).copied()
}

/// Returns `true` if a step lists this file with a pattern other than `*`.
fn is_known(file: &str, inputs: &[Inputs]) -> bool {
    let mut patterns = inputs.iter().flat_map(|(_, groups)| *groups).flat_map(|group| *group);
    patterns.any(|pattern| *pattern != EVERY_FILE && matches(pattern, file))
}

fn matches(pattern: &str, file: &str) -> bool {
    if pattern == EVERY_FILE || pattern == file {
        return true;
    }
    if let Some(directory) = pattern.strip_suffix("*.md") {
        return is_document(file) && file.starts_with(directory);
    }
    pattern.ends_with('/') && !is_document(file) && file.starts_with(pattern)
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::{Inputs, steps_after, unmatched};

    const STEPS: &[Step<()>] = &[
        Step::in_turn("formatting", "", |()| Ok(Vec::new())),
        Step::in_turn("documents", "", |()| Ok(Vec::new())),
        Step::in_turn("tests", "", |()| Ok(Vec::new())),
        Step::beside("planner", "", |()| Ok(Vec::new())),
    ];

    const INPUTS: &[Inputs] = &[
        ("formatting", &[&["*"]]),
        ("documents", &[&["*.md"]]),
        ("tests", &[&["crates/"], &["crates/a/page.md"]]),
        ("planner", &[&["planner/", "planner/*.md", "crates/plan/"]]),
    ];

    const ALL: [&str; 4] = ["formatting", "documents", "tests", "planner"];

    fn after(file: &str) -> Vec<&'static str> {
        steps_after(STEPS, INPUTS, file)
    }

    #[test]
    fn steps_that_read_none_of_the_files_are_left_out() {
        assert_eq!(after("crates/core/src/lib.rs"), ["formatting", "tests"]);
        assert_eq!(after("crates/plan/src/lib.rs"), ["formatting", "tests", "planner"]);
        assert_eq!(after("planner/app/src/main.rs"), ["formatting", "planner"]);
    }

    #[test]
    fn documents_run_the_steps_that_name_documents() {
        assert_eq!(after("docs/graphs.md"), ["formatting", "documents"]);
        assert_eq!(after("crates/plan/README.md"), ["formatting", "documents"]);
        assert_eq!(after("crates/a/page.md"), ["formatting", "documents", "tests"]);
        assert_eq!(after("planner/README.md"), ["formatting", "documents", "planner"]);
    }

    #[test]
    fn an_unknown_path_runs_everything() {
        for unknown in ["Cargo.lock", "new/src/lib.rs", ".ci/run", "crates", "planner.rs"] {
            assert_eq!(after(unknown), ALL, "{unknown}");
        }
    }

    #[test]
    fn no_changed_file_runs_everything() {
        let (run, left_out) = super::split(STEPS.to_vec(), INPUTS, &[].into());
        assert_eq!((run.len(), left_out.len()), (4, 0));
    }

    #[test]
    fn a_step_without_inputs_runs_always_and_is_reported() {
        assert_eq!(steps_after(STEPS, &INPUTS[1..], "docs/a.md"), ["formatting", "documents"]);
        assert_eq!(unmatched(STEPS, &INPUTS[1..]), ["formatting"]);
        assert_eq!(unmatched(&STEPS[1..], INPUTS), ["formatting"]);
        assert_eq!(unmatched(STEPS, &[("tests", &[])]), ALL);
        assert!(unmatched(STEPS, INPUTS).is_empty());
    }
}

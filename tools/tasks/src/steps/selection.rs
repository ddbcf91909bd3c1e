//! Selects the steps that run: all steps of a plain run, or those that `--only` names.

use super::step::Step;
use crate::TaskError;

/// Returns the steps of this run in their order.
///
/// A name selects the step of that name. If there is none, it selects every step whose name starts
/// with it: `miri` selects all Miri steps.
///
/// # Errors
///
/// Fails if a name selects no step.
pub(super) fn select<S>(
    all: &[Step<S>],
    only: &[String],
    full: bool,
) -> Result<Vec<Step<S>>, TaskError> {
    if only.is_empty() {
        return Ok(all.iter().copied().filter(|step| full || !step.only_in_full).collect());
    }
    if let Some(unknown) = only.iter().find(|name| !all.iter().any(|step| names(name, step, all))) {
        let known: Vec<&str> = all.iter().map(|step| step.name).collect();
        return Err(
            format!("there is no step {unknown}; the steps are {}", known.join(", ")).into()
        );
    }
    let wanted = |step: &Step<S>| only.iter().any(|name| names(name, step, all));
    Ok(all.iter().copied().filter(wanted).collect())
}

fn names<S>(name: &str, step: &Step<S>, all: &[Step<S>]) -> bool {
    step.name == name || (step.name.starts_with(name) && all.iter().all(|other| other.name != name))
}

/// Formats the steps for `--list`.
pub(super) fn list<S>(all: &[Step<S>]) -> String {
    let width = all.iter().map(|step| step.name.len()).max().unwrap_or_default();
    let line = |step: &Step<S>| {
        let when = if step.only_in_full { " (with --full)" } else { "" };
        format!("{:width$}  {}{when}\n", step.name, step.about)
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{Step, list, select};

    const STEPS: &[Step<()>] = &[
        Step::in_turn("formatting", "nothing to change", |()| Ok(Vec::new())),
        Step::in_turn("documentation", "no broken link", |()| Ok(Vec::new())),
        Step::in_turn("tests", "unit tests", |()| Ok(Vec::new())),
        Step::beside("tests-in-release", "the same", |()| Ok(Vec::new())),
        Step::beside("doc-tests", "examples", |()| Ok(Vec::new())),
        Step::beside("miri-32-bit", "no undefined behaviour", |()| Ok(Vec::new())).in_full(),
    ];

    fn selected(only: &[&str], full: bool) -> Vec<&'static str> {
        let only: Vec<String> = only.iter().copied().map(str::to_owned).collect();
        select(STEPS, &only, full).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn a_plain_run_leaves_out_what_only_a_full_run_has() {
        let plain = selected(&[], false);
        assert!(!plain.contains(&"miri-32-bit") && plain.contains(&"tests"));
        assert_eq!(selected(&[], true).len(), STEPS.len());
    }

    #[test]
    fn a_name_is_exact_before_it_is_a_prefix() {
        assert_eq!(selected(&["tests"], false), ["tests"]);
        assert_eq!(selected(&["doc"], false), ["documentation", "doc-tests"]);
        assert_eq!(selected(&["miri-3", "formatting"], false), ["formatting", "miri-32-bit"]);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let refusal = select(STEPS, &["tests".to_owned(), "lint".to_owned()], false).unwrap_err();
        let refusal = refusal.to_string();
        assert!(refusal.contains("lint") && refusal.contains("doc-tests"), "{refusal}");
    }

    #[test]
    fn every_step_is_listed() {
        let list = list(STEPS);
        assert_eq!(list.lines().count(), STEPS.len());
        assert!(STEPS.iter().all(|step| list.contains(step.name)));
        assert!(list.lines().last().unwrap().ends_with("(with --full)"));
    }
}

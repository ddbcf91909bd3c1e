//! `cargo xtask quick`: runs the checks of a change that take under two minutes, for use between
//! two edits.
//!
//! Crates with changed files are formatted, linted and tested. Of the crates that depend on them,
//! only the unit tests run. For documents, links and words are checked. `cargo xtask test` runs the
//! other checks.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use crate::TaskError;
use crate::changes::{Changes, is_document};
use crate::crates::{Crate, Crates, Touched};
use crate::steps::{self, Invocation, Step};
use crate::workspace::{self, Workspace};

/// The number of random programs for each property test, as the value of `POOL_TEST_CASES`.
const CASES: &str = "100";

/// The arguments of `cargo xtask quick`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Check what differs from the merge base with this revision. The default is `main` or, if it
    /// does not exist, `origin/main`.
    #[arg(long, value_name = "REV")]
    since: Option<String>,

    /// Stop after the first step that fails.
    #[arg(long)]
    fail_fast: bool,
}

/// The workspace that is checked, as described by its `xtask`.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The features with which crates are checked, each as `crate/feature`.
    pub features: Vec<&'static str>,
    /// Integration tests that do not run after each edit, each as a crate and a test. `*` stands
    /// for every test of the crate.
    pub slow_suites: &'static [(&'static str, &'static str)],
    /// Directories of other workspaces in the repository, relative to the root of this workspace.
    /// If a change affects such a workspace, its own `cargo xtask quick` runs.
    pub others: &'static [&'static str],
}

/// The checks for a change.
#[derive(Debug)]
struct Quick {
    workspace: Workspace,
    profile: Profile,
    revision: String,
    changed: Vec<Crate>,
    dependents: Vec<Crate>,
    /// `true` if a document has changed, or if a file has been deleted to which a document may
    /// link.
    follows_links: bool,
    /// `true` if a source or a document has changed.
    has_prose: bool,
    /// Other workspaces that the change affects.
    others: Vec<&'static str>,
    /// Changed files in this workspace that no quick check reads.
    unchecked: Vec<String>,
}

/// All steps. Only those that the change affects run, and a step that plans no command is left out.
const STEPS: &[Step<Quick>] = &[
    Step::in_turn("formatting", "rustfmt changes nothing in the changed crates", formatting),
    Step::in_turn("clippy", "no warnings in the changed crates with all their features", clippy),
    Step::in_turn(
        "unit-tests",
        "unit tests of the changed crates and their dependents",
        unit_tests,
    ),
    Step::in_turn(
        "suites",
        "integration tests of the changed crates, except for slow ones",
        suites,
    ),
    Step::in_turn("links", "all links in the documents resolve", links),
    Step::in_turn("words", "comments and documents follow docs/writing.md", words),
    Step::in_turn("workspaces", "other workspaces that the change affects", others),
    Step::in_turn("other-files", "changed files outside all crates", other_files),
];

/// Runs the checks. The last line of the output is `N passed, N failed, N skipped`.
///
/// # Errors
///
/// Fails if the changed files cannot be determined; see [`Changes::since`]. A failed check is not
/// returned as an error: it is counted, and sets the exit code.
pub fn run(arguments: &Arguments, profile: Profile) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    let changes = Changes::since(arguments.since.as_deref(), &workspace.root)?;
    let quick = Quick::of(&changes, workspace, profile)?;
    println!("{}", quick.summary(&changes));
    let applies = |step: &&Step<Quick>| (step.plan)(&quick).map_or(true, |plan| !plan.is_empty());
    let steps: Vec<Step<Quick>> = STEPS.iter().filter(applies).copied().collect();
    let logs = quick.workspace.target_directory.join("xtask/quick");
    steps::run_all(&steps, &[], arguments.fail_fast, &quick, &logs)
}

impl Quick {
    fn of(changes: &Changes, workspace: Workspace, profile: Profile) -> Result<Self, TaskError> {
        let crates = Crates::of(&workspace.root)?;
        let touched = crates.touched(changes);
        let mut others = Vec::new();
        for &other in profile.others {
            if is_touched(&workspace.root.join(other), changes)? {
                others.push(other);
            }
        }
        let of_this = |directories| {
            crates.of_workspace(&workspace.root, directories).into_iter().cloned().collect()
        };
        let goes = |file: &String| is_document(file) || changes.deleted.contains(file);
        Ok(Self {
            changed: of_this(&touched.changed),
            dependents: of_this(&touched.dependents),
            follows_links: changes.files.iter().any(goes),
            has_prose: changes.files.iter().any(|file| is_document(file) || file.ends_with(".rs")),
            others,
            unchecked: unchecked(&touched, changes, &workspace.root, profile.others),
            revision: changes.revision.clone(),
            workspace,
            profile,
        })
    }

    /// Describes the change on three lines.
    fn summary(&self, changes: &Changes) -> String {
        let names = |crates: &[Crate]| {
            let names: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        format!(
            "files that differ from {}: {}\nchanged crates: {}\ntheir dependents: {}",
            self.revision,
            changes.files.len(),
            names(&self.changed),
            names(&self.dependents)
        )
    }

    /// Returns the arguments that select crates with all their features.
    fn choose(&self, crates: &[&Crate]) -> Vec<String> {
        let mut arguments = packages(crates);
        let is_of = |feature: &&&str| {
            let package = feature.split_once('/').map(|(package, _)| package);
            crates.iter().any(|one| package == Some(one.name.as_str()))
        };
        let features: Vec<&str> = self.profile.features.iter().filter(is_of).copied().collect();
        if !features.is_empty() {
            arguments.extend(["--features".to_owned(), features.join(",")]);
        }
        arguments
    }

    /// Returns the integration tests of a crate that run after each edit.
    fn fast_suites<'c>(&self, of: &'c Crate) -> Vec<&'c str> {
        let is_named = |name| self.profile.slow_suites.contains(&(of.name.as_str(), name));
        let slow = |suite| is_named(suite) || is_named("*");
        let built = of.suites.iter().filter(|suite| of.builds(suite, &self.profile.features));
        built.map(|suite| suite.name.as_str()).filter(|suite| !slow(suite)).collect()
    }
}

/// Returns `true` if a change affects the workspace at `root`, through a file in it or a crate on
/// which it depends.
fn is_touched(root: &Path, changes: &Changes) -> Result<bool, TaskError> {
    if changes.files.iter().any(|file| changes.root.join(file).starts_with(root)) {
        return Ok(true);
    }
    let crates = Crates::of(root)?;
    Ok(!crates.of_workspace(root, &crates.touched(changes).dependents).is_empty())
}

/// Returns changed files below `root` that belong to no crate and to no other workspace.
fn unchecked(touched: &Touched, changes: &Changes, root: &Path, others: &[&str]) -> Vec<String> {
    let is_ours = |file: &&String| {
        let path = changes.root.join(file);
        path.starts_with(root) && !others.iter().any(|other| path.starts_with(root.join(other)))
    };
    touched.elsewhere.iter().filter(is_ours).cloned().collect()
}

impl steps::Setting for Quick {
    fn workspace(&self) -> &Workspace {
        &self.workspace
    }
}

fn packages(crates: &[&Crate]) -> Vec<String> {
    let names: BTreeSet<&str> = crates.iter().map(|one| one.name.as_str()).collect();
    names.into_iter().flat_map(|name| ["--package".to_owned(), name.to_owned()]).collect()
}

/// Returns the command for these crates, or no command if there are none.
fn for_crates(command: Invocation, crates: &[&Crate], arguments: Vec<String>) -> Vec<Invocation> {
    if crates.is_empty() { Vec::new() } else { vec![command.with(arguments)] }
}

fn formatting(quick: &Quick) -> Result<Vec<Invocation>, String> {
    let changed: Vec<&Crate> = quick.changed.iter().collect();
    Ok(for_crates(Invocation::check("fmt --check"), &changed, packages(&changed)))
}

fn clippy(quick: &Quick) -> Result<Vec<Invocation>, String> {
    let changed: Vec<&Crate> = quick.changed.iter().collect();
    let arguments = quick.choose(&changed);
    let lint = for_crates(Invocation::check("clippy --all-targets"), &changed, arguments);
    Ok(lint.into_iter().map(|lint| lint.with(["--", "-D", "warnings"])).collect())
}

/// Tests all libraries with one command, so that shared dependencies are built once. Crates without
/// a library have their programs tested.
fn unit_tests(quick: &Quick) -> Result<Vec<Invocation>, String> {
    let tested = || quick.changed.iter().chain(&quick.dependents);
    let libraries: Vec<&Crate> = tested().filter(|one| one.has_library).collect();
    let programs: Vec<&Crate> =
        tested().filter(|one| !one.has_library && one.has_program).collect();
    let test = |kind: &str, crates: &[&Crate]| {
        let command = Invocation::tests_if_any("test --no-fail-fast").with([kind]);
        for_crates(command, crates, quick.choose(crates))
    };
    Ok([test("--lib", &libraries), test("--bins", &programs)].concat())
}

/// Uses a separate command for each crate, because several crates contain a suite of the same name.
fn suites(quick: &Quick) -> Result<Vec<Invocation>, String> {
    let test = |of: &Crate| {
        let suites = quick.fast_suites(of);
        let command = Invocation::tests_if_any("test --no-fail-fast").with(quick.choose(&[of]));
        let command = command.with(suites.iter().flat_map(|suite| ["--test", suite]));
        (!suites.is_empty()).then(|| command.variable("POOL_TEST_CASES", CASES))
    };
    Ok(quick.changed.iter().filter_map(test).collect())
}

fn links(quick: &Quick) -> Result<Vec<Invocation>, String> {
    let follow = Invocation::counted_task("xtask links");
    Ok(if quick.follows_links { vec![follow] } else { Vec::new() })
}

fn words(quick: &Quick) -> Result<Vec<Invocation>, String> {
    let check = Invocation::counted_task("xtask words");
    Ok(if quick.has_prose { vec![check] } else { Vec::new() })
}

fn others(quick: &Quick) -> Result<Vec<Invocation>, String> {
    let check = |&other: &&'static str| {
        let check = Invocation::counted_task("xtask quick --since").with([quick.revision.as_str()]);
        check.inside(other)
    };
    Ok(quick.others.iter().map(check).collect())
}

fn other_files(quick: &Quick) -> Result<Vec<Invocation>, String> {
    if quick.unchecked.is_empty() {
        return Ok(Vec::new());
    }
    let files = quick.unchecked.join(", ");
    Err(format!("no quick check reads {files}; run `cargo xtask test`"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Crate, Profile, Quick, STEPS};
    use crate::crates::Suite;
    use crate::workspace::Workspace;

    /// Returns the commands that each step runs for the change, one on each line.
    fn commands(quick: &Quick) -> Vec<String> {
        let plans = STEPS.iter().map(|step| (step.plan)(quick));
        let lines = plans.flat_map(|plan| match plan {
            Ok(commands) => commands.iter().map(ToString::to_string).collect(),
            Err(why) => vec![format!("SKIPPED: {why}")],
        });
        lines.collect()
    }

    fn library(name: &str, suites: &[&str]) -> Crate {
        Crate {
            name: name.to_owned(),
            has_library: true,
            suites: suites.iter().copied().map(|name| suite(name, &[])).collect(),
            ..Crate::default()
        }
    }

    fn suite(name: &str, required_features: &[&str]) -> Suite {
        let required_features = required_features.iter().copied().map(str::to_owned).collect();
        Suite { name: name.to_owned(), required_features }
    }

    fn program(name: &str) -> Crate {
        Crate { name: name.to_owned(), has_program: true, ..Crate::default() }
    }

    fn quick(changed: Vec<Crate>, dependents: Vec<Crate>) -> Quick {
        let text = r#"{"workspace_root": "/r", "target_directory": "/r/target", "packages": []}"#;
        let workspace: Workspace = serde_json::from_str(text).unwrap();
        assert_eq!(workspace.root, PathBuf::from("/r"));
        Quick {
            workspace,
            profile: Profile {
                features: vec!["a/x", "ab/y", "b/z"],
                slow_suites: &[("a", "slow"), ("of-devices", "*")],
                others: &["planner"],
            },
            revision: "main".to_owned(),
            changed,
            dependents,
            follows_links: false,
            has_prose: false,
            others: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    #[test]
    fn changed_crates_are_linted_and_dependents_tested() {
        let quick = quick(vec![library("a", &["fast", "slow"])], vec![library("b", &["of_b"])]);
        let expected = [
            "cargo fmt --check --package a",
            "cargo clippy --all-targets --package a --features a/x -- -D warnings",
            "cargo test --no-fail-fast --lib --package a --package b --features a/x,b/z",
            "POOL_TEST_CASES=100 cargo test --no-fail-fast --package a --features a/x --test fast",
        ];
        assert_eq!(commands(&quick), expected);
    }

    #[test]
    fn a_suite_runs_with_the_features_that_are_chosen_or_on_by_default() {
        let features = [("default", vec!["host"]), ("host", vec!["dep:host"]), ("x", vec!["y"])];
        let features = features.map(|(name, on)| {
            (name.to_owned(), on.into_iter().map(str::to_owned).collect::<Vec<_>>())
        });
        let of_a = Crate {
            suites: vec![
                suite("of_default", &["host"]),
                suite("of_both", &["y", "host"]),
                suite("of_another", &["host", "device"]),
            ],
            features: features.into(),
            ..library("a", &[])
        };
        assert_eq!(
            quick(vec![of_a.clone()], Vec::new()).fast_suites(&of_a),
            ["of_default", "of_both"]
        );
    }

    #[test]
    fn programs_have_unit_tests_and_a_crate_of_neither_has_none() {
        let quick = quick(vec![program("tool")], vec![Crate::default()]);
        let expected = [
            "cargo fmt --check --package tool",
            "cargo clippy --all-targets --package tool -- -D warnings",
            "cargo test --no-fail-fast --bins --package tool",
        ];
        assert_eq!(commands(&quick), expected);
    }

    #[test]
    fn a_crate_of_slow_suites_has_its_unit_tests() {
        let commands = commands(&quick(vec![library("of-devices", &["one", "two"])], Vec::new()));
        assert_eq!(
            commands.last().unwrap(),
            "cargo test --no-fail-fast --lib --package of-devices"
        );
    }

    #[test]
    fn a_document_alone_has_its_links_followed_and_its_words_checked() {
        let nothing = quick(Vec::new(), Vec::new());
        let document = Quick { follows_links: true, has_prose: true, ..nothing };
        assert_eq!(commands(&document), ["cargo xtask links", "cargo xtask words"]);
        assert_eq!(commands(&quick(Vec::new(), Vec::new())), [""; 0]);
    }

    #[test]
    fn other_workspaces_check_themselves_and_other_files_are_reported() {
        let quick = Quick {
            others: vec!["planner"],
            unchecked: vec![".ci/run".to_owned()],
            ..quick(Vec::new(), Vec::new())
        };
        let expected = [
            "cd planner && cargo xtask quick --since main",
            "SKIPPED: no quick check reads .ci/run; run `cargo xtask test`",
        ];
        assert_eq!(commands(&quick), expected);
    }
}

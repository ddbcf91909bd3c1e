//! `cargo xtask test` runs every check of the planner's workspace, in order, and ends with one line
//! of counts.

use std::process::ExitCode;

use tasks::TaskError;
use tasks::steps::inputs::Inputs;
use tasks::steps::shared::{imports, links, words};
use tasks::steps::{self, Arguments, Invocation, Step};
use tasks::toolchains::Toolchains;
use tasks::workspace::{self, Workspace};

use crate::features::{ALL_FEATURES, CLIPPY_SETS, PUBLISHED};

/// The number of random problems and files per property test, which is passed on in
/// `POOL_TEST_CASES`.
const CASES: u32 = 2_000;
/// The same number with `--full`.
const CASES_IN_FULL: u32 = 20_000;

/// All steps, in the order in which they run.
const STEPS: &[Step<Setting>] = &[
    Step::in_turn("formatting", "rustfmt changes nothing", formatting),
    Step::in_turn("clippy", "no warnings in any listed feature set", clippy),
    Step::in_turn("documentation", "no rustdoc warnings and no broken links", documentation),
    Step::in_turn("links", "all links in the documents resolve", links),
    Step::in_turn("words", "comments and documents follow docs/writing.md", words),
    Step::in_turn("imports", "no import cycles, and no imports outside the layering", imports),
    Step::in_turn("tests", "unit, integration, and documentation tests", tests),
    Step::in_turn("oldest-rust", "the crates build with the oldest supported Rust", oldest_rust),
    Step::in_turn("published-pages", "the documentation as docs.rs builds it", published_pages),
    Step::in_turn("wheel", "the Python module installs and passes its tests", wheel).in_full(),
];

/// The code of the workspace, and of the solver in the root workspace.
const CODE: &[&str] = &["planner/", "crates/pool-plan/"];

/// The document that the library includes.
const PAGES: &[&str] = &["planner/pool-replay/README.md"];

/// The files that each step reads, relative to the root of the repository. `--changed-since` skips
/// the steps that read no changed file. `tools/` is not listed anywhere, so a change there runs
/// everything.
const INPUTS: &[Inputs] = &[
    ("formatting", &[&["*"]]),
    ("clippy", &[CODE]),
    ("documentation", &[CODE, PAGES]),
    ("links", &[&["*", "*.md"]]),
    ("words", &[&["*"]]),
    ("imports", &[CODE, &["planner/ARCHITECTURE.md"]]),
    ("tests", &[CODE, PAGES, &["planner/pool-plan-cli/README.md"]]),
    ("oldest-rust", &[CODE]),
    ("published-pages", &[CODE, PAGES]),
    ("wheel", &[CODE, &["planner/python/README.md"]]),
];

/// The facts of a run.
#[derive(Debug)]
struct Setting {
    workspace: Workspace,
    /// The oldest supported Rust release, as stated in the manifest of this task.
    oldest_rust: &'static str,
    toolchains: Toolchains,
    full: bool,
}

impl steps::Setting for Setting {
    fn workspace(&self) -> &Workspace {
        &self.workspace
    }
}

/// Runs the steps. The last line that it prints is `N passed, N failed, N skipped`.
///
/// # Errors
///
/// Fails if the checks could not be run at all. A failed step is not such an error, but is counted.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    steps::run(arguments, STEPS, INPUTS, || {
        Ok(Setting {
            workspace: workspace::describe()?,
            oldest_rust: env!("CARGO_PKG_RUST_VERSION"),
            toolchains: Toolchains::detect(),
            full: arguments.full,
        })
    })
}

/// The Python module and the fuzz targets are separate workspaces.
fn formatting(_: &Setting) -> Result<Vec<Invocation>, String> {
    let own = |manifest| Invocation::check("fmt --check --manifest-path").with([manifest]);
    Ok(vec![
        Invocation::check("fmt --all --check"),
        own("python/Cargo.toml"),
        own("pool-replay/fuzz/Cargo.toml"),
    ])
}

fn clippy(_: &Setting) -> Result<Vec<Invocation>, String> {
    let deny = ["--", "-D", "warnings"];
    let lint = || Invocation::check("clippy --all-targets");
    let whole = lint().with(["--workspace", "--features", ALL_FEATURES]).with(deny);
    let sets = CLIPPY_SETS.iter().map(|set| lint().with(set.arguments()).with(deny));
    Ok(sets.chain([whole]).collect())
}

fn documentation(_: &Setting) -> Result<Vec<Invocation>, String> {
    let document = Invocation::check("doc --workspace --no-deps --document-private-items");
    let document = document.with(["--features", ALL_FEATURES]);
    Ok(vec![document.variable("RUSTDOCFLAGS", "-D warnings")])
}

fn tests(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let test = Invocation::tests("test --workspace --lib --bins --tests --benches --no-fail-fast");
    let test = test.with(["--features", ALL_FEATURES]);
    let cases = if setting.full { CASES_IN_FULL } else { CASES };
    let examples = Invocation::tests("test --workspace --doc");
    Ok(vec![test.variable("POOL_TEST_CASES", cases.to_string()), examples])
}

fn oldest_rust(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let toolchain = setting.toolchains.release(setting.oldest_rust)?;
    let check = Invocation::check("check --features").with([ALL_FEATURES]).on(&toolchain);
    Ok(vec![check.with(PUBLISHED.iter().flat_map(|name| ["--package", name]))])
}

/// Only nightly Rust can mark features in the documentation.
fn published_pages(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let nightly = setting.toolchains.nightly_with(&[])?;
    let document = Invocation::check("doc --no-deps --lib --package pool-replay --features");
    let document = document.with([ALL_FEATURES]).on(&nightly);
    let directory = setting.workspace.target_directory.join("docs-rs").display().to_string();
    let document = document.variable("CARGO_TARGET_DIR", directory);
    Ok(vec![document.variable("RUSTDOCFLAGS", "--cfg docsrs -D warnings")])
}

/// If Python or pip's registry cannot be reached, the task prints this and counts the step as
/// skipped.
fn wheel(_: &Setting) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::counted_task("xtask wheel")])
}

#[cfg(test)]
mod tests {
    use tasks::steps::inputs::{steps_after, unmatched};

    use super::{INPUTS, STEPS};

    #[test]
    fn every_step_has_its_inputs() {
        assert_eq!(unmatched(STEPS, INPUTS), [""; 0]);
    }

    #[test]
    fn the_solver_is_tested_and_an_unknown_path_runs_everything() {
        assert!(steps_after(STEPS, INPUTS, "crates/pool-plan/src/lib.rs").contains(&"tests"));
        for unknown in ["tools/tasks/src/lib.rs", "planner.toml", "Cargo.toml"] {
            assert_eq!(steps_after(STEPS, INPUTS, unknown).len(), STEPS.len(), "{unknown}");
        }
    }
}

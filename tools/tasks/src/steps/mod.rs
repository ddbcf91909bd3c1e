//! `cargo xtask test`: the steps of a workspace, in order, with one closing line of counts.
//!
//! A step is a few cargo commands whose output goes to a log; a failed command prints the end of
//! its own. Every step runs, whatever happened before it, unless `--fail-fast` says otherwise, and
//! a step whose toolchain is missing says so and counts as skipped. With `--changed-since` the steps that read no
//! changed file are left out, and listed as not changed.

pub mod inputs;
mod invocation;
mod report;
mod runner;
mod selection;
pub mod shared;

use std::path::Path;
use std::process::ExitCode;

use inputs::Inputs;
use report::Outcome;

use crate::TaskError;
use crate::changes::Changes;
use crate::tally::Tally;
use crate::workspace::Workspace;

pub use invocation::Invocation;

/// What `cargo xtask test` accepts.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Run only this step, or all steps whose names start like this; may be repeated.
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Stop after the first step that fails.
    #[arg(long)]
    fail_fast: bool,
    /// Run the full counts of random programs, and the steps that a plain run leaves out.
    #[arg(long)]
    pub full: bool,
    /// List the steps and run none.
    #[arg(long)]
    list: bool,
    /// Leave out the steps that read no file that differs from the merge base with this revision.
    #[arg(long, value_name = "REV", conflicts_with = "all")]
    pub changed_since: Option<String>,
    /// Leave out no step, which is the default.
    #[arg(long)]
    all: bool,
}

/// One step. `S` holds the facts that a run knows: toolchains, directories, counts.
#[derive(Debug)]
pub struct Step<S> {
    /// The name that `--only` takes.
    pub name: &'static str,
    /// The property that the step checks.
    pub about: &'static str,
    /// Whether it runs only with `--full`, or when it is asked for by name.
    pub only_in_full: bool,
    /// Whether it runs beside all others, and needs nothing that they build.
    pub side_by_side: bool,
    /// Its commands, or why there are none here.
    pub plan: Plan<S>,
}

/// Plans the commands of a step, or returns why there are none here.
pub type Plan<S> = fn(&S) -> Result<Vec<Invocation>, String>;

impl<S> Clone for Step<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Step<S> {}

impl<S> Step<S> {
    /// A step that shares the build directory with the others, and runs in their order.
    pub const fn in_turn(name: &'static str, about: &'static str, plan: Plan<S>) -> Self {
        Self { name, about, only_in_full: false, side_by_side: false, plan }
    }

    /// A step that runs beside the others.
    pub const fn beside(name: &'static str, about: &'static str, plan: Plan<S>) -> Self {
        Self { side_by_side: true, ..Self::in_turn(name, about, plan) }
    }

    /// The same, only with `--full`.
    #[must_use]
    pub const fn in_full(self) -> Self {
        Self { only_in_full: true, ..self }
    }
}

/// The facts of a run that the steps of a workspace plan with.
pub trait Setting: Sync {
    /// The workspace: commands run at its root, and their logs are in `xtask` under its target directory.
    fn workspace(&self) -> &Workspace;
}

/// Runs the steps; the last line that it prints is `N passed, N failed, N skipped`. `detect` is not called where steps
/// are only listed. `inputs` are what `--changed-since` chooses by.
///
/// # Errors
///
/// When the run could not be made at all. A failed step is no such error: it is counted, and the
/// exit code tells it.
pub fn run<S: Setting>(
    arguments: &Arguments,
    steps: &[Step<S>],
    inputs: &[Inputs],
    detect: impl FnOnce() -> Result<S, TaskError>,
) -> Result<ExitCode, TaskError> {
    if arguments.list {
        print!("{}", selection::list(steps));
        return Ok(ExitCode::SUCCESS);
    }
    let steps = selection::select(steps, &arguments.only, arguments.full)?;
    let setting = detect()?;
    let workspace = setting.workspace();
    let (steps, left_out) = match &arguments.changed_since {
        Some(revision) => {
            let changes = Changes::since(Some(revision), &workspace.root)?;
            inputs::split(steps, inputs, &changes.files)
        }
        None => (steps, Vec::new()),
    };
    let logs = workspace.target_directory.join("xtask");
    run_all(&steps, &left_out, arguments.fail_fast, &setting, &logs)
}

/// Runs these steps, with their logs in `logs`, and prints the table, the steps that are left out, and the counts.
///
/// # Errors
///
/// When a log cannot be written or cargo cannot be started.
pub(crate) fn run_all<S: Setting>(
    steps: &[Step<S>],
    left_out: &[Step<S>],
    fail_fast: bool,
    setting: &S,
    logs: &Path,
) -> Result<ExitCode, TaskError> {
    std::fs::create_dir_all(logs)?;
    let outcomes = runner::run(steps, fail_fast, setting, logs)?;
    let left_out: Vec<&str> = left_out.iter().map(|step| step.name).collect();
    Ok(close(&outcomes, steps.len(), &left_out))
}

/// Prints the table and the counts; the exit code of the run.
fn close(outcomes: &[Outcome], planned: usize, left_out: &[&str]) -> ExitCode {
    println!("\n{}", report::table(outcomes, left_out));
    if outcomes.len() < planned {
        println!("stopped after {} of {planned} steps", outcomes.len());
    }
    if !left_out.is_empty() {
        println!("\n{} steps not changed", left_out.len());
    }
    let tally: Tally = outcomes.iter().map(|outcome| outcome.tally).sum();
    println!("\n{}", report::closing_line(tally));
    if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

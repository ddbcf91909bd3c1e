//! `cargo xtask test`: runs the steps of a workspace in order, and ends with one line of counts.
//!
//! A step consists of a few cargo commands whose output goes to a log. If a command fails, the end
//! of its output is printed. Every step runs, even if earlier steps have failed, unless
//! `--fail-fast` is given. A step whose toolchain is missing prints this and counts as skipped.
//! With `--changed-since`, steps that read no changed file are left out and listed as not changed.

pub mod inputs;
mod invocation;
mod report;
mod runner;
mod selection;
pub mod shared;
mod step;

use std::path::Path;
use std::process::ExitCode;

use inputs::Inputs;
use report::Outcome;

use crate::TaskError;
use crate::changes::Changes;
use crate::tally::Tally;

pub use invocation::Invocation;
pub use step::{Plan, Setting, Step};

/// The arguments of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Run only this step, or all steps whose names start with this text. May be repeated.
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Stop after the first step that fails.
    #[arg(long)]
    fail_fast: bool,
    /// Run with the full number of random programs, and include the steps that a plain run leaves
    /// out.
    #[arg(long)]
    pub full: bool,
    /// List the steps without running them.
    #[arg(long)]
    list: bool,
    /// Leave out the steps for which no file differs from the merge base with this revision.
    #[arg(long, value_name = "REV", conflicts_with = "all")]
    pub changed_since: Option<String>,
    /// Run all steps, which is the default.
    #[arg(long)]
    all: bool,
}

/// Runs the steps. The last line of the output is `N passed, N failed, N skipped`. If steps are
/// only listed, `detect` is not called. `--changed-since` selects steps by `inputs`.
///
/// # Errors
///
/// Fails if the run cannot be started. A failed step is not returned as an error: it is counted,
/// and sets the exit code.
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

/// Runs these steps with their logs in `logs`. Prints the table, the steps that are left out, and
/// the counts.
///
/// # Errors
///
/// Fails if a log cannot be written or if cargo cannot be started.
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

/// Prints the table and the counts. Returns the exit code of the run.
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

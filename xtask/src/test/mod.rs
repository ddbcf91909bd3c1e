//! `cargo xtask test`: every check of the repository, in order, with one closing line of counts.
//!
//! A step is a few cargo commands whose output goes to a log; a failed command prints the end of
//! its own. Every step runs, whatever happened before it, unless `--fail-fast` says otherwise, and
//! a step whose toolchain is missing says so and counts as skipped.

#[cfg(test)]
mod dependencies;
pub(crate) mod features;
mod invocation;
mod report;
mod runner;
mod selection;
mod setting;
mod steps;
pub(crate) mod tally;
mod toolchains;
pub(crate) mod workspace;

use std::process::ExitCode;

use report::Outcome;
use setting::Setting;
use tally::Tally;

use crate::TaskError;

/// What `cargo xtask test` accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only this step, or all steps whose names start like this; may be repeated.
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Stop after the first step that fails.
    #[arg(long)]
    fail_fast: bool,
    /// Run the full counts of random programs, and the steps that a plain run leaves out.
    #[arg(long)]
    full: bool,
    /// List the steps and run none.
    #[arg(long)]
    list: bool,
}

/// Runs the steps; the last line that it prints is `N passed, N failed, N skipped`.
///
/// # Errors
///
/// When the run could not be made at all. A failed step is no such error: it is counted, and the
/// exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    if arguments.list {
        print!("{}", selection::list());
        return Ok(ExitCode::SUCCESS);
    }
    let steps = selection::select(&arguments.only, arguments.full)?;
    let setting = Setting::detect(arguments.full)?;
    let logs = setting.workspace.target_directory.join("xtask");
    std::fs::create_dir_all(&logs)?;

    let outcomes = runner::run(&steps, arguments.fail_fast, &setting, &logs)?;
    Ok(close(&outcomes, steps.len()))
}

/// Prints the table and the counts; the exit code of the run.
fn close(outcomes: &[Outcome], planned: usize) -> ExitCode {
    println!("\n{}", report::table(outcomes));
    if outcomes.len() < planned {
        println!("stopped after {} of {planned} steps", outcomes.len());
    }
    let tally: Tally = outcomes.iter().map(|outcome| outcome.tally).sum();
    println!("\n{}", report::closing_line(tally));
    if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

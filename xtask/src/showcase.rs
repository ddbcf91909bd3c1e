//! `cargo xtask adopt`, `demo` and `encode`: tasks of the program `showcases`, which is built when
//! one of them is run.

use std::ffi::OsString;
use std::process::ExitCode;

use tasks::programs::cargo;

use crate::TaskError;

/// The arguments that are passed on.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// The arguments of the task; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<OsString>,
}

/// Runs a task of the program. Returns its exit code.
///
/// # Errors
///
/// If cargo cannot be started.
pub(crate) fn run(task: &str, arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let mut run = cargo();
    run.args(["run", "--quiet", "--package", "showcases", "--", task]).args(&arguments.passed_on);
    // No code where a signal ended it, which is a failure like any other.
    let code = run.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

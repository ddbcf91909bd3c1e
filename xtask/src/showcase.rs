//! `cargo xtask adopt`, `demo` and `encode` are tasks of the `showcases` program. The program is
//! built when one of them runs.

use std::ffi::OsString;
use std::process::ExitCode;

use tasks::programs::cargo;

use crate::TaskError;

/// The arguments that are passed to the program.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// The arguments of the task; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<OsString>,
}

/// Runs a task of the program, and returns the program's exit code.
///
/// # Errors
///
/// Fails if cargo cannot be started.
pub(crate) fn run(task: &str, arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let mut run = cargo();
    run.args(["run", "--quiet", "--package", "showcases", "--", task]).args(&arguments.passed_on);
    // If a signal ended the process, there is no code. This is a failure like any other.
    let code = run.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

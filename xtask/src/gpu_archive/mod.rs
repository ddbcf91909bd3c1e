//! `cargo xtask gpu-archive`: all steps of the GPU tests, from the build to the report, on a
//! machine without a GPU. The simulated driver, disguised as a driver, replaces one.
//!
//! The archive is built, copied into an empty directory, and run there by the script as on a rented
//! machine: no variable but `PATH` and `HOME`, no cargo. Then the task plants everything that can
//! be wrong. Each assertion is one line, and the last line counts them.

mod disguise;
mod machine;
mod refusals;
mod reports;
mod stage;
mod suitable;
mod whole;

use std::process::ExitCode;

use crate::TaskError;
use stage::Stage;
use tasks::checks::Checks;

/// The arguments of `cargo xtask gpu-archive`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Build as for a real device, in the profile `gpu`, and not as the tests are built.
    #[arg(long)]
    for_devices: bool,
}

/// Builds the archive and tries it.
///
/// # Errors
///
/// Fails if something does not build, or if this machine lacks a requirement of the assertions. A failed assertion is
/// not an error: it sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let stage = Stage::set(arguments.for_devices)?;
    let mut checks = Checks::default();
    whole::check(&stage, &mut checks)?;
    refusals::check(&stage, &mut checks)?;
    suitable::check(&stage, &mut checks)?;
    println!("\n{checks}");
    Ok(checks.exit_code())
}

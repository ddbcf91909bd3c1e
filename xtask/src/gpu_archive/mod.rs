//! `cargo xtask gpu-archive`: tests all steps of the GPU tests, from the build to the report, on a
//! machine without a GPU. The simulated driver takes the place of a real driver.
//!
//! The task builds the archive, copies it to an empty directory, and runs it there with the script.
//! As on a rented machine, only the variables `PATH` and `HOME` are set, and cargo is not
//! available. The task then introduces every fault that the steps must detect. Each assertion
//! prints one line, and the last line counts them.

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
    /// Build as for a real device with the profile `gpu`, and not as the tests are built.
    #[arg(long)]
    for_devices: bool,
}

/// Builds the archive and tests it.
///
/// # Errors
///
/// Fails if something does not build, or if this machine lacks what the assertions need. A failed
/// assertion is not returned as an error: it sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let stage = Stage::set(arguments.for_devices)?;
    let mut checks = Checks::default();
    whole::check(&stage, &mut checks)?;
    refusals::check(&stage, &mut checks)?;
    suitable::check(&stage, &mut checks)?;
    println!("\n{checks}");
    Ok(checks.exit_code())
}

//! `cargo xtask gpu-archive`: the whole way of the GPU tests, from the build to the report, on a machine
//! without a GPU: the simulated driver stands where a driver would, disguised as one.
//!
//! The archive is built, carried into an empty directory and run there by the script as on a rented
//! machine: no variable but `PATH` and `HOME`, no cargo. Then everything that can be wrong is put in its
//! way. Each assertion is one line, and the last line counts them.

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

/// What `cargo xtask gpu-archive` accepts.
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
/// When something does not build, and when this machine cannot do what the assertions need. An assertion that
/// does not hold is no such error: the exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let stage = Stage::set(arguments.for_devices)?;
    let mut checks = Checks::default();
    whole::check(&stage, &mut checks)?;
    refusals::check(&stage, &mut checks)?;
    suitable::check(&stage, &mut checks)?;
    println!("\n{checks}");
    Ok(checks.exit_code())
}

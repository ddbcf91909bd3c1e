//! `cargo xtask test`: runs every check of the repository in order, and ends with one line of
//! counts.

#[cfg(test)]
mod comparison;
#[cfg(test)]
mod dependencies;
pub(crate) mod features;
mod inputs;
mod setting;
mod steps;

use std::process::ExitCode;

use tasks::steps::Arguments;

use inputs::INPUTS;
use setting::Setting;
use steps::STEPS;

use crate::TaskError;

/// Runs the steps. The last line of the output is `N passed, N failed, N skipped`.
///
/// # Errors
///
/// Fails if the run cannot be started. A failed step is not returned as an error: it is counted,
/// and sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let detect = || Setting::detect(arguments.full, arguments.changed_since.clone());
    tasks::steps::run(arguments, STEPS, INPUTS, detect)
}

//! `cargo xtask test`: every check of the repository, in order, with one closing line of counts.

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

/// Runs the steps; the last line that it prints is `N passed, N failed, N skipped`.
///
/// # Errors
///
/// If the run could not be made at all. A failed step is not an error: it is counted, and sets the
/// exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let detect = || Setting::detect(arguments.full, arguments.changed_since.clone());
    tasks::steps::run(arguments, STEPS, INPUTS, detect)
}

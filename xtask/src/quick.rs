//! `cargo xtask quick`: what of the root workspace, and of the planner's, a branch changes.

use std::process::ExitCode;

use tasks::quick::{self, Arguments, Profile};

use crate::TaskError;
use crate::test::features::ALL_FEATURES;

/// Integration tests that take longer than ten seconds of processor time, or need the simulated driver to say anything.
const SLOW_SUITES: &[(&str, &str)] = &[];

/// Checks the changed crates.
///
/// # Errors
///
/// When the changed files cannot be found. A failed check is no such error: the exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let profile =
        Profile { features: ALL_FEATURES.to_vec(), slow_suites: SLOW_SUITES, others: &["planner"] };
    quick::run(arguments, profile)
}

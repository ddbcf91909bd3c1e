//! `cargo xtask imports`: checks the imports of the published crates against their layering.

use std::process::ExitCode;

use tasks::imports::{self, Arguments, Crate};

use crate::TaskError;
use crate::test::features::LIBRARIES;

/// Checks the libraries.
///
/// # Errors
///
/// When a source cannot be read or parsed. A circle is no such error: the exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let roots: Vec<String> =
        LIBRARIES.iter().map(|name| format!("crates/{name}/src/lib.rs")).collect();
    let crates: Vec<Crate<'_>> =
        LIBRARIES.iter().zip(&roots).map(|(name, root)| Crate { name, root }).collect();
    imports::run(arguments, &crates)
}

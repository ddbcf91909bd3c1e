//! `cargo xtask imports`: checks the imports of the published crates, of the benches and of the tasks against their
//! layering.

use std::process::ExitCode;

use tasks::imports::{self, Arguments, Crate};

use crate::TaskError;
use crate::test::features::LIBRARIES;

/// Crates that are not published, and are checked as well: each with its root module.
const UNPUBLISHED: &[Crate<'_>] = &[
    Crate { name: "cuda-tasks", root: "tools/cuda-tasks/src/lib.rs" },
    Crate { name: "pool-benches", root: "benches/src/lib.rs" },
    Crate { name: "showcases", root: "tools/showcases/src/main.rs" },
    Crate { name: "tasks", root: "tools/tasks/src/lib.rs" },
    Crate { name: "xtask", root: "xtask/src/main.rs" },
];

/// Checks all of them.
///
/// # Errors
///
/// When a source cannot be read or parsed. A circle is no such error: the exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let roots: Vec<String> =
        LIBRARIES.iter().map(|name| format!("crates/{name}/src/lib.rs")).collect();
    let libraries = LIBRARIES.iter().zip(&roots).map(|(name, root)| Crate { name, root });
    let crates: Vec<Crate<'_>> = libraries.chain(UNPUBLISHED.iter().copied()).collect();
    imports::run(arguments, &crates)
}

//! The directories of the task.

use std::path::PathBuf;

/// The directories that this task uses.
#[derive(Debug)]
pub(super) struct Place {
    /// The `testing/adopt` directory, which contains the patches and the measuring programs.
    pub(super) kept: PathBuf,
    /// The `target/adopt` directory, in which the manifests of the measuring programs expect the
    /// modified crates.
    pub(super) made: PathBuf,
}

//! The directories of the task.

use std::path::PathBuf;

/// The directories that this task uses.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory `testing/adopt`, which contains the patches and the measuring programs.
    pub(super) kept: PathBuf,
    /// The directory `target/adopt`, in which the manifests of the measuring programs expect the
    /// modified crates.
    pub(super) made: PathBuf,
}

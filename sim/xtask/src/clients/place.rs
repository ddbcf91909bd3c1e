//! The directories in which suites are built and run.

use std::path::PathBuf;

use tasks::TaskError;
use tasks::workspace::{self, Workspace};

/// Directories that the suites use.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) root: PathBuf,
    /// The build directory of the root workspace, in which its tasks also unpack the compiler of
    /// CUDA C++.
    pub(super) compilers: PathBuf,
    /// `target/clients`.
    pub(super) made: PathBuf,
}

impl Place {
    /// Finds them by cargo's metadata.
    ///
    /// # Errors
    ///
    /// Fails if cargo does not describe the workspaces.
    pub(super) fn find() -> Result<Self, TaskError> {
        let Workspace { root, target_directory, .. } = workspace::describe()?;
        let repository: Workspace = workspace::describe_at(&root.join(".."))?;
        let made = target_directory.join("clients");
        Ok(Self { root, compilers: repository.target_directory, made })
    }
}

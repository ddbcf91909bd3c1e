//! The directories in which the suites are built and run.

use std::path::PathBuf;

use tasks::TaskError;
use tasks::workspace::{self, Workspace};

/// Directories that the suites use.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) root: PathBuf,
    /// The build directory of the root workspace. The root's tasks also unpack the CUDA C++
    /// compiler there.
    pub(super) compilers: PathBuf,
    /// The `target/clients` directory.
    pub(super) made: PathBuf,
}

impl Place {
    /// Finds the directories with cargo's metadata.
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

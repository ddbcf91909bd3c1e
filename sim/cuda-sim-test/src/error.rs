//! Errors when the simulated driver is started.

use std::io;

use cuda_sim::settings::{SettingError, Settings};
use thiserror::Error;

/// Why the simulated driver cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// An environment variable has an invalid value.
    #[error("the environment: {0}")]
    Setting(#[from] SettingError),
    /// The simulator already runs in this process, with other settings.
    #[error(
        "the simulated driver runs in this process already, with other settings: it was started with {running:?}, \
         not {wanted:?}; give each machine a separate process, as cargo nextest does with tests"
    )]
    StartedOtherwise {
        /// The settings of the running simulator.
        running: Box<Settings>,
        /// The requested settings.
        wanted: Box<Settings>,
    },
    /// This process has already loaded another driver of that name.
    #[error(
        "this process has already loaded another driver as {library}: start the simulated one before the first \
         call of cudarc, or set CUDA_SIM_START=1"
    )]
    AnotherDriver {
        /// The name under which the other driver was found.
        library: &'static str,
    },
    /// The system's dynamic loader does not support the simulator.
    #[error(
        "the simulated driver needs the dynamic loader of GNU/Linux on x86_64 or aarch64; this program is for {system}"
    )]
    System {
        /// The processor, system and C library of this program.
        system: &'static str,
    },
    /// The dynamic loader refuses the generated library.
    #[error("the dynamic loader cannot load the simulated driver as {library}: {why}")]
    Loader {
        /// The name of the library.
        library: &'static str,
        /// The loader's message.
        why: String,
    },
    /// The file in memory cannot be created.
    #[error("cannot create a file in memory for the simulated driver")]
    File(#[source] io::Error),
    /// The C library did not register the function that runs at the end of the process.
    #[error("the C library cannot register a function for the end of the process")]
    NoExitFunction,
    /// The thread for `CUDA_SIM_BACKGROUND` cannot be started.
    #[error("cannot start the thread that runs the device's work in the background")]
    NoThread,
}

//! Why the simulated driver cannot be started.

use std::io;

use cuda_sim::settings::{SettingError, Settings};
use thiserror::Error;

/// Why the simulated driver cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// A variable of the environment says what it cannot say.
    #[error("the environment: {0}")]
    Setting(#[from] SettingError),
    /// It runs in this process already, as another machine.
    #[error(
        "the simulated driver runs in this process already, as another machine: it was started with {running:?}, and \
         now {wanted:?} is asked for; give each machine a process of its own, as cargo nextest does with tests"
    )]
    StartedOtherwise {
        /// What it is like.
        running: Box<Settings>,
        /// What was asked for.
        wanted: Box<Settings>,
    },
    /// This process has loaded another driver under that name before.
    #[error(
        "this process has loaded {library} before, and it is another driver: start the simulated one before the first \
         call of cudarc, or set CUDA_SIM_START=1"
    )]
    AnotherDriver {
        /// The name by which it was found.
        library: &'static str,
    },
    /// The dynamic loader of this system is none that the simulator can be shown to.
    #[error(
        "the simulated driver needs the dynamic loader of GNU/Linux on x86_64 or aarch64; this program is for {system}"
    )]
    System {
        /// Processor, system and C library of this program.
        system: &'static str,
    },
    /// The dynamic loader refuses the library of names.
    #[error("the dynamic loader does not take the simulated driver as {library}: {why}")]
    Loader {
        /// The name that it was to have.
        library: &'static str,
        /// What the loader says.
        why: String,
    },
    /// No file in memory can be made.
    #[error("no file in memory can be made for the simulated driver")]
    File(#[source] io::Error),
    /// The C library takes no function that is to be called at the end of the process.
    #[error("the C library takes no function for the end of the process")]
    NoExitFunction,
    /// No thread can be made for `CUDA_SIM_BACKGROUND`.
    #[error("no thread can be made that runs the device's work in the background")]
    NoThread,
}

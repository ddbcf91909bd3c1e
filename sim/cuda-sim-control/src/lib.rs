//! Loading and controlling the simulated CUDA driver in tests.
//!
//! [`Simulator::start`] opens the library that cargo has built beside the test program. From then
//! on the dynamic loader resolves `libcuda.so` to it, so unmodified cudarc runs on it. A process
//! can start it once: `cargo xtask sim-test` gives every test a process.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// library, report: nothing
// simulator: library, report

mod library;
mod report;
mod simulator;

pub use library::LoadError;
pub use report::{Mistake, Report};
pub use simulator::{DriverCall, Settings, Simulator};

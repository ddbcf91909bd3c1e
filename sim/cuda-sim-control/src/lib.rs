//! Loads and controls the simulated CUDA driver in tests.
//!
//! [`Simulator::start`] opens the library that cargo has built next to the test program. From then
//! on the dynamic loader resolves `libcuda.so` to this library, so unmodified cudarc uses the
//! simulator. A process can start the simulator only once, so `cargo xtask sim-test` runs every
//! test in its own process.

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

//! The parts of the tasks that concern CUDA. Several workspaces share them.
//!
//! [`Wheels`] are pinned Python packages. The [`Toolkit`] is one of them, and contains the
//! [`Compiler`] for CUDA C++ and the PTX assembler. [`sim_test`] runs tests on the simulated CUDA
//! driver, each in its own process.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// wheels: nothing
// toolkit: wheels
// compiler: toolkit
// sim_test: nothing

mod compiler;
pub mod sim_test;
mod toolkit;
mod wheels;

pub use compiler::Compiler;
pub use toolkit::{Toolkit, headers};
pub use wheels::{Wheels, short_sum};

//! The CUDA parts that the tasks of several workspaces share.
//!
//! [`Wheels`] are pinned Python packages; the [`Toolkit`] is one of them, and holds the [`Compiler`] of CUDA C++ and the
//! assembler of PTX. [`sim_test`] runs tests on the simulated CUDA driver, each in a process of its own.

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

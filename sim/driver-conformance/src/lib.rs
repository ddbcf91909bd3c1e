//! Questions to a CUDA driver, and what is needed to ask them.
//!
//! The questions themselves are the tests of this crate, `tests/driver_conformance`. Each asks one
//! thing and looks at return codes and data only, so the same program asks a real driver and a
//! simulated one. A test opens a device with [`ask()`], makes its calls through [`driver`], and tells
//! its [`Answers`] what it saw beside what is expected and why. One line is printed for each:
//!
//! ```text
//! answer: capture waits on a completed outside event: cuStreamWaitEvent = 905 STREAM_CAPTURE_ISOLATION (expected 905 STREAM_CAPTURE_ISOLATION, assumed)
//! ```
//!
//! Every question leaves its handles to the end of its process, and some leave the device unusable:
//! each belongs in a process of its own, which is how `cargo xtask gpu-test` runs them.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// gate: nothing
// driver: gate
// answers, kernels: driver
// ask, child: answers, driver

mod answers;
mod ask;
mod child;
pub mod driver;
mod gate;
mod kernels;

pub use answers::{Answer, Answers, codes};
pub use ask::{ask, open};
pub use child::{Fate, in_a_child};
pub use gate::Gate;
pub use kernels::Kernels;

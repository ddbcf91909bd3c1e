//! Questions to a CUDA driver, with the helpers to test them.
//!
//! The questions are the tests of this crate, `tests/driver_conformance`. Each tests one behaviour
//! by return codes and data alone, so the same program tests a real driver and a simulated one. A
//! test opens a device with [`ask()`], makes its calls through [`driver`], and passes its
//! observations to [`Answers`], with the expectation and its source. One line is printed for each:
//!
//! ```text
//! answer: capture waits on a completed outside event: cuStreamWaitEvent = 905 STREAM_CAPTURE_ISOLATION (expected 905 STREAM_CAPTURE_ISOLATION, assumed)
//! ```
//!
//! Every question leaves its handles to the end of its process, and some leave the device unusable.
//! So each needs a separate process, as under `cargo xtask gpu-test`.

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

//! Questions for a CUDA driver, with the helpers that are needed to ask them.
//!
//! The questions are the tests of this crate, in `tests/driver_conformance`. Each tests one
//! behaviour using only return codes and data, so the same program tests a real driver and a
//! simulated driver. A test opens a device with [`ask()`], makes its calls through [`driver`], and
//! passes its observations to [`Answers`], together with the expectation and its source. Each
//! observation is printed on one line:
//!
//! ```text
//! answer: capture waits on a completed outside event: cuStreamWaitEvent = 905 STREAM_CAPTURE_ISOLATION (expected 905 STREAM_CAPTURE_ISOLATION, assumed)
//! ```
//!
//! A question does not destroy its handles before its process ends, and some questions leave the
//! device unusable. Each question therefore needs its own process, as with `cargo xtask gpu-test`.

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

//! Tests that every pool backend passes, and a backend that watches and fails on request.
//!
//! A backend's own tests write a [`Probe`] for it, which looks into its memory, and give it to
//! [`run_all`], the acceptance cases, and to [`programs::run_random_lexical`] and
//! [`programs::run_random_dynamic`], random programs that are checked against a naive model.
//!
//! ```no_run
//! use pool_conformance::programs::{run_random_lexical, test_cases};
//! use pool_conformance::{HeapProbe, run_all};
//! run_all(&HeapProbe::default());
//! run_random_lexical(test_cases(), HeapProbe::default);
//! ```

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a crate of tests: a check that fails panics"
)]

pub mod cases;
pub mod element;
mod heap;
pub mod panics;
mod probe;
pub mod programs;
mod toy;

pub use cases::run_all;
pub use heap::{HeapBackend, Ledger, Refusal, Refused};
pub use probe::{Failure, HeapProbe, Held, Probe, SharedView, View};
pub use toy::Toy;

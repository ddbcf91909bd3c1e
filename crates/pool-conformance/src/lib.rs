//! Tests that every pool backend must pass. You can run these tests for your own backend.
//!
//! A [`BackendProbe`], which you write for your backend, gives the tests access to the backend's
//! memory. [`run_all`] runs the acceptance [`cases`] with a probe. [`programs`] contains random
//! programs that are checked against a naive model. The following code is a complete test of a host
//! backend whose views are slices:
//!
//! ```
//! use pool_conformance::programs::{run_random_dynamic, run_random_lexical, test_cases};
//! use pool_conformance::{
//!     BackendProbe, Ledger, LedgeredBackend, LedgeredContext, SkipReason, Toy, run_all,
//!     slice_access,
//! };
//!
//! /// How the tests look into the memory of the backend, here `Toy`.
//! #[derive(Default)]
//! struct ToyProbe {
//!     ledger: Ledger,
//! }
//!
//! impl BackendProbe for ToyProbe {
//!     // `LedgeredBackend` tells a ledger of every block. A backend with a hook of its own needs none.
//!     type Backend = LedgeredBackend<Toy>;
//!
//!     fn context(&self) -> LedgeredContext<Toy> {
//!         // SAFETY: the views of `Toy` are slices, which do not use their slot.
//!         unsafe { LedgeredContext::new((), self.ledger.clone()) }
//!     }
//!
//!     // Where views are, and what is in them.
//!     slice_access!();
//!
//!     // Who counts blocks, and who makes allocations fail: the ledger, or `Err(SkipReason("why"))`.
//!     fn accounting(&self) -> Result<&Ledger, SkipReason> {
//!         Ok(&self.ledger)
//!     }
//!
//!     fn refusal(&self) -> Result<&Ledger, SkipReason> {
//!         Ok(&self.ledger)
//!     }
//! }
//!
//! run_all(&ToyProbe::default());
//! run_random_lexical(test_cases(), ToyProbe::default);
//! run_random_dynamic(test_cases(), ToyProbe::default);
//! ```
//!
//! A probe for a backend with a work queue needs two additional kinds of methods. For an example,
//! see [`DeferredProbe`]. Methods of the first kind enqueue work without waiting for it
//! ([`BackendProbe::write_later`], [`BackendProbe::read_later`]) so that the tests can check the
//! order of work. Methods of the second kind enqueue work that the pool cannot see
//! ([`BackendProbe::write_elsewhere`]). If a probe does not support a method, the tests print
//! `SKIPPED` for each test case that needs the method. Run `cargo test -- --nocapture` to see the
//! skipped cases.
//!
//! | starting point | description |
//! |---|---|
//! | [`Toy`] | the smallest possible backend, in eighty lines |
//! | [`DeferredBackend`] | opaque blocks behind a queue whose commands run late |
//! | [`HeapBackend`] | heap memory with its own [`Ledger`], for tests of code that uses pools |
//! | [`ArmingBackend`](arming::ArmingBackend) | a host backend's memory, with views that arm their slot |
//! | [`LedgeredBackend`], [`AdaptedBackend`] | a wrapper around a host backend whose views are slices: it counts or refuses allocations, or changes the methods that you override. A backend with a queue calls the ledger itself: `ask`, `given`, `freeing`, `returned`, `note_settled` |
//!
//! The acceptance cases themselves are also tested. The [`faulty_backends`] module contains faulty
//! backends that each make one mistake. The command `cargo test -p pool-conformance --test
//! faulty_backends -- --nocapture` prints which case detected which mistake.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::print_stdout,
    reason = "a crate of tests: a check that fails panics, and what is skipped is printed"
)]

// Layering: each module may import only the modules that are listed to the right of its name.
// `cargo xtask imports` checks this list, and `cargo xtask imports --list` prints it.
//
// arming, element, panics, sources, toy: nothing
// host: arming, element
// ledger: panics
// adapted, heap: ledger
// probe: host, ledger
// adapted_probe: adapted, ledger, probe
// cases: element, ledger, panics, probe, sources
// deferred: ledger, probe
// heap_probe: heap, ledger, probe
// ledgered: adapted, ledger
// programs: element, host, ledger, panics, probe
// toy_probe: ledger, ledgered, probe, toy
// faulty_backends: adapted, adapted_probe, cases, deferred, heap, heap_probe, ledger, ledgered, panics, probe, sources,
//     toy, toy_probe

pub mod adapted;
mod adapted_probe;
pub mod arming;
pub mod cases;
pub mod deferred;
pub mod element;
pub mod faulty_backends;
mod heap;
mod heap_probe;
mod host;
mod ledger;
mod ledgered;
pub mod panics;
mod probe;
pub mod programs;
mod sources;
mod toy;
mod toy_probe;

pub use adapted::AdaptedBackend;
pub use adapted_probe::AdaptedProbe;
pub use cases::run_all;
pub use deferred::{DeferredBackend, DeferredProbe};
pub use heap::HeapBackend;
pub use heap_probe::HeapProbe;
pub use host::{HostAcquire, HostForm, HostForms, HostKind};
pub use ledger::{BlockCounts, Fault, Ledger, Refusal, RefusalError};
pub use ledgered::{LedgeredBackend, LedgeredContext};
#[doc(hidden)] // for `slice_access`
pub use pool_core::{AcquireResult, DynamicPool, Element, Handle, HostBackend, Scope};
pub use probe::{BackendProbe, Failure, Later, SkipReason, View, ViewRef};
pub use toy::Toy;
pub use toy_probe::ToyProbe;

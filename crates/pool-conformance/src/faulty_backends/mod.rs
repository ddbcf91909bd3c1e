//! Faulty backends that each make one deliberate mistake, and a check that the test cases detect
//! every mistake. A test suite that accepted faulty backends would be worthless.
//!
//! ```text
//! cargo test -p pool-conformance --test faulty_backends -- --nocapture
//! ```
//!
//! The `faulty_backends` test prints each faulty backend, along with the test case that detected
//! its mistake. No faulty backend misuses memory. A faulty backend that wraps
//! [`DeferredBackend`](crate::DeferredBackend) accesses memory only through its own commands. Every
//! other faulty backend accesses only memory within a block of host memory.
//!
//! After you change a test case, run it against the faulty backends to check that it still detects
//! their mistakes. To test for a new kind of mistake, first add a faulty backend that makes the
//! mistake. Before you write the new case, check that no existing case detects the mistake.

mod deferred;
mod host;
mod host_queue;
mod mistake;

use std::fmt;

pub use mistake::Mistake;

use crate::adapted_probe::AdaptedProbe;
use crate::cases::{AFTERWARDS, Ending, all};
use crate::deferred::DeferredProbe;
use crate::heap::HeapBackend;
use crate::heap_probe::HeapProbe;
use crate::ledgered::LedgeredBackend;
use crate::panics::{catch_quietly, text};
use crate::probe::BackendProbe;
use crate::toy::Toy;
use crate::toy_probe::ToyProbe;
use deferred::FaultyDeferredProbe;
use host::FaultyHost;
use host_queue::HostQueueProbe;

/// A faulty backend, and the test case that detected its mistake.
#[derive(Clone, Debug)]
pub struct FaultyBackend {
    /// The mistake that the backend makes.
    pub mistake: Mistake,
    /// The name of the correct backend that the faulty backend wraps.
    pub base: &'static str,
    /// The name of the first test case that failed, or `None` if all cases passed.
    pub caught_by: Option<&'static str>,
    /// The case's failure message.
    pub said: String,
}

impl fmt::Display for FaultyBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.caught_by.unwrap_or("NOT CAUGHT");
        write!(f, "{:<8} | {:<58} | {by}", self.base, self.mistake.to_string())
    }
}

/// Runs the cases on each faulty backend until one fails, and calls `tell` with the result.
// `run_faulty_backends` is generic, so that the test cases for its four backends are compiled only
// in crates that call it.
pub fn run_faulty_backends(mut tell: impl FnMut(&FaultyBackend)) {
    for &mistake in Mistake::OF_QUEUES {
        tell(&run("DeferredBackend", mistake, &deferred_probe(mistake)));
    }
    for &mistake in Mistake::OF_HOST_QUEUES {
        tell(&run("DeferredBackend", mistake, &HostQueueProbe(deferred_probe(mistake))));
    }
    for &mistake in Mistake::OF_HEAPS {
        let probe = HeapProbe::default();
        let ledger = probe.ledger.clone();
        tell(&run(
            "Heap",
            mistake,
            &AdaptedProbe::<_, FaultyHost<HeapBackend>, _>::new(probe, mistake),
        ));
        // The faulty backend might have leaked blocks that no pool tracks anymore.
        ledger.free_leaked();
    }
    for &mistake in Mistake::OF_TOYS {
        let probe = ToyProbe::default();
        tell(&run(
            "Toy",
            mistake,
            &AdaptedProbe::<_, FaultyHost<LedgeredBackend<Toy>>, _>::new(probe, mistake),
        ));
    }
}

fn deferred_probe(mistake: Mistake) -> FaultyDeferredProbe {
    deferred::keep_stale_shapes(mistake == Mistake::StaleDescriptors);
    AdaptedProbe::new(DeferredProbe::default(), mistake)
}

/// Runs the test cases on a faulty backend until one of them fails. The checks that run after every
/// case often fail first, but their messages are the least informative. If a check that runs after
/// every case fails, the function continues until a test case fails one of its own checks.
fn run<P: BackendProbe>(base: &'static str, mistake: Mistake, probe: &P) -> FaultyBackend {
    let mut result = FaultyBackend { mistake, base, caught_by: None, said: String::new() };
    for case in all::<P>() {
        if case.is_long() && result.caught_by.is_some() {
            break;
        }
        let said = match catch_quietly(|| case.run(probe)) {
            Ok(Ending::Passed | Ending::Skipped(_)) => continue,
            Ok(ending) => format!("{ending:?}"),
            Err(payload) => text(payload.as_ref()).to_owned(),
        };
        let is_the_case_itself = !said.contains(AFTERWARDS);
        if is_the_case_itself || result.caught_by.is_none() {
            result = FaultyBackend { caught_by: Some(case.name()), said, ..result };
        }
        if is_the_case_itself {
            break;
        }
    }
    result
}

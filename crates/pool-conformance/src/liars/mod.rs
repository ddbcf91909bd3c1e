//! Faulty backends, each with one deliberate mistake, and a check that the cases detect every
//! mistake. A test suite that accepts faulty backends would be worthless.
//!
//! ```text
//! cargo test -p pool-conformance --test liars -- --nocapture
//! ```
//!
//! The `liars` test prints each faulty backend together with the case that detected its mistake. No
//! faulty backend misuses memory. Each faulty backend either wraps
//! [`DeferredBackend`](crate::DeferredBackend), whose memory only its own commands access, or stays
//! within a block of host memory.
//!
//! After changing a case, run the case against the faulty backends to check that it still detects
//! their mistakes. To test for a new kind of mistake, first add a faulty backend. Check that no
//! case detects the new mistake before you write the new case.

mod deferred;
mod host;
mod host_queue;
mod lie;

use std::fmt;

pub use lie::Lie;

use crate::adapted_probe::AdaptedProbe;
use crate::cases::{AFTERWARDS, Ending, all};
use crate::deferred::DeferredProbe;
use crate::heap::HeapBackend;
use crate::heap_probe::HeapProbe;
use crate::ledgered::LedgeredBackend;
use crate::panics::{catch_quietly, text};
use crate::probe::Probe;
use crate::toy::Toy;
use crate::toy_probe::ToyProbe;
use deferred::DeferredLiarProbe;
use host::HostLiar;
use host_queue::HostQueueProbe;

/// A faulty backend, and the case that detected its mistake.
#[derive(Clone, Debug)]
pub struct Liar {
    /// The mistake that the backend makes.
    pub lie: Lie,
    /// The name of the correct backend wrapped by the faulty backend.
    pub base: &'static str,
    /// The name of the first case that failed, or `None` if all cases passed.
    pub caught_by: Option<&'static str>,
    /// The case's failure message.
    pub said: String,
}

impl fmt::Display for Liar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.caught_by.unwrap_or("NOBODY");
        write!(f, "{:<8} | {:<58} | {by}", self.base, self.lie.to_string())
    }
}

/// Runs the cases on each faulty backend until one fails, and calls `tell` with the result.
// `run_liars` is generic, so the cases for its four backends are compiled only in crates that call
// it.
pub fn run_liars(mut tell: impl FnMut(&Liar)) {
    for &lie in Lie::OF_QUEUES {
        tell(&run("DeferredBackend", lie, &deferred_probe(lie)));
    }
    for &lie in Lie::OF_HOST_QUEUES {
        tell(&run("DeferredBackend", lie, &HostQueueProbe(deferred_probe(lie))));
    }
    for &lie in Lie::OF_HEAPS {
        let probe = HeapProbe::default();
        let ledger = probe.ledger.clone();
        tell(&run("Heap", lie, &AdaptedProbe::<_, HostLiar<HeapBackend>, _>::new(probe, lie)));
        // The faulty backend may have leaked blocks that no pool tracks any longer.
        ledger.free_leaked();
    }
    for &lie in Lie::OF_TOYS {
        let probe = ToyProbe::default();
        tell(&run(
            "Toy",
            lie,
            &AdaptedProbe::<_, HostLiar<LedgeredBackend<Toy>>, _>::new(probe, lie),
        ));
    }
}

fn deferred_probe(lie: Lie) -> DeferredLiarProbe {
    deferred::keep_stale_shapes(lie == Lie::StaleDescriptors);
    AdaptedProbe::new(DeferredProbe::default(), lie)
}

/// Runs the cases on a faulty backend until one of them fails. Checks that run after every case
/// often fail first, but their messages are the least informative. If such a check fails, the
/// function continues until a case fails one of its own checks.
fn run<P: Probe>(base: &'static str, lie: Lie, probe: &P) -> Liar {
    let mut liar = Liar { lie, base, caught_by: None, said: String::new() };
    for case in all::<P>() {
        if case.is_long() && liar.caught_by.is_some() {
            break;
        }
        let said = match catch_quietly(|| case.run(probe)) {
            Ok(Ending::Passed | Ending::Skipped(_)) => continue,
            Ok(ending) => format!("{ending:?}"),
            Err(payload) => text(payload.as_ref()).to_owned(),
        };
        let is_the_case_itself = !said.contains(AFTERWARDS);
        if is_the_case_itself || liar.caught_by.is_none() {
            liar = Liar { caught_by: Some(case.name()), said, ..liar };
        }
        if is_the_case_itself {
            break;
        }
    }
    liar
}

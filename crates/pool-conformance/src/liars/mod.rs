//! Backends that are wrong on purpose, each in one way, and the proof that the cases catch every
//! one: a suite that passes liars is worth nothing.
//!
//! ```text
//! cargo test -p pool-conformance --test liars -- --nocapture
//! ```
//!
//! prints each of them with the case that caught it. None of them misuses memory: they lie over
//! [`DeferredBackend`](crate::DeferredBackend) memory, which nothing but its own commands reaches, or within what a block
//! of the host has.
//!
//! After a change of a case, the liars show if the case still catches its mistake. For a new sort of mistake, add a
//! liar first, see that no case catches it, and then write the case.

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

/// A liar, and the case that caught it.
#[derive(Clone, Debug)]
pub struct Liar {
    /// The mistake of the liar.
    pub lie: Lie,
    /// The backend without the lie.
    pub base: &'static str,
    /// The first case that failed; `None` if all passed.
    pub caught_by: Option<&'static str>,
    /// The text with which that case failed.
    pub said: String,
}

impl fmt::Display for Liar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.caught_by.unwrap_or("NOBODY");
        write!(f, "{:<8} | {:<58} | {by}", self.base, self.lie.to_string())
    }
}

/// Runs the cases on every liar, each until one case fails, and calls `tell` for each.
// The function is generic, so that only a caller compiles the cases four times more.
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
        // Frees the blocks that the liar leaked, which no pool knows any longer.
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

/// Runs the cases until one fails. The checks after every case are often the first to fail, and describe least. Then
/// the function searches for a case that fails by itself.
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

//! The report of a debug build about a stack that grows in many consecutive passes, with the call that made it grow.

use core::cell::Cell;
use core::panic::Location;

use crate::config::PoolConfig;
use crate::warning::{PoolWarning, report};

/// The passes in which one pool grew, for its report.
pub(super) struct GrowthReport {
    /// Passes: each begins with a first cursor.
    passes: Streak,
    /// Uses by a guard of a thread. Each may have several first cursors.
    entries: Streak,
    /// The address at which a call was about to acquire, and the call.
    caller: Cell<Option<(usize, &'static Location<'static>)>>,
    is_done: Cell<bool>,
}

/// The number of events of one kind, and the latest run of events with growth.
struct Streak {
    /// Events until now.
    count: Cell<u64>,
    /// The last one with growth.
    last_grown: Cell<u64>,
    /// The consecutive events with growth up to that one.
    grown: Cell<usize>,
}

impl Streak {
    const fn new() -> Self {
        Self { count: Cell::new(0), last_grown: Cell::new(0), grown: Cell::new(0) }
    }

    /// Notes another event.
    fn note(&self) {
        self.count.set(self.count.get().wrapping_add(1));
    }

    /// Notes that the pool grew; returns how many consecutive events had growth.
    fn note_growth(&self) -> usize {
        let (now, last) = (self.count.get(), self.last_grown.replace(self.count.get()));
        let grown = match now.wrapping_sub(last) {
            0 => self.grown.get().max(1),
            1 => self.grown.get() + 1,
            _ => 1,
        };
        self.grown.set(grown);
        grown
    }
}

impl GrowthReport {
    pub(super) const fn new() -> Self {
        Self {
            passes: Streak::new(),
            entries: Streak::new(),
            caller: Cell::new(None),
            is_done: Cell::new(false),
        }
    }

    /// Records that a first cursor is created.
    pub(super) fn note_pass(&self) {
        self.passes.note();
    }

    /// Notes that a guard of a thread takes the pool.
    pub(super) fn note_entry(&self) {
        self.entries.note();
    }

    /// Records the call that is about to acquire while the cursor is at the address `at`.
    pub(super) fn note_caller(&self, at: usize, caller: &'static Location<'static>) {
        self.caller.set(Some((at, caller)));
    }

    /// Records that the pool grew for an acquire at the address `at`, and reports the pool when it
    /// has first done so in very many passes, or uses by guards.
    pub(super) fn note_growth(&self, config: PoolConfig, at: usize, reserved_bytes: usize) {
        let (passes, entries) = (self.passes.note_growth(), self.entries.note_growth());
        let consecutive = passes.max(entries);
        // With `fresh` each acquire has a chunk of its own.
        if consecutive < PoolConfig::REPORTED_PASSES
            || !config.warnings
            || config.fresh
            || self.is_done.replace(true)
        {
            return;
        }
        // Methods that return errors record nothing: then the last call is about another address.
        let location = self.caller.get().filter(|&(noted, _)| noted == at);
        report(&PoolWarning::GrowingStack {
            pool: config.name,
            passes: consecutive,
            reserved_bytes,
            location: location.map(|(_, location)| location),
        });
    }
}

//! Defines the warning that a debug build prints if a stack grows in many consecutive passes. The
//! warning includes the location of the call that caused the growth.

use core::cell::Cell;
use core::panic::Location;

use crate::config::PoolConfig;
use crate::warning::{PoolWarning, report};

/// The data that a pool collects about the passes in which it grew. The pool builds its warning
/// from this data.
pub(super) struct GrowthReport {
    /// Counts the pool's passes and the consecutive passes in which the pool grew. A pass begins
    /// when a scope is opened directly from the pool.
    passes: Streak,
    /// Counts all uses of the pool by guards, and the consecutive uses in which the pool grew. A
    /// guard can begin several passes during one use of the pool.
    entries: Streak,
    /// The address at which a call was about to acquire memory, together with that call's location.
    caller: Cell<Option<(usize, &'static Location<'static>)>>,
    is_done: Cell<bool>,
}

/// Counts events of one kind (passes or uses by guards) and the consecutive events in which the
/// pool grew.
struct Streak {
    /// The number of events so far.
    count: Cell<u64>,
    /// The index of the last event in which the pool grew.
    last_grown: Cell<u64>,
    /// The number of consecutive events in which the pool grew, up to and including event
    /// `last_grown`.
    grown: Cell<usize>,
}

impl Streak {
    const fn new() -> Self {
        Self { count: Cell::new(0), last_grown: Cell::new(0), grown: Cell::new(0) }
    }

    /// Counts another event.
    fn note(&self) {
        self.count.set(self.count.get().wrapping_add(1));
    }

    /// Records that the pool grew and returns the number of consecutive events in which it has
    /// grown.
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

    /// Records the start of a new pass.
    pub(super) fn note_pass(&self) {
        self.passes.note();
    }

    /// Records that a thread's guard has started to use the pool.
    pub(super) fn note_entry(&self) {
        self.entries.note();
    }

    /// Records the location of a call that is about to acquire memory while the cursor is at the
    /// address `at`.
    pub(super) fn note_caller(&self, at: usize, caller: &'static Location<'static>) {
        self.caller.set(Some((at, caller)));
    }

    /// Records that the pool grew to satisfy the acquire at address `at`. The method emits the
    /// warning once the pool has grown in a certain number of consecutive passes or guard uses.
    pub(super) fn note_growth(&self, config: PoolConfig, at: usize, reserved_bytes: usize) {
        let (passes, entries) = (self.passes.note_growth(), self.entries.note_growth());
        let consecutive = passes.max(entries);
        // If `fresh` is set, growth is expected because each acquire allocates its own chunk.
        if consecutive < PoolConfig::REPORTED_PASSES
            || !config.warnings
            || config.fresh
            || self.is_done.replace(true)
        {
            return;
        }
        // The fallible acquire methods record no location, so the recorded location might belong to
        // an acquire at a different address.
        let location = self.caller.get().filter(|&(noted, _)| noted == at);
        report(&PoolWarning::GrowingStack {
            pool: config.name,
            passes: consecutive,
            reserved_bytes,
            location: location.map(|(_, location)| location),
        });
    }
}

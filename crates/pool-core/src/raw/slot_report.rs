//! The report of a debug build about a pool with very many slots, and the call that it names.

use core::cell::Cell;
use core::panic::Location;

use crate::config::PoolConfig;
use crate::warning::{PoolWarning, report};

/// The state of one pool for its report.
pub(super) struct SlotReport {
    /// The slot that a call was about to acquire, and the call.
    caller: Cell<Option<(usize, &'static Location<'static>)>>,
    is_done: Cell<bool>,
}

impl SlotReport {
    pub(super) const fn new() -> Self {
        Self { caller: Cell::new(None), is_done: Cell::new(false) }
    }

    /// Records the call that is about to acquire slot `number`.
    pub(super) fn note_caller(&self, number: usize, caller: &'static Location<'static>) {
        self.caller.set(Some((number, caller)));
    }

    /// Records that `slots` slots are in use, and reports the pool when the number is first very high.
    pub(super) fn note(&self, config: PoolConfig, slots: usize, reserved_bytes: usize) {
        if slots < PoolConfig::REPORTED_SLOTS || !config.warnings || self.is_done.replace(true) {
            return;
        }
        // Methods that return errors record nothing: then the last call is about another slot.
        let location = self.caller.get().filter(|&(number, _)| number + 1 == slots);
        let location = location.map(|(_, location)| location);
        report(&PoolWarning::ManySlots { pool: config.name, slots, reserved_bytes, location });
    }
}

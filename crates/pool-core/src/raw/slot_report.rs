//! Defines the warning that a debug build prints if a pool has handed out an unusually large number
//! of slots. The warning includes the location of the call that acquired the last of these slots.

use core::cell::Cell;
use core::panic::Location;

use crate::config::PoolConfig;
use crate::warning::{PoolWarning, report};

/// The data that a pool collects for its warning about too many slots.
pub(super) struct SlotReport {
    /// The number of the slot that a call was about to acquire, together with that call's location.
    caller: Cell<Option<(usize, &'static Location<'static>)>>,
    is_done: Cell<bool>,
}

impl SlotReport {
    pub(super) const fn new() -> Self {
        Self { caller: Cell::new(None), is_done: Cell::new(false) }
    }

    /// Records the location of the call that is about to acquire slot `number`.
    pub(super) fn note_caller(&self, number: usize, caller: &'static Location<'static>) {
        self.caller.set(Some((number, caller)));
    }

    /// Records that `slots` slots are currently handed out. The method emits a warning when the
    /// number of handed-out slots first reaches [`PoolConfig::REPORTED_SLOTS`].
    pub(super) fn note(&self, config: PoolConfig, slots: usize, reserved_bytes: usize) {
        if slots < PoolConfig::REPORTED_SLOTS || !config.warnings || self.is_done.replace(true) {
            return;
        }
        // The fallible acquire methods record no location, so the recorded location might belong to
        // another slot.
        let location = self.caller.get().filter(|&(number, _)| number + 1 == slots);
        let location = location.map(|(_, location)| location);
        report(&PoolWarning::ManySlots { pool: config.name, slots, reserved_bytes, location });
    }
}

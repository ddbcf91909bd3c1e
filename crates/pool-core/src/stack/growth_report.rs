//! The report of a debug build about a stack that grows in pass after pass, and the call that it
//! names.

use core::cell::Cell;
use core::panic::Location;

use crate::config::PoolConfig;
use crate::warning::{PoolWarning, report};

/// The state of one pool for its report.
pub(super) struct GrowthReport {
    /// The number of passes begun.
    passes: Cell<u64>,
    /// The last pass in which the pool grew.
    last_grown: Cell<u64>,
    /// The number of consecutive passes up to that one in which the pool grew.
    consecutive: Cell<usize>,
    /// The address at which a call was about to acquire, and the call.
    caller: Cell<Option<(usize, &'static Location<'static>)>>,
    is_done: Cell<bool>,
}

impl GrowthReport {
    pub(super) const fn new() -> Self {
        Self {
            passes: Cell::new(0),
            last_grown: Cell::new(0),
            consecutive: Cell::new(0),
            caller: Cell::new(None),
            is_done: Cell::new(false),
        }
    }

    /// Records that a pass begins.
    pub(super) fn note_pass(&self) {
        self.passes.set(self.passes.get().wrapping_add(1));
    }

    /// Records the call that is about to acquire while the cursor is at the address `at`.
    pub(super) fn note_caller(&self, at: usize, caller: &'static Location<'static>) {
        self.caller.set(Some((at, caller)));
    }

    /// Records that the pool grew for an acquire at the address `at`, and reports the pool when it
    /// has first done so in very many passes.
    pub(super) fn note_growth(&self, config: PoolConfig, at: usize, reserved_bytes: usize) {
        let (pass, last) = (self.passes.get(), self.last_grown.replace(self.passes.get()));
        let consecutive = match pass.wrapping_sub(last) {
            0 => self.consecutive.get().max(1),
            1 => self.consecutive.get() + 1,
            _ => 1,
        };
        self.consecutive.set(consecutive);
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

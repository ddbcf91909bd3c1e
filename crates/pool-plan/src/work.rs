//! The work of loops, and the clock that bounds it.
//!
//! Every loop whose length depends on the input counts its passes into one of two counters. A [`Watch`] belongs to one
//! task: it checks the deadline and the stop flag after every few thousand passes. A [`Work`] belongs to a search that
//! runs in slices of fixed length: its plans depend on the count and never on the clock. The test
//! `every_loop_is_counted` of `xtask` finds loops that do neither.

use std::cell::Cell;
use std::time::Instant;

use crate::options::Monitor;

/// The passes between two checks of the clock: about 50 microseconds.
const UNWATCHED: u64 = 1 << 14;

/// The conditions under which the planner stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'a> {
    /// The time at which the budget is spent; `None` if it is too late for an `Instant`.
    pub(crate) deadline: Option<Instant>,
    /// The monitor through which another thread may stop the planner.
    pub(crate) monitor: &'a Monitor,
}

impl Limit<'_> {
    /// Returns `true` if the budget is spent, or the planner was stopped.
    pub(crate) fn is_reached(&self) -> bool {
        self.monitor.is_cancelled() || self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}

/// A counter that checks the clock.
pub(crate) struct Watch<'a> {
    is_needed: &'a dyn Fn() -> bool,
    /// The passes since the last check.
    unwatched: Cell<u64>,
    is_over: Cell<bool>,
}

impl<'a> Watch<'a> {
    /// Makes a watch over a task that continues while `is_needed` returns `true`.
    pub(crate) fn new(is_needed: &'a dyn Fn() -> bool) -> Self {
        Self { is_needed, unwatched: Cell::new(UNWATCHED), is_over: Cell::new(false) }
    }

    /// Counts passes of a loop. Returns `false` if the task must stop, and in all later calls too.
    #[inline]
    pub(crate) fn count(&self, passes: usize) -> bool {
        let unwatched = self.unwatched.get() + passes as u64;
        self.unwatched.set(unwatched);
        if unwatched >= UNWATCHED {
            self.look();
        }
        !self.is_over.get()
    }

    #[cold]
    fn look(&self) {
        self.unwatched.set(0);
        if !self.is_over.get() && !(self.is_needed)() {
            self.is_over.set(true);
        }
    }
}

/// A counter of passes without a clock.
#[derive(Debug, Default)]
pub(crate) struct Work(Cell<u64>);

impl Work {
    /// Returns the number of counted passes.
    pub(crate) fn done(&self) -> u64 {
        self.0.get()
    }

    /// Counts passes of a loop.
    #[inline]
    pub(crate) fn count(&self, passes: usize) {
        self.0.set(self.0.get() + passes as u64);
    }

    /// Counts a loop over a slice, and returns the slice.
    #[inline]
    pub(crate) fn over<'a, T>(&self, slice: &'a [T]) -> &'a [T] {
        self.count(slice.len());
        slice
    }
}

//! Counters for loop passes, and the clock that limits the work of a loop.
//!
//! Every loop whose length depends on the input uses one of two counters to count its passes. Each
//! task has its own [`Watch`], which checks the deadline and the stop flag after every few thousand
//! passes. Each search that runs in slices of a fixed number of passes has its own [`Work`]. The
//! result of a search that runs in slices depends only on the number of passes, never on the clock.
//! The `every_loop_is_counted` test in `xtask` finds loops that use neither of the counters.

use std::cell::Cell;
use std::time::Instant;

use crate::options::Monitor;

/// The number of passes between two consecutive clock checks. The passes between two checks take
/// about 50 microseconds.
const UNWATCHED: u64 = 1 << 14;

/// The conditions that stop the planner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'a> {
    /// The time at which the budget ends, or `None` if that time is beyond the range of `Instant`.
    pub(crate) deadline: Option<Instant>,
    /// The monitor that another thread can use to stop the planner.
    pub(crate) monitor: &'a Monitor,
}

impl Limit<'_> {
    /// Returns `true` if the budget has run out or another thread has stopped the planner.
    pub(crate) fn is_reached(&self) -> bool {
        self.monitor.is_cancelled() || self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}

/// A counter for loop passes that also checks the clock regularly.
pub(crate) struct Watch<'a> {
    is_needed: &'a dyn Fn() -> bool,
    /// The number of passes since the most recent clock check.
    unwatched: Cell<u64>,
    is_over: Cell<bool>,
}

impl<'a> Watch<'a> {
    /// Creates a counter for a task that continues while `is_needed` returns `true`.
    pub(crate) fn new(is_needed: &'a dyn Fn() -> bool) -> Self {
        Self { is_needed, unwatched: Cell::new(UNWATCHED), is_over: Cell::new(false) }
    }

    /// Counts passes through a loop. Returns `false` if the task must stop. Once a call has
    /// returned `false`, all later calls do so as well.
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

/// A counter for loop passes that does not check the clock.
#[derive(Debug, Default)]
pub(crate) struct Work(Cell<u64>);

impl Work {
    /// Returns the number of passes counted so far.
    pub(crate) fn done(&self) -> u64 {
        self.0.get()
    }

    /// Counts passes through a loop.
    #[inline]
    pub(crate) fn count(&self, passes: usize) {
        self.0.set(self.0.get() + passes as u64);
    }

    /// Counts the passes of a loop over a slice and returns the slice.
    #[inline]
    pub(crate) fn over<'a, T>(&self, slice: &'a [T]) -> &'a [T] {
        self.count(slice.len());
        slice
    }
}

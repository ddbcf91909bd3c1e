//! The mark of a pool that is in the middle of something, for the time in which code that is not ours may
//! run: an allocator's hook, a `tracing` subscriber, a backend, the drop of a descriptor. Such code may
//! hold the scope, and call it.

use core::cell::Cell;

/// Whether a pool is marked.
pub(super) struct BusyMark(Cell<bool>);

impl BusyMark {
    pub(super) const fn new() -> Self {
        Self(Cell::new(false))
    }

    /// Marks the pool until the guard is dropped, by unwinding too; `None` where it is marked already.
    pub(super) fn set(&self) -> Option<Busy<'_>> {
        if self.0.replace(true) { None } else { Some(Busy(self)) }
    }
}

/// Takes a pool's mark off when it is dropped.
#[must_use = "the mark is taken off where this is dropped"]
pub(super) struct Busy<'a>(&'a BusyMark);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.0.set(false);
    }
}

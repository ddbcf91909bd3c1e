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

    /// Marks the pool until the guard is dropped, by unwinding too; `None` where the pool is marked already.
    pub(super) fn set(&self) -> Option<BusyGuard<'_>> {
        if self.0.replace(true) { None } else { Some(BusyGuard(self)) }
    }
}

/// A guard that takes a pool's mark off when the guard is dropped.
#[must_use = "the mark is taken off where the guard is dropped"]
pub(super) struct BusyGuard<'a>(&'a BusyMark);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.0.set(false);
    }
}

//! A flag that marks a pool as busy while foreign code may run in the middle of an operation: an
//! allocator's hook, a `tracing` subscriber, a backend, or the drop of a descriptor. Such code may
//! hold a scope of the pool, and may call the scope's methods.

use core::cell::Cell;

/// `true` while the pool is marked.
pub(crate) struct BusyMark(Cell<bool>);

impl BusyMark {
    pub(crate) const fn new() -> Self {
        Self(Cell::new(false))
    }

    /// Marks the pool until the guard is dropped, including during unwinding. Returns `None` if the
    /// pool is already marked.
    pub(crate) fn set(&self) -> Option<BusyGuard<'_>> {
        self.try_mark().then(|| BusyGuard(self))
    }

    /// Marks the pool until [`clear`](Self::clear). Returns `false` if the pool is already marked.
    pub(crate) fn try_mark(&self) -> bool {
        !self.0.replace(true)
    }

    /// Removes the mark.
    pub(crate) fn clear(&self) {
        self.0.set(false);
    }

    /// Returns `true` if the pool is marked.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get()
    }
}

/// A guard that removes a pool's mark when it is dropped.
#[must_use = "dropping the guard removes the mark"]
pub(crate) struct BusyGuard<'a>(&'a BusyMark);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

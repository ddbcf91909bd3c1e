//! Defines a flag that marks a pool as busy while a pool operation might run user code. User code
//! can be an allocator's hook, a `tracing` subscriber, a backend, or the destructor of a
//! descriptor. User code that runs during an operation might hold a scope of the same pool and call
//! the scope's methods.

use core::cell::Cell;

/// `true` while the pool is busy.
pub(crate) struct BusyMark(Cell<bool>);

impl BusyMark {
    pub(crate) const fn new() -> Self {
        Self(Cell::new(false))
    }

    /// Marks the pool as busy until the returned guard is dropped, which also happens during
    /// unwinding. Returns `None` if the pool is already marked as busy.
    pub(crate) fn set(&self) -> Option<BusyGuard<'_>> {
        self.try_mark().then(|| BusyGuard(self))
    }

    /// Marks the pool as busy until [`clear`](Self::clear) is called. Returns `false` if the pool
    /// was already marked as busy.
    pub(crate) fn try_mark(&self) -> bool {
        !self.0.replace(true)
    }

    pub(crate) fn clear(&self) {
        self.0.set(false);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.get()
    }
}

/// A guard that removes the pool's busy mark when it is dropped.
#[must_use = "dropping the guard removes the mark"]
pub(crate) struct BusyGuard<'a>(&'a BusyMark);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

//! The mark of a pool that is in the middle of something, for the time in which code that is not ours may
//! run: an allocator's hook, a `tracing` subscriber, a backend, the drop of a descriptor. Such code may
//! hold the scope, and call it.

use core::cell::Cell;

use super::cold::advertise;
use super::slot::SlotPointer;
use crate::backend::PoolBackend;

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

/// An idle slot that advertises nothing while its pool is marked, so that the hot path does not take it;
/// advertised again when this is dropped.
#[must_use = "the slot is advertised again where this is dropped"]
pub(super) struct Withdrawn<'s, B: PoolBackend>(SlotPointer<'s, B>);

impl<'s, B: PoolBackend> Withdrawn<'s, B> {
    /// # Safety
    ///
    /// The slot is idle until this is dropped.
    pub(super) unsafe fn new(slot: SlotPointer<'s, B>) -> Self {
        // SAFETY: the slot is idle (caller).
        unsafe { withdraw(slot) };
        Self(slot)
    }
}

impl<B: PoolBackend> Drop for Withdrawn<'_, B> {
    fn drop(&mut self) {
        // SAFETY: the slot is idle (`new`).
        unsafe { advertise(self.0) };
    }
}

/// Has an idle slot advertise nothing.
///
/// # Safety
///
/// The slot is idle.
pub(super) unsafe fn withdraw<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    // SAFETY: the slot is live, nothing holds a reference to it, and at or above the cursor the advertised
    // word belongs to no view (invariant 5).
    unsafe { (*slot.slot.as_ptr()).advertised = 0 };
}

//! One slot, seen from the outside. [`SlotPointer`] is the slot that a cursor reserved and the
//! acquire family fills, and the target of a [`SlotRef`] in a backend's view.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::state::State;
use super::table::{SLOTS, Table};
use super::words::{Record, Slot};
use crate::backend::PoolBackend;
use crate::shape_set::ShapeSet;
use crate::slot_ref::SlotRef;
use crate::threads::ScopeMayLeaveItsThread;

/// A slot whose block is large enough for the acquire, for the time `'s` of its scope.
pub struct SlotPointer<'s, B: PoolBackend> {
    pub(super) slot: NonNull<Slot<B>>,
    scope: PhantomData<&'s ()>,
}

// SAFETY: no type meets the condition (invariant 7).
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Send for SlotPointer<'_, B> {}

// SAFETY: as above.
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Sync for SlotPointer<'_, B> {}

impl<B: PoolBackend> Clone for SlotPointer<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: PoolBackend> Copy for SlotPointer<'_, B> {}

impl<B: PoolBackend> fmt::Debug for SlotPointer<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SlotPointer").field(&self.slot).finish()
    }
}

impl<'s, B: PoolBackend> SlotPointer<'s, B> {
    /// # Safety
    ///
    /// `slot` is a slot, no sentinel, of a pool that lives for `'s`.
    #[inline(always)]
    pub(super) unsafe fn new(slot: NonNull<Slot<B>>) -> Self {
        Self { slot, scope: PhantomData }
    }

    /// Returns the pool's state.
    #[inline]
    pub(super) fn state(self) -> &'s State<B> {
        // SAFETY: a slot of a live pool (`new`).
        let (table, _) = unsafe { Table::locate(self.slot) };
        // SAFETY: the pool lives for `'s` (`new`).
        unsafe { Table::state_of(table) }
    }

    /// Returns the slot's block.
    #[inline(always)]
    pub(super) fn block(self) -> B::Block {
        // SAFETY: the slot lives for `'s`, and nothing holds a reference to it (invariant 2).
        unsafe { (*self.slot.as_ptr()).block }
    }

    /// Returns the number of slots before this one, over all tables.
    pub(super) fn number(self) -> usize {
        // SAFETY: a slot of a live pool (`new`).
        let (table, index) = unsafe { Table::locate(self.slot) };
        // SAFETY: the slot's table is live, and its number is never written after it was made.
        unsafe { (*table.as_ptr()).number * SLOTS + index }
    }

    /// Returns the slot's record.
    #[inline]
    pub(super) fn record(self) -> NonNull<Record> {
        // SAFETY: a slot of a live pool (`new`).
        let (table, index) = unsafe { Table::locate(self.slot) };
        debug_assert!(index < SLOTS, "the sentinel has no record");
        // SAFETY: the table is live, and a `SlotPointer` is never that of a sentinel.
        unsafe { Table::record(table, index) }
    }

    /// Returns the slot's shape set; null if it has none.
    #[inline]
    pub(super) fn shapes(self) -> NonNull<*mut ShapeSet<B::Descriptor>> {
        // SAFETY: a slot of a live pool (`new`).
        let (table, index) = unsafe { Table::locate(self.slot) };
        debug_assert!(index < SLOTS, "the sentinel has no shape set");
        // SAFETY: the table is live, and a `SlotPointer` is never that of a sentinel.
        unsafe { Table::shapes(table, index) }
    }
}

impl<B: PoolBackend> SlotRef<B> {
    /// Returns the context of the slot's pool.
    ///
    /// # Safety
    ///
    /// The view that has this reference is in use for as long as the result is. It is on the thread
    /// that owns the pool, or the context is `Sync`.
    #[inline]
    #[must_use]
    pub unsafe fn context(&self) -> &B::Context {
        // SAFETY: the same contract, which the caller upholds.
        let pointer = unsafe { self.pointer() };
        pointer.state().context()
    }

    /// Returns the slot's block, which contains the view.
    ///
    /// # Safety
    ///
    /// The view that has this reference is in use.
    #[inline]
    #[must_use]
    pub unsafe fn block(&self) -> B::Block {
        // SAFETY: the same contract, which the caller upholds.
        let pointer = unsafe { self.pointer() };
        pointer.block()
    }

    /// Returns the slot, as cursors know it.
    ///
    /// # Safety
    ///
    /// The scope of the view that has this reference, or would have it, is open for `'s`.
    #[inline]
    pub(crate) unsafe fn pointer<'s>(self) -> SlotPointer<'s, B> {
        // SAFETY: the slot of a view is no sentinel, and its pool outlives its scope.
        unsafe { SlotPointer::new(self.address().cast()) }
    }

    /// Arms the slot: [`PoolBackend::reuse`] is called before its block is reused, grown or freed.
    /// Nothing depends on the view being dropped.
    ///
    /// # Safety
    ///
    /// The view that has this reference is still in use (its `'s` has not ended). The call is made
    /// on the thread that owns the pool.
    pub unsafe fn arm(self) {
        // SAFETY: the same contract, which the caller upholds.
        let pointer = unsafe { self.pointer() };
        // SAFETY: the record is live, nothing holds a reference to it, and this is the pool's thread.
        unsafe { (*pointer.record().as_ptr()).armed_by_view = true };
        // SAFETY: below the cursor the advertised word belongs to the view (invariant 5).
        unsafe { (*pointer.slot.as_ptr()).advertised = 0 };
    }
}

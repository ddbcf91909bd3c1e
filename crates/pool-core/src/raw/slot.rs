//! Defines the interface that other modules use to access a slot. A [`SlotPointer`] refers to a
//! slot that a cursor has reserved and that an acquire method fills. The [`SlotRef`] in a backend's
//! view refers to that view's slot.

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

/// A slot whose block is large enough for an array, borrowed for the lifetime `'s` of the slot's
/// scope.
pub struct SlotPointer<'s, B: PoolBackend> {
    pub(super) slot: NonNull<Slot<B>>,
    scope: PhantomData<&'s ()>,
}

// SAFETY: no type implements `ScopeMayLeaveItsThread`, so this impl does not apply to any type.
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Send for SlotPointer<'_, B> {}

// SAFETY: no type implements `ScopeMayLeaveItsThread`, so this impl does not apply to any type.
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
    /// `slot` must be a slot (not a sentinel) of a pool that outlives `'s`.
    #[inline(always)]
    pub(super) unsafe fn new(slot: NonNull<Slot<B>>) -> Self {
        Self { slot, scope: PhantomData }
    }

    /// Returns the state of the slot's pool.
    #[inline]
    pub(super) fn state(self) -> &'s State<B> {
        // SAFETY: the pointer refers to a slot of a live pool, as `new` requires.
        let (table, _) = unsafe { Table::locate(self.slot) };
        // SAFETY: the pool outlives `'s`, as `new` requires.
        unsafe { Table::state_of(table) }
    }

    /// Returns the slot's block.
    #[inline(always)]
    pub(super) fn block(self) -> B::Block {
        // SAFETY: the slot outlives `'s`, and no reference to it exists (invariant 2).
        unsafe { (*self.slot.as_ptr()).block }
    }

    /// Returns the number of slots that precede this slot, counted across all tables.
    pub(super) fn number(self) -> usize {
        // SAFETY: the pointer refers to a slot of a live pool, as `new` requires.
        let (table, index) = unsafe { Table::locate(self.slot) };
        // SAFETY: the slot's table is live, and its `number` field never changes after the table is
        // created.
        unsafe { (*table.as_ptr()).number * SLOTS + index }
    }

    /// Returns the slot's record.
    #[inline]
    pub(super) fn record(self) -> NonNull<Record> {
        // SAFETY: the pointer refers to a slot of a live pool, as `new` requires.
        let (table, index) = unsafe { Table::locate(self.slot) };
        debug_assert!(index < SLOTS, "the sentinel has no record");
        // SAFETY: the table is live, and a `SlotPointer` never refers to a sentinel.
        unsafe { Table::record(table, index) }
    }

    /// Returns the location of the pointer to the slot's shape set. The pointer is null if the slot
    /// has no set.
    #[inline]
    pub(super) fn shapes(self) -> NonNull<*mut ShapeSet<B::Descriptor>> {
        // SAFETY: the pointer refers to a slot of a live pool, as `new` requires.
        let (table, index) = unsafe { Table::locate(self.slot) };
        debug_assert!(index < SLOTS, "the sentinel has no shape set");
        // SAFETY: the table is live, and a `SlotPointer` never refers to a sentinel.
        unsafe { Table::shapes(table, index) }
    }
}

impl<B: PoolBackend> SlotRef<B> {
    /// Returns the context of the slot's pool.
    ///
    /// # Safety
    ///
    /// The view that stores this reference must remain in use for as long as the returned reference
    /// is used. The caller must be on the thread that owns the pool, unless the context is `Sync`.
    #[inline]
    #[must_use]
    pub unsafe fn context(&self) -> &B::Context {
        // SAFETY: the caller upholds the safety contract of `pointer`.
        let pointer = unsafe { self.pointer() };
        pointer.state().context()
    }

    /// Returns the block in which the view's elements are stored.
    ///
    /// # Safety
    ///
    /// The view that stores this reference must be in use.
    #[inline]
    #[must_use]
    pub unsafe fn block(&self) -> B::Block {
        // SAFETY: the caller upholds the safety contract of `pointer`.
        let pointer = unsafe { self.pointer() };
        pointer.block()
    }

    /// Returns the [`SlotPointer`] that refers to the same slot.
    ///
    /// # Safety
    ///
    /// The view that stores or will store this reference must belong to a scope that remains open
    /// throughout `'s`.
    #[inline]
    pub(crate) unsafe fn pointer<'s>(self) -> SlotPointer<'s, B> {
        // SAFETY: a view's slot is not a sentinel, and the slot's pool outlives the view's scope.
        unsafe { SlotPointer::new(self.address().cast()) }
    }

    /// Arms the slot, so that the pool calls [`PoolBackend::reuse`] before it grows or frees the
    /// slot's block or hands it out again. The `reuse` method is called even if the view is never
    /// dropped.
    ///
    /// # Safety
    ///
    /// The view that stores this reference must still be in use. The lifetime `'s` must not have
    /// ended. This method must be called on the thread that owns the pool.
    pub unsafe fn arm(self) {
        // SAFETY: the caller upholds the safety contract of `pointer`.
        let pointer = unsafe { self.pointer() };
        // SAFETY: the slot's record is live, no reference to it exists, and the caller is on the
        // pool's thread.
        unsafe { (*pointer.record().as_ptr()).armed_by_view = true };
        // SAFETY: the slot is below the cursor, so its advertised word belongs to the view
        // (invariant 5).
        unsafe { (*pointer.slot.as_ptr()).advertised = 0 };
    }
}

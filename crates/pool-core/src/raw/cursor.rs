//! Defines a one-word cursor over slots. `reserve` checks the slot at the cursor, and `step` moves
//! the cursor past that slot.

use core::cell::Cell;
use core::fmt;
#[cfg(debug_assertions)]
use core::panic::Location;
use core::ptr::NonNull;

use super::block::take_out;
use super::cold;
use super::fits::{fits, padded};
use super::idle;
use super::place::{SlotPlace, assert_aligned};
use super::slot::SlotPointer;
use super::state::State;
use super::table::{SLOTS, Table};
use super::vector;
use super::words::Slot;
use crate::backend::{
    EnlargeResult, FirstUse, HostBackend, LooseBlock, PoolBackend, ScopeCursor, VectorMemory,
};
use crate::config::Compaction;
use crate::error::PoolError;
use crate::stats::ReleaseReport;
use crate::threads::ScopeMayLeaveItsThread;

/// The address of the next slot or of the sentinel at the end of a table.
pub struct SlotCursor<B: PoolBackend> {
    slot: Cell<NonNull<Slot<B>>>,
}

// SAFETY: no type implements `ScopeMayLeaveItsThread`, so this impl does not apply to any type.
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Send for SlotCursor<B> {}

// SAFETY: no type implements `ScopeMayLeaveItsThread`, so this impl does not apply to any type.
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Sync for SlotCursor<B> {}

impl<B: PoolBackend> fmt::Debug for SlotCursor<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SlotCursor").field(&self.slot.get()).finish()
    }
}

impl<B: PoolBackend> SlotCursor<B> {
    /// # Safety
    ///
    /// `slot` must be a slot or sentinel of a pool that outlives the cursor. No view of `slot` or
    /// of any slot above it may be in use. While this cursor is in use, no other cursor may create
    /// a view of these slots.
    #[inline(always)]
    pub(super) unsafe fn new(slot: NonNull<Slot<B>>) -> Self {
        Self { slot: Cell::new(slot) }
    }
}

impl<B: PoolBackend> ScopeCursor<B> for SlotCursor<B> {
    type State = State<B>;
    type Place<'s> = SlotPlace<'s, B>;
    type Memory<'s> = SlotPointer<'s, B>;

    #[inline(always)]
    unsafe fn copy(&self) -> Self {
        Self { slot: Cell::new(self.slot.get()) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn reserve<'s, T>(&self, length: usize) -> SlotPointer<'s, B> {
        const { assert_aligned::<B, T>() };
        let slot = self.slot.get();
        // SAFETY: the cursor is at a slot or sentinel of a live pool, as `new` requires.
        if fits::<T>(padded::<T>(length, B::ALIGN), unsafe { (*slot.as_ptr()).advertised }) {
            // SAFETY: the slot is not a sentinel, because nothing fits in the 0 words that a
            // sentinel advertises (invariant 3).
            return unsafe { SlotPointer::new(slot) };
        }
        // SAFETY: the slot is at the cursor and belongs to a pool that outlives `'s`. No view of
        // the slot is in use, as `new` requires.
        unsafe { cold::prepare_or_panic::<B, T>(slot, length) }
    }

    #[inline(always)]
    unsafe fn try_reserve<'s, T>(
        &self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        const { assert_aligned::<B, T>() };
        let slot = self.slot.get();
        // SAFETY: the cursor is at a slot or sentinel of a live pool, as `new` requires.
        if fits::<T>(padded::<T>(length, B::ALIGN), unsafe { (*slot.as_ptr()).advertised }) {
            // SAFETY: the slot is not a sentinel, because nothing fits in the 0 words that a
            // sentinel advertises (invariant 3).
            return Ok(unsafe { SlotPointer::new(slot) });
        }
        // SAFETY: the slot is at the cursor and belongs to a pool that outlives `'s`. No view of
        // the slot is in use, as `new` requires.
        unsafe { cold::prepare::<B, T>(slot, length, first_use) }
    }

    unsafe fn enlarge<'s, T: Copy>(
        &self,
        vector: VectorMemory<Self::Memory<'s>>,
        needed: usize,
    ) -> EnlargeResult<'s, B, Self>
    where
        B: HostBackend,
    {
        // SAFETY: the caller upholds the safety contract of `vector::enlarge`.
        unsafe { vector::enlarge::<B, T>(self.slot.get(), self.active(), vector, needed) }
    }

    unsafe fn keep<T: Copy>(&self, start: *mut T, length: usize, _: bool) -> Option<*mut T>
    where
        B: HostBackend,
    {
        let (slot, used) = self.find_idle(start.cast(), length * size_of::<T>())?;
        // SAFETY: the slot is at or above the cursor, and the caller holds the only view of the
        // slot's block.
        unsafe { self.step_with_block_of(slot, used) };
        // The elements stay in their block, which now belongs to a slot below the cursor.
        Some(start)
    }

    fn idle_block_bytes(&self, address: NonNull<u8>) -> Option<usize>
    where
        B: HostBackend,
    {
        let (slot, _) = self.find_idle(address.as_ptr(), 0)?;
        // SAFETY: the slot's record is live, and no reference to it exists.
        Some(unsafe { (*slot.record().as_ptr()).real })
    }

    unsafe fn take_idle_block(
        &self,
        address: NonNull<u8>,
        spare: Option<LooseBlock<B::Block>>,
    ) -> Option<LooseBlock<B::Block>>
    where
        B: HostBackend,
    {
        let (slot, _) = self.find_idle(address.as_ptr(), 0)?;
        // SAFETY: the slot is at or above the cursor. Only the caller holds a view of the slot's
        // block, and the caller no longer uses that view.
        Some(unsafe { take_out(slot, spare) })
    }

    #[inline(always)]
    unsafe fn place<'s>(&self) -> SlotPlace<'s, B> {
        // SAFETY: the caller upholds the safety contract of `SlotPlace::new`.
        unsafe { SlotPlace::new(self.slot.get()) }
    }

    #[inline(always)]
    unsafe fn step(&self, reserved: SlotPointer<'_, B>) {
        // SAFETY: a reserved slot is not a sentinel, so it is followed by another slot or by the
        // sentinel of its table.
        self.slot.set(unsafe { reserved.slot.add(1) });
    }

    #[inline(always)]
    unsafe fn step_back(&self, taken: SlotPointer<'_, B>) {
        // SAFETY: the slot is not a sentinel, so it is followed by another slot or by the sentinel
        // of its table.
        if self.slot.get() == unsafe { taken.slot.add(1) } {
            self.slot.set(taken.slot);
        }
    }

    fn active(&self) -> usize {
        // SAFETY: the cursor is at a slot or sentinel of a live pool, as `new` requires.
        let (table, index) = unsafe { Table::locate(self.slot.get()) };
        // SAFETY: the cursor's table is live, and its `number` field never changes after the table
        // is created.
        unsafe { (*table.as_ptr()).number * SLOTS + index }
    }

    fn state(&self) -> &State<B> {
        // SAFETY: the cursor is at a slot or sentinel of a live pool, as `new` requires.
        let (table, _) = unsafe { Table::locate(self.slot.get()) };
        // SAFETY: the returned reference borrows from the cursor, and the pool outlives the cursor.
        unsafe { Table::state_of(table) }
    }

    fn trim(&self) -> ReleaseReport {
        // SAFETY: no view of a slot at or above the cursor is in use, as `new` requires.
        unsafe { idle::trim(self.state(), self.active()) }
    }

    fn compact(&self, compaction: &Compaction) -> ReleaseReport {
        // SAFETY: no view of a slot at or above the cursor is in use, as `new` requires.
        unsafe { idle::compact(self.state(), self.active(), compaction) }
    }

    fn sample_lengths(&self) {
        // SAFETY: no view of a slot at or above the cursor is in use, as `new` requires.
        unsafe { idle::sample_lengths(self.state(), self.active()) };
    }

    #[inline(always)]
    #[track_caller]
    fn note_caller(&self) {
        #[cfg(debug_assertions)]
        self.state().note_caller(self.active(), Location::caller());
    }
}

//! Swaps the blocks of two slots. A swap moves an array to another slot without copying the
//! elements or freeing a block.

use core::{mem, ptr};

use super::advertise::advertise;
use super::cursor::SlotCursor;
use super::slot::SlotPointer;
use crate::backend::{ArrayMemory, HostBackend, PoolBackend, ScopeCursor};

impl<B: PoolBackend> SlotPointer<'_, B> {
    /// Swaps the blocks of two slots. The swap includes all data that belongs to a block, namely
    /// its size, its mark, its shapes, and its armed flag. If the flag is set, the backend must
    /// make its queue wait for other queues before the block is used again. The slots' samples are
    /// not swapped.
    ///
    /// This method runs no backend code and cannot fail.
    ///
    /// # Safety
    ///
    /// Both slots must belong to the same pool. Each of the slots must be idle unless the caller
    /// holds the only view of its block. After the swap, each view of a block counts as a view of
    /// the slot that now holds the block. No reference into the slots' shape sets, no handle to the
    /// slots, and no [`SlotRef`](crate::SlotRef) to the slots may be in use.
    pub(crate) unsafe fn exchange_blocks(self, other: Self) {
        if self.slot == other.slot {
            return;
        }
        // SAFETY: the slot is live, and no reference to it exists.
        let own_block = unsafe { &raw mut (*self.slot.as_ptr()).block };
        // SAFETY: `other` is live, and no reference to it exists.
        let other_block = unsafe { &raw mut (*other.slot.as_ptr()).block };
        // SAFETY: both pointers are valid, and they are distinct because the slots are distinct.
        unsafe { ptr::swap(own_block, other_block) };
        // SAFETY: both pointers to shape sets are valid, and they are distinct because the slots
        // are distinct.
        unsafe { ptr::swap(self.shapes().as_ptr(), other.shapes().as_ptr()) };
        // SAFETY: the records of the two slots are live and distinct, and no other references to
        // them exist.
        let own = unsafe { self.record().as_mut() };
        // SAFETY: the records of the two slots are live and distinct, and no other references to
        // them exist.
        let others = unsafe { other.record().as_mut() };
        mem::swap(&mut own.real, &mut others.real);
        mem::swap(&mut own.uninitialised_words, &mut others.uninitialised_words);
        mem::swap(&mut own.armed_by_view, &mut others.armed_by_view);
        for slot in [self, other] {
            // SAFETY: the slot is idle, or its advertised word belongs to the caller's view
            // (invariant 5).
            unsafe { advertise(slot) };
        }
    }
}

impl<B: HostBackend> SlotPointer<'_, B> {
    /// Returns the number of elements of `T` that fit in the slot's block, regardless of the
    /// block's start address.
    pub(crate) fn capacity<T>(self) -> usize {
        // SAFETY: the slot's record is live, and no reference to it exists.
        let real = unsafe { (*self.record().as_ptr()).real };
        // The maximum number of bytes before the first address in the block that is aligned for
        // `T`.
        let skipped = align_of::<T>().saturating_sub(B::ALIGN);
        real.saturating_sub(skipped).checked_div(size_of::<T>()).unwrap_or(usize::MAX)
    }

    /// Records that the slot uses `bytes` bytes of its block, so that `compact` does not give the
    /// slot a smaller block. The slot must be one of the pool's first `handed_out` slots.
    pub(crate) fn note_used(self, handed_out: usize, bytes: usize) {
        let record = self.record().as_ptr();
        // SAFETY: the slot's record is live, and no reference to it exists.
        let largest = unsafe { (*record).largest_sample };
        // SAFETY: the slot's record is live, and no reference to it exists.
        unsafe { (*record).largest_sample = largest.max(bytes) };
        if self.state().config().measure_live_bytes {
            self.state().live.change(self.number(), handed_out, bytes);
        }
    }
}

impl<B: HostBackend> SlotCursor<B> {
    /// Finds the idle slot whose block contains the `bytes` bytes that start at `start`. Returns
    /// the slot, together with the number of bytes from the start of its block to the end of the
    /// given range. Returns `None` if no slot at or above the cursor contains the bytes.
    pub(crate) fn find_idle(
        &self,
        start: *const u8,
        bytes: usize,
    ) -> Option<(SlotPointer<'_, B>, usize)> {
        self.state().slots_from(self.active()).find_map(|slot| {
            // SAFETY: the slot's record is live, and no reference to it exists.
            let real = unsafe { (*slot.record().as_ptr()).real };
            let offset = start.addr().checked_sub(slot.start::<u8>().addr())?;
            (offset < real).then_some((slot, offset + bytes))
        })
    }

    /// Moves the block of `slot` to the slot at the cursor and then moves the cursor past that
    /// slot. `used` is the number of bytes of the block that are in use.
    ///
    /// # Safety
    ///
    /// `slot` must be at or above the cursor, and the caller must hold the only view of its block.
    pub(crate) unsafe fn step_with_block_of(&self, slot: SlotPointer<'_, B>, used: usize) {
        // SAFETY: a slot exists at or above the cursor, so `active` returns the index of an
        // existing slot. If the cursor is at a sentinel, `active` returns the index of the next
        // table's first slot.
        let own = unsafe { self.state().slot(self.active()) };
        // SAFETY: the slot at the cursor is idle, and the caller holds the only view of the other
        // slot. No reference into the slots' shape sets is in use, because both slots are at or
        // above the cursor.
        unsafe { own.exchange_blocks(slot) };
        own.note_used(self.active() + 1, used);
        // SAFETY: `own` is the slot at the cursor and now holds the block.
        unsafe { self.step(own) };
    }
}

//! The exchange of blocks between two slots. It moves an array to another slot without copying or
//! freeing it.

use core::{mem, ptr};

use super::advertise::advertise;
use super::cursor::SlotCursor;
use super::slot::SlotPointer;
use crate::backend::{ArrayMemory, HostBackend, PoolBackend, ScopeCursor};

impl<B: PoolBackend> SlotPointer<'_, B> {
    /// Exchanges the blocks of two slots, with all data that belongs to a block: its bytes, its
    /// mark, its shapes, and whether the backend must order it. The samples of a slot stay with the
    /// slot.
    ///
    /// No code of the backend runs, and nothing can fail.
    ///
    /// # Safety
    ///
    /// The slots belong to the same pool. Each slot is idle, or the caller holds the only view of
    /// its block, which then becomes a view of the other slot. Nothing borrowed from the slots'
    /// shape sets is in use. No handle and no view's reference ([`SlotRef`](crate::SlotRef)) to the
    /// slots is in use.
    pub(crate) unsafe fn exchange_blocks(self, other: Self) {
        if self.slot == other.slot {
            return;
        }
        // SAFETY: this is a word of a live slot, to which nothing holds a reference.
        let own_block = unsafe { &raw mut (*self.slot.as_ptr()).block };
        // SAFETY: as above, for the other slot.
        let other_block = unsafe { &raw mut (*other.slot.as_ptr()).block };
        // SAFETY: both pointers are valid, and distinct.
        unsafe { ptr::swap(own_block, other_block) };
        // SAFETY: as above, for the pointers to their shape sets.
        unsafe { ptr::swap(self.shapes().as_ptr(), other.shapes().as_ptr()) };
        // SAFETY: the records are live and distinct, and nothing else holds a reference to them.
        let own = unsafe { self.record().as_mut() };
        // SAFETY: as above.
        let others = unsafe { other.record().as_mut() };
        mem::swap(&mut own.real, &mut others.real);
        mem::swap(&mut own.uninitialised_words, &mut others.uninitialised_words);
        mem::swap(&mut own.armed_by_view, &mut others.armed_by_view);
        for slot in [self, other] {
            // SAFETY: the slot is idle, or the advertised word belongs to the caller's view
            // (invariant 5).
            unsafe { advertise(slot) };
        }
    }
}

impl<B: HostBackend> SlotPointer<'_, B> {
    /// Returns the number of elements of `T` that the slot's block holds, whatever the alignment of
    /// its start.
    pub(crate) fn capacity<T>(self) -> usize {
        // SAFETY: the record is live and nothing holds a reference to it.
        let real = unsafe { (*self.record().as_ptr()).real };
        // The maximum number of bytes before the first aligned address.
        let skipped = align_of::<T>().saturating_sub(B::ALIGN);
        real.saturating_sub(skipped).checked_div(size_of::<T>()).unwrap_or(usize::MAX)
    }

    /// Records that the slot, one of the first `handed_out` slots, uses `bytes` bytes of its block,
    /// so that `compact` keeps a block of that size.
    pub(crate) fn note_used(self, handed_out: usize, bytes: usize) {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it.
        let largest = unsafe { (*record).largest_sample };
        // SAFETY: as above.
        unsafe { (*record).largest_sample = largest.max(bytes) };
        if self.state().config().measure_live_bytes {
            self.state().live.change(self.number(), handed_out, bytes);
        }
    }
}

impl<B: HostBackend> SlotCursor<B> {
    /// Finds the idle slot, at or above the cursor, whose block contains the `bytes` bytes at
    /// `start`. Returns the slot, and the number of bytes from the start of the block to the end of
    /// the given bytes. Returns `None` if no such block contains them.
    pub(crate) fn find_idle(
        &self,
        start: *const u8,
        bytes: usize,
    ) -> Option<(SlotPointer<'_, B>, usize)> {
        self.state().slots_from(self.active()).find_map(|slot| {
            // SAFETY: the record is live and nothing holds a reference to it.
            let real = unsafe { (*slot.record().as_ptr()).real };
            let offset = start.addr().checked_sub(slot.start::<u8>().addr())?;
            (offset < real).then_some((slot, offset + bytes))
        })
    }

    /// Moves the block of `slot`, with `used` bytes in use, to the slot at the cursor, and steps
    /// past that slot.
    ///
    /// # Safety
    ///
    /// `slot` is at or above the cursor, and the caller holds the only view of its block.
    pub(crate) unsafe fn step_with_block_of(&self, slot: SlotPointer<'_, B>, used: usize) {
        // SAFETY: there is a slot at or above the cursor, so the cursor's number is the number of a
        // slot. If the cursor is at a sentinel, it is the number of the next table's first slot.
        let own = unsafe { self.state().slot(self.active()) };
        // SAFETY: the cursor's slot is idle, and the caller holds the only view of the other slot.
        // Nothing borrowed from their shape sets is in use, because both slots are at or above the
        // cursor.
        unsafe { own.exchange_blocks(slot) };
        own.note_used(self.active() + 1, used);
        // SAFETY: this is the slot at the cursor, which now holds the block.
        unsafe { self.step(own) };
    }
}

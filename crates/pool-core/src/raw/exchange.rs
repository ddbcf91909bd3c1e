//! Two slots exchange their blocks: how an array gets into another slot without being copied or freed.

use core::{mem, ptr};

use super::advertise::advertise;
use super::slot::SlotPointer;
use crate::backend::{HostBackend, PoolBackend};

impl<B: PoolBackend> SlotPointer<'_, B> {
    /// Exchanges the blocks of two slots, with all that belongs to a block: its bytes, its mark, its shapes, and
    /// whether it is to be put in order. What was noted of the acquires of a slot stays with the slot.
    ///
    /// Nothing of the backend runs, and nothing can fail.
    ///
    /// # Safety
    ///
    /// The slots are of one pool. For each of them the caller has the only view of its block, or the slot is idle;
    /// a view of the one block is from then on a view of the other slot. Nothing borrowed from their shape sets is
    /// in use, and no reference to them by a view ([`SlotRef`](crate::SlotRef)), nor a handle.
    pub(crate) unsafe fn exchange_blocks(self, other: Self) {
        if self.slot == other.slot {
            return;
        }
        // SAFETY: the word of a live slot, to which nothing holds a reference.
        let own_block = unsafe { &raw mut (*self.slot.as_ptr()).block };
        // SAFETY: as above, of another slot.
        let other_block = unsafe { &raw mut (*other.slot.as_ptr()).block };
        // SAFETY: both are valid, and distinct.
        unsafe { ptr::swap(own_block, other_block) };
        // SAFETY: as above, for the places of their shape sets.
        unsafe { ptr::swap(self.shapes().as_ptr(), other.shapes().as_ptr()) };
        // SAFETY: the records are live and distinct, and nothing else holds a reference to them.
        let own = unsafe { self.record().as_mut() };
        // SAFETY: as above.
        let others = unsafe { other.record().as_mut() };
        mem::swap(&mut own.real, &mut others.real);
        mem::swap(&mut own.uninitialised_words, &mut others.uninitialised_words);
        mem::swap(&mut own.armed_by_view, &mut others.armed_by_view);
        for slot in [self, other] {
            // SAFETY: the slot is idle, or the advertised word belongs to the caller's view (invariant 5).
            unsafe { advertise(slot) };
        }
    }
}

impl<B: HostBackend> SlotPointer<'_, B> {
    /// How many elements of `T` the slot's block holds.
    pub(crate) fn capacity<T>(self) -> usize {
        // SAFETY: the record is live and nothing holds a reference to it.
        let real = unsafe { (*self.record().as_ptr()).real };
        real.checked_div(size_of::<T>()).unwrap_or(usize::MAX)
    }

    /// Notes that the slot was used for `bytes` bytes of its block, which `compact` then leaves it.
    pub(crate) fn note_used(self, bytes: usize) {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it.
        let largest = unsafe { (*record).largest_sample };
        // SAFETY: as above.
        unsafe { (*record).largest_sample = largest.max(bytes) };
    }
}

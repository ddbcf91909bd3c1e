//! Growth of a vector's memory in slots.

use core::ptr::{self, NonNull};

use super::cold;
use super::fits::padded;
use super::place::SlotPlace;
use super::slot::SlotPointer;
use super::words::Slot;
use crate::backend::{ArrayMemory, CursorPlace, FirstUse, HostBackend, VectorMemory};
use crate::error::PoolError;

/// The memory of a vector in a slot.
type Vector<'s, B> = VectorMemory<SlotPointer<'s, B>>;

/// The smallest capacity to which a vector grows.
const LEAST: usize = 4;

/// Enlarges a vector's memory, either in the slot's own block or in the block of the next slot. The
/// cursor is at the slot `cursor`, after `active` slots.
///
/// # Errors
///
/// Same as for an acquire. In case of an error, the vector's memory is unchanged.
///
/// # Safety
///
/// Same as for [`ScopeCursor::enlarge`](crate::backend::ScopeCursor::enlarge).
pub(super) unsafe fn enlarge<'s, B: HostBackend, T: Copy>(
    cursor: NonNull<Slot<B>>,
    active: usize,
    vector: Vector<'s, B>,
    needed: usize,
) -> Result<Vector<'s, B>, PoolError<B::Error>> {
    let wanted = needed.max(vector.length.saturating_mul(2)).max(LEAST);
    let slot = vector.memory;
    let from = slot.start::<T>();
    if vector.capacity == 0 {
        // SAFETY: the cursor has stepped past the slot. Only the vector has a view of the slot, and
        // that view contains no byte of the slot's block.
        let hand_out = |capacity| unsafe { cold::hand_out_taken::<B, T>(slot, cursor, capacity) };
        hand_out(wanted).or_else(|error| retry(error, || hand_out(needed)))?;
    } else if slot.capacity::<T>() < needed {
        // SAFETY: the caller upholds the same contract.
        let taken = unsafe { take_next_block::<B, T>(cursor, slot, wanted) };
        // SAFETY: as above.
        let again = || unsafe { take_next_block::<B, T>(cursor, slot, needed) };
        taken.or_else(|error| retry(error, again))?;
    }
    let capacity = wanted.min(slot.capacity::<T>());
    if !vector.plain {
        // SAFETY: the slot's block holds `capacity` elements, and the slot belongs to this vector.
        unsafe { slot.mark::<T>(capacity) };
    }
    slot.note_used(active, padded::<T>(capacity, B::ALIGN) * size_of::<T>());
    let to = slot.start::<T>();
    if vector.length > 0 && !ptr::eq(from, to) {
        // SAFETY: the elements are in another block of the pool, and are unchanged since that block
        // was the slot's. The slot's block holds `capacity` elements, and nothing views it. `T` is
        // `Copy`.
        unsafe { to.copy_from_nonoverlapping(from, vector.length) };
    }
    Ok(VectorMemory { capacity, ..vector })
}

/// Takes the block of the next slot, which holds `capacity` elements. The old block then belongs to
/// the next slot, and keeps the elements until the new block is used.
///
/// # Safety
///
/// Same as for [`enlarge`].
unsafe fn take_next_block<B: HostBackend, T>(
    cursor: NonNull<Slot<B>>,
    slot: SlotPointer<'_, B>,
    capacity: usize,
) -> Result<(), PoolError<B::Error>> {
    // The block with the elements is below the cursor, so it is neither freed nor handed out here.
    // SAFETY: this is the cursor's position, in a pool that lives while its slot is used.
    let place = unsafe { SlotPlace::new(cursor) };
    // SAFETY: as above.
    let next = unsafe { place.prepare::<T>(capacity, FirstUse::Write) }?;
    // SAFETY: both slots belong to the same pool. Only the vector has a view of its slot, and it
    // creates a new view before any other code runs. The next slot is idle. A host's vector stores
    // no reference to its slot, and a scope has no handles.
    unsafe { slot.exchange_blocks(next) };
    Ok(())
}

/// Tries again with less memory, after an error that reports too little memory.
fn retry<E>(
    error: PoolError<E>,
    again: impl FnOnce() -> Result<(), PoolError<E>>,
) -> Result<(), PoolError<E>> {
    match error {
        PoolError::SizeOverflow { .. }
        | PoolError::LimitExceeded { .. }
        | PoolError::OutOfMemory { .. } => again(),
        other => Err(other),
    }
}

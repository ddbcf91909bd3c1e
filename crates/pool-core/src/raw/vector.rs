//! Implements growth for vectors that are stored in slots.

use core::ptr::{self, NonNull};

use super::cold;
use super::fits::padded;
use super::place::SlotPlace;
use super::slot::SlotPointer;
use super::words::Slot;
use crate::backend::{ArrayMemory, CursorPlace, FirstUse, HostBackend, VectorMemory};
use crate::error::PoolError;

/// The memory of a vector whose elements are stored in a slot.
type Vector<'s, B> = VectorMemory<SlotPointer<'s, B>>;

/// The minimum capacity to which a vector grows.
const LEAST: usize = 4;

/// Enlarges a vector's memory, using either the slot's own block or the next slot's block. `cursor`
/// points to the slot at the scope's cursor, and `active` is the number of slots before that slot.
///
/// # Errors
///
/// Returns the same errors as the acquire methods. If an error is returned, the vector's memory is
/// unchanged.
///
/// # Safety
///
/// The requirements are the same as for
/// [`ScopeCursor::enlarge`](crate::backend::ScopeCursor::enlarge).
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
        // SAFETY: the cursor has moved past the slot. Only the vector has a view of the slot, and
        // that view is empty because the vector has no capacity yet.
        let hand_out = |capacity| unsafe { cold::hand_out_taken::<B, T>(slot, cursor, capacity) };
        hand_out(wanted).or_else(|error| retry(error, || hand_out(needed)))?;
    } else if slot.capacity::<T>() < needed {
        // SAFETY: the caller upholds the safety contract of `take_next_block`.
        let taken = unsafe { take_next_block::<B, T>(cursor, slot, wanted) };
        // SAFETY: the caller upholds the safety contract of `take_next_block`.
        let again = || unsafe { take_next_block::<B, T>(cursor, slot, needed) };
        taken.or_else(|error| retry(error, again))?;
    }
    let capacity = wanted.min(slot.capacity::<T>());
    if !vector.plain {
        // SAFETY: the slot's block has room for `capacity` elements. The slot belongs to this
        // vector.
        unsafe { slot.mark::<T>(capacity) };
    }
    slot.note_used(active, padded::<T>(capacity, B::ALIGN) * size_of::<T>());
    let to = slot.start::<T>();
    if vector.length > 0 && !ptr::eq(from, to) {
        // SAFETY: the elements are still intact in the block that previously belonged to the slot.
        // The slot's current block has room for `capacity` elements, and no view of it exists. `T`
        // is `Copy`.
        unsafe { to.copy_from_nonoverlapping(from, vector.length) };
    }
    Ok(VectorMemory { capacity, ..vector })
}

/// Swaps the vector's block with the next slot's block, which has room for `capacity` elements.
/// After the swap, the old block belongs to the next slot and retains the vector's elements until
/// the new block is used.
///
/// # Safety
///
/// The requirements are the same as for [`enlarge`].
unsafe fn take_next_block<B: HostBackend, T>(
    cursor: NonNull<Slot<B>>,
    slot: SlotPointer<'_, B>,
    capacity: usize,
) -> Result<(), PoolError<B::Error>> {
    // The block that contains the vector's elements is below the cursor, so this call neither frees
    // nor hands out that block. SAFETY: `cursor` points to the slot at the scope's cursor. The pool
    // is live while one of its slots is in use.
    let place = unsafe { SlotPlace::new(cursor) };
    // SAFETY: `place` is at the scope's cursor. No view of the slot at the cursor is in use.
    let next = unsafe { place.prepare::<T>(capacity, FirstUse::Write) }?;
    // SAFETY: both slots belong to the same pool. Only the vector has a view of its slot, and the
    // vector creates a new view before any other code runs. The next slot is idle. A vector in host
    // memory stores no reference to its slot. A scope has no handles.
    unsafe { slot.exchange_blocks(next) };
    Ok(())
}

/// Calls `again`, which requests less memory, if the error reports that too little memory is
/// available.
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

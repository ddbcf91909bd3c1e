//! The cold function, which handles all rare cases of an acquire: the end of a table, the first use
//! of a slot, a block that is too small, an armed slot, and zero length. A single comparison sends
//! all of these cases to [`prepare`]. Foreign code may run inside it (invariant 9), so the pool is
//! marked, and the slot at the cursor advertises nothing.

use core::ptr::NonNull;

use super::advertise::WithdrawnSlot;
use super::fits::padded;
use super::hand_out::{Demand, hand_out};
use super::slot::SlotPointer;
use super::state::State;
use super::table::{SLOTS, Table};
use super::words::Slot;
use crate::backend::{FirstUse, PoolBackend};
use crate::error::{PoolError, panic_with};

/// Prepares the slot at a cursor for `length` elements of `T`.
///
/// # Errors
///
/// Same as for an acquire.
///
/// # Safety
///
/// Same as for [`prepare_bytes`].
#[inline(always)]
pub(super) unsafe fn prepare<'s, B: PoolBackend, T>(
    slot: NonNull<Slot<B>>,
    length: usize,
    first_use: FirstUse,
) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
    let padded = padded::<T>(length, B::ALIGN);
    // SAFETY: the caller upholds the same contract.
    let prepared = unsafe { prepare_bytes(slot, padded, size_of::<T>(), first_use) };
    if align_of::<T>() <= B::ALIGN {
        return prepared;
    }
    prepared.map_err(|error| as_asked(error, length))
}

/// Does the same as [`prepare`] for elements that may be read first, but panics instead of
/// returning an error.
///
/// # Safety
///
/// Same as for [`prepare`].
#[inline(always)]
#[track_caller]
pub(super) unsafe fn prepare_or_panic<'s, B: PoolBackend, T>(
    slot: NonNull<Slot<B>>,
    length: usize,
) -> SlotPointer<'s, B> {
    if align_of::<T>() <= B::ALIGN {
        // SAFETY: the caller upholds the same contract.
        return unsafe { prepare_bytes_or_panic(slot, length, size_of::<T>()) };
    }
    // SAFETY: the caller upholds the same contract.
    match unsafe { prepare::<B, T>(slot, length, FirstUse::Read) } {
        Ok(slot) => slot,
        Err(error) => panic_with(&error),
    }
}

/// Replaces the padded number of elements in an error with the number requested.
#[cold]
fn as_asked<E>(error: PoolError<E>, length: usize) -> PoolError<E> {
    match error {
        PoolError::SizeOverflow { element_size, .. } => {
            PoolError::SizeOverflow { elements: length, element_size }
        }
        other => other,
    }
}

/// Prepares the slot at a cursor for `length` elements of `element_size` bytes.
///
/// # Safety
///
/// `slot` is a slot or sentinel of a pool that lives for `'s`. No view of that slot or of a slot
/// above it is in use.
#[cold]
#[inline(never)]
unsafe fn prepare_bytes<'s, B: PoolBackend>(
    slot: NonNull<Slot<B>>,
    length: usize,
    element_size: usize,
    first_use: FirstUse,
) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
    let demand = Demand::new::<B>(length, element_size, first_use)?;
    // SAFETY: `slot` is a slot or sentinel of a live pool (caller).
    let (table, index) = unsafe { Table::locate(slot) };
    // SAFETY: the pool lives for `'s` (caller).
    let state: &'s State<B> = unsafe { Table::state_of(table) };
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    let slot = if index == SLOTS {
        // While the table is allocated, the cursor is at the sentinel, which never advertises
        // anything.
        // SAFETY: the pool lives for `'s` (caller), and is marked.
        unsafe { State::slot_after(table) }?
    } else {
        // SAFETY: `slot` is not a sentinel, and the pool lives for `'s`.
        unsafe { SlotPointer::new(slot) }
    };
    // SAFETY: the slot is idle (caller), and stays idle because acquires are refused while the pool
    // is marked.
    let _withdrawn = unsafe { WithdrawnSlot::new(slot) };
    // SAFETY: the slot and all slots above it are idle (caller), the slot advertises nothing, and
    // the pool is marked.
    unsafe { hand_out(state, slot, None, demand) }?;
    state.note_cold_acquire();
    state.note_use(slot.number());
    Ok(slot)
}

/// Does the same as [`prepare_bytes`] for elements that may be read first, but panics instead of
/// returning an error.
///
/// # Safety
///
/// Same as for [`prepare_bytes`].
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn prepare_bytes_or_panic<'s, B: PoolBackend>(
    slot: NonNull<Slot<B>>,
    length: usize,
    element_size: usize,
) -> SlotPointer<'s, B> {
    // SAFETY: the caller upholds the same contract.
    match unsafe { prepare_bytes(slot, length, element_size, FirstUse::Read) } {
        Ok(slot) => slot,
        Err(error) => panic_with(&error),
    }
}

/// Hands out the block of a slot that was taken for zero elements, before `length` elements of `T`
/// are written to the block. `cursor` is the cursor of the slot's scope.
///
/// # Errors
///
/// Same as for [`prepare`]. The slot stays taken in case of an error.
///
/// # Safety
///
/// The slot is below the cursor, and no view contains a byte of its block. No view of the slot at
/// the cursor, or of a slot above it, is in use.
#[inline]
pub(super) unsafe fn hand_out_taken<B: PoolBackend, T>(
    slot: SlotPointer<'_, B>,
    cursor: NonNull<Slot<B>>,
    length: usize,
) -> Result<(), PoolError<B::Error>> {
    let padded = padded::<T>(length, B::ALIGN);
    // SAFETY: the caller upholds the same contract.
    let handed_out = unsafe { hand_out_taken_bytes(slot, cursor, padded, size_of::<T>()) };
    if align_of::<T>() <= B::ALIGN {
        return handed_out;
    }
    handed_out.map_err(|error| as_asked(error, length))
}

/// Does the same as [`hand_out_taken`], compiled once for all types of elements.
///
/// # Errors
///
/// Same as for [`hand_out_taken`].
///
/// # Safety
///
/// Same as for [`hand_out_taken`].
#[cold]
#[inline(never)]
unsafe fn hand_out_taken_bytes<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    cursor: NonNull<Slot<B>>,
    length: usize,
    element_size: usize,
) -> Result<(), PoolError<B::Error>> {
    let demand = Demand::new::<B>(length, element_size, FirstUse::Write)?;
    let state = slot.state();
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    // SAFETY: `cursor` is a slot or sentinel of a live pool (caller).
    let (table, index) = unsafe { Table::locate(cursor) };
    // SAFETY: the table is live, and its number is never written after the table was created.
    let idle_from = unsafe { (*table.as_ptr()).number } * SLOTS + index;
    let _withdrawn_next = (index < SLOTS).then(|| {
        // SAFETY: `cursor` is not a sentinel, and belongs to the slot's pool.
        let next = unsafe { SlotPointer::new(cursor) };
        // SAFETY: the slot is idle (caller), and stays idle because acquires are refused while the
        // pool is marked.
        unsafe { WithdrawnSlot::new(next) }
    });
    // SAFETY: below the cursor, the advertised word belongs to the views of the slot, and there is
    // no such view (caller).
    let _withdrawn = unsafe { WithdrawnSlot::new(slot) };
    // SAFETY: nothing views the block, and the slots from the cursor on are idle (caller). The slot
    // and the slot at the cursor advertise nothing, and the pool is marked.
    unsafe { hand_out(state, slot, Some(idle_from), demand) }
}

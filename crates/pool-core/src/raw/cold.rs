//! Implements the cold function, which handles the rare cases in which the hot path cannot acquire
//! memory. The rare cases include the end of a table, a slot's first use, a block that is too
//! small, an armed slot, and a length of zero.
//!
//! A single comparison diverts all of these cases to [`prepare`]. Because the cold function might
//! run user code, the pool is marked as busy, and the slot at the cursor advertises 0 words
//! (invariant 9).

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
/// Returns the same errors as the acquire methods.
///
/// # Safety
///
/// The requirements are the same as for [`prepare_bytes`].
#[inline(always)]
pub(super) unsafe fn prepare<'s, B: PoolBackend, T>(
    slot: NonNull<Slot<B>>,
    length: usize,
    first_use: FirstUse,
) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
    let padded = padded::<T>(length, B::ALIGN);
    // SAFETY: the caller upholds the safety contract of `prepare_bytes`.
    let prepared = unsafe { prepare_bytes(slot, padded, size_of::<T>(), first_use) };
    if align_of::<T>() <= B::ALIGN {
        return prepared;
    }
    prepared.map_err(|error| as_asked(error, length))
}

/// The panicking version of [`prepare`] for elements that might be read before they are written.
///
/// # Safety
///
/// The requirements are the same as for [`prepare`].
#[inline(always)]
#[track_caller]
pub(super) unsafe fn prepare_or_panic<'s, B: PoolBackend, T>(
    slot: NonNull<Slot<B>>,
    length: usize,
) -> SlotPointer<'s, B> {
    if align_of::<T>() <= B::ALIGN {
        // SAFETY: the caller upholds the safety contract of `prepare_bytes_or_panic`.
        return unsafe { prepare_bytes_or_panic(slot, length, size_of::<T>()) };
    }
    // SAFETY: the caller upholds the safety contract of `prepare`.
    match unsafe { prepare::<B, T>(slot, length, FirstUse::Read) } {
        Ok(slot) => slot,
        Err(error) => panic_with(&error),
    }
}

/// Replaces an error's element count, which includes padding, with the count that the caller
/// requested.
#[cold]
fn as_asked<E>(error: PoolError<E>, length: usize) -> PoolError<E> {
    match error {
        PoolError::SizeOverflow { element_size, .. } => {
            PoolError::SizeOverflow { elements: length, element_size }
        }
        other => other,
    }
}

/// Prepares the slot at a cursor for `length` elements of `element_size` bytes each.
///
/// # Safety
///
/// `slot` must be a slot or sentinel of a pool that outlives `'s`. No view of `slot` or of any
/// later slot may be in use.
#[cold]
#[inline(never)]
unsafe fn prepare_bytes<'s, B: PoolBackend>(
    slot: NonNull<Slot<B>>,
    length: usize,
    element_size: usize,
    first_use: FirstUse,
) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
    let demand = Demand::new::<B>(length, element_size, first_use)?;
    // SAFETY: the caller guarantees that `slot` is a slot or sentinel of a live pool.
    let (table, index) = unsafe { Table::locate(slot) };
    // SAFETY: the caller guarantees that the pool outlives `'s`.
    let state: &'s State<B> = unsafe { Table::state_of(table) };
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    let slot = if index == SLOTS {
        // While the new table is being allocated, the cursor is at the sentinel, and a sentinel
        // always advertises 0 words.
        // SAFETY: the pool is marked as busy, and the caller guarantees that the pool outlives
        // `'s`.
        unsafe { State::slot_after(table) }?
    } else {
        // SAFETY: `slot` is not a sentinel, and the pool outlives `'s`.
        unsafe { SlotPointer::new(slot) }
    };
    // SAFETY: the caller guarantees that the slot is idle. The slot remains idle because a busy
    // pool hands out no memory.
    let _withdrawn = unsafe { WithdrawnSlot::new(slot) };
    // SAFETY: the caller guarantees that this slot and all slots above it are idle. The slot
    // advertises 0 words, and the pool is marked as busy.
    unsafe { hand_out(state, slot, None, demand) }?;
    state.note_cold_acquire();
    state.note_use(slot.number());
    Ok(slot)
}

/// The panicking version of [`prepare_bytes`] for elements that might be read before they are
/// written.
///
/// # Safety
///
/// The requirements are the same as for [`prepare_bytes`].
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn prepare_bytes_or_panic<'s, B: PoolBackend>(
    slot: NonNull<Slot<B>>,
    length: usize,
    element_size: usize,
) -> SlotPointer<'s, B> {
    // SAFETY: the caller upholds the safety contract of `prepare_bytes`.
    match unsafe { prepare_bytes(slot, length, element_size, FirstUse::Read) } {
        Ok(slot) => slot,
        Err(error) => panic_with(&error),
    }
}

/// Hands out the block of a slot that a vector acquired for zero elements. The vector calls this
/// function before it writes its first `length` elements of `T` to the block. `cursor` is the
/// cursor of the scope to which the slot belongs.
///
/// # Errors
///
/// Returns the same errors as [`prepare`]. If an error is returned, the slot remains acquired.
///
/// # Safety
///
/// The slot must be below the cursor, and no view may contain any byte of the slot's block. No view
/// of any slot at or above the cursor may be in use.
#[inline]
pub(super) unsafe fn hand_out_taken<B: PoolBackend, T>(
    slot: SlotPointer<'_, B>,
    cursor: NonNull<Slot<B>>,
    length: usize,
) -> Result<(), PoolError<B::Error>> {
    let padded = padded::<T>(length, B::ALIGN);
    // SAFETY: the caller upholds the safety contract of `hand_out_taken_bytes`.
    let handed_out = unsafe { hand_out_taken_bytes(slot, cursor, padded, size_of::<T>()) };
    if align_of::<T>() <= B::ALIGN {
        return handed_out;
    }
    handed_out.map_err(|error| as_asked(error, length))
}

/// Implements [`hand_out_taken`] and is compiled only once for all element types.
///
/// # Errors
///
/// Returns the same errors as [`hand_out_taken`].
///
/// # Safety
///
/// The requirements are the same as for [`hand_out_taken`].
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
    // SAFETY: the caller guarantees that `cursor` is a slot or sentinel of a live pool.
    let (table, index) = unsafe { Table::locate(cursor) };
    // SAFETY: the table is live, and its `number` field never changes after the table is created.
    let idle_from = unsafe { (*table.as_ptr()).number } * SLOTS + index;
    let _withdrawn_next = (index < SLOTS).then(|| {
        // SAFETY: `cursor` is not a sentinel and belongs to the same pool as the slot.
        let next = unsafe { SlotPointer::new(cursor) };
        // SAFETY: the caller guarantees that the slot at the cursor is idle. The slot at the cursor
        // remains idle because a busy pool hands out no memory.
        unsafe { WithdrawnSlot::new(next) }
    });
    // SAFETY: the advertised word of a slot below the cursor belongs to the slot's views. The
    // caller guarantees that the slot has no views.
    let _withdrawn = unsafe { WithdrawnSlot::new(slot) };
    // SAFETY: the caller guarantees that no view of the block exists, and that all slots at or
    // above the cursor are idle. This slot and the slot at the cursor advertise 0 words, and the
    // pool is marked as busy.
    unsafe { hand_out(state, slot, Some(idle_from), demand) }
}

//! The cursor: the one word that a scope is. Reserving looks at the slot under it, stepping moves it
//! past. It moves back in one case alone: over a slot whose filling failed, where nothing came after it.

use core::cell::Cell;
use core::fmt;
#[cfg(debug_assertions)]
use core::panic::Location;
use core::ptr::NonNull;

use super::cold;
use super::fits::fits;
use super::hand_out::FirstUse;
use super::idle;
use super::place::{Place, assert_aligned};
use super::slot::SlotPointer;
use super::state::State;
use super::table::{SLOTS, Table};
use super::words::Slot;
use crate::backend::PoolBackend;
use crate::config::Compaction;
use crate::error::{PoolError, panic_with};
use crate::stats::ReleaseReport;
use crate::threads::ScopeMayLeaveItsThread;

/// The address of the next slot, or of the sentinel that ends its table.
pub struct Cursor<B: PoolBackend> {
    slot: Cell<NonNull<Slot<B>>>,
}

// SAFETY: no type meets the condition (invariant 7).
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Send for Cursor<B> {}

// SAFETY: as above.
unsafe impl<B: PoolBackend + ScopeMayLeaveItsThread> Sync for Cursor<B> {}

impl<B: PoolBackend> fmt::Debug for Cursor<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cursor").field(&self.slot.get()).finish()
    }
}

impl<B: PoolBackend> Cursor<B> {
    /// # Safety
    ///
    /// `slot` is a slot or sentinel of a pool that outlives the cursor, and no view of that slot or
    /// of one above it is in use, nor will any other cursor make one while this one is used.
    #[inline(always)]
    pub(super) unsafe fn new(slot: NonNull<Slot<B>>) -> Self {
        Self { slot: Cell::new(slot) }
    }

    /// A cursor that starts where this one stands.
    ///
    /// # Safety
    ///
    /// Until the copy and everything that was reserved through it is out of use, this cursor is not
    /// used.
    #[inline(always)]
    pub(crate) unsafe fn copy(&self) -> Self {
        Self { slot: Cell::new(self.slot.get()) }
    }

    /// Reserves a slot whose block holds `length` elements of `T`, initialised, without taking the slot: the
    /// hot path.
    ///
    /// # Safety
    ///
    /// The pool lives for `'s`.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_reserve`](Self::try_reserve) returns.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn reserve<'s, T>(&self, length: usize) -> SlotPointer<'s, B> {
        const { assert_aligned::<B, T>() };
        let slot = self.slot.get();
        // SAFETY: the cursor is at a slot or a sentinel of a live pool (`new`).
        if fits::<T>(length, unsafe { (*slot.as_ptr()).advertised }) {
            // SAFETY: what fits advertises words, so it is no sentinel (invariant 3).
            return unsafe { SlotPointer::new(slot) };
        }
        // SAFETY: the cursor's slot, of a pool that lives for `'s`; no view of it is in use (`new`).
        unsafe { cold::prepare_or_panic(slot, length, size_of::<T>()) }
    }

    /// As [`reserve`](Self::reserve), with an error instead of a panic, and for whatever is done first with
    /// the elements.
    ///
    /// # Safety
    ///
    /// The pool lives for `'s`.
    #[inline(always)]
    pub(crate) unsafe fn try_reserve<'s, T>(
        &self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        const { assert_aligned::<B, T>() };
        let slot = self.slot.get();
        // SAFETY: the cursor is at a slot or a sentinel of a live pool (`new`).
        if fits::<T>(length, unsafe { (*slot.as_ptr()).advertised }) {
            // SAFETY: what fits advertises words, so it is no sentinel (invariant 3).
            return Ok(unsafe { SlotPointer::new(slot) });
        }
        // SAFETY: the cursor's slot, of a pool that lives for `'s`; no view of it is in use (`new`).
        unsafe { cold::prepare(slot, length, size_of::<T>(), first_use) }
    }

    /// The place at which the cursor stands.
    ///
    /// # Safety
    ///
    /// The pool lives for `'s`; until the place is out of use, the cursor only steps past the one slot
    /// that was got from the place.
    #[inline(always)]
    pub(crate) unsafe fn place<'s>(&self) -> Place<'s, B> {
        // SAFETY: the caller's promise.
        unsafe { Place::new(self.slot.get()) }
    }

    /// Takes the slot that was reserved: steps past it.
    ///
    /// # Safety
    ///
    /// `reserved` was the last thing reserved through this cursor.
    #[inline(always)]
    pub(crate) unsafe fn step(&self, reserved: SlotPointer<'_, B>) {
        // SAFETY: a reserved slot is no sentinel, so the next one is within the table.
        self.slot.set(unsafe { reserved.slot.add(1) });
    }

    /// Takes the slot that was reserved, then has it filled; gives the slot back where filling fails.
    ///
    /// # Safety
    ///
    /// `reserved` was the last thing reserved through this cursor, and `fill` makes no view of it that is
    /// used after an error.
    #[inline(always)]
    pub(crate) unsafe fn step_and_fill<E>(
        &self,
        reserved: SlotPointer<'_, B>,
        fill: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: the caller's promise.
        unsafe { self.step(reserved) };
        let filled = fill();
        if filled.is_err() {
            // SAFETY: just stepped past, and there is no view of it (caller).
            unsafe { self.step_back(reserved) };
        }
        filled
    }

    /// Gives back a slot that was taken; where the cursor has gone on since, because what ran after the
    /// step has acquired, the slot stays taken.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `taken`, and no view of it is in use.
    #[inline(always)]
    pub(crate) unsafe fn step_back(&self, taken: SlotPointer<'_, B>) {
        // SAFETY: the slot is no sentinel, so there is one behind it.
        if self.slot.get() == unsafe { taken.slot.add(1) } {
            self.slot.set(taken.slot);
        }
    }

    /// Hands out the block of a slot that was taken for no elements, for `length` elements of `T` which are then written.
    ///
    /// # Errors
    ///
    /// As for [`try_reserve`](Self::try_reserve); the slot stays taken.
    ///
    /// # Safety
    ///
    /// This cursor has stepped past `taken`, and no view has a byte of its block.
    pub(crate) unsafe fn hand_out_taken<T>(
        &self,
        taken: SlotPointer<'_, B>,
        length: usize,
    ) -> Result<(), PoolError<B::Error>> {
        const { assert_aligned::<B, T>() };
        // SAFETY: the slot is below the cursor and not viewed (caller); no view of the cursor's slot or of one above it
        // is in use (`new`).
        unsafe { cold::hand_out_taken(taken, self.slot.get(), length, size_of::<T>()) }
    }

    /// How many slots are before the cursor, over all tables.
    pub(crate) fn active(&self) -> usize {
        // SAFETY: the cursor is at a slot or a sentinel of a live pool (`new`).
        let (table, index) = unsafe { Table::locate(self.slot.get()) };
        // SAFETY: the cursor's table is live, and its number is never written after it was made.
        unsafe { (*table.as_ptr()).number * SLOTS + index }
    }

    /// The pool's state.
    pub(crate) fn state(&self) -> &State<B> {
        // SAFETY: the cursor is at a slot or a sentinel of a live pool (`new`).
        let (table, _) = unsafe { Table::locate(self.slot.get()) };
        // SAFETY: the reference ends with the borrow of the cursor, which the pool outlives.
        unsafe { Table::state_of(table) }
    }

    /// Frees the blocks of the slots at or above the cursor.
    pub(crate) fn trim(&self) -> ReleaseReport {
        // SAFETY: no view of a slot at or above the cursor is in use (`new`).
        unsafe { idle::trim(self.state(), self.active()) }
    }

    /// Swaps oversized blocks at or above the cursor for smaller ones.
    pub(crate) fn compact(&self, compaction: &Compaction) -> ReleaseReport {
        // SAFETY: no view of a slot at or above the cursor is in use (`new`).
        unsafe { idle::compact(self.state(), self.active(), compaction) }
    }

    /// Arms the slots at or above the cursor, so that the lengths of the next acquires are seen.
    pub(crate) fn sample_lengths(&self) {
        // SAFETY: no view of a slot at or above the cursor is in use (`new`).
        unsafe { idle::sample_lengths(self.state(), self.active()) };
    }

    /// Notes the caller of a method without `try_`, for the report of a debug build. In release builds it is nothing.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn note_caller(&self) {
        #[cfg(debug_assertions)]
        self.state().note_caller(self.active(), Location::caller());
    }

    /// Panics with the text of an error: what the twins without `try_` do.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(crate) fn fail(error: &PoolError<B::Error>) -> ! {
        panic_with(error)
    }
}

impl<B: PoolBackend> State<B> {
    /// A cursor at slot `number`, or at the end of the last table.
    ///
    /// # Safety
    ///
    /// As for [`Cursor::new`]; and `number` is at most the number of slots.
    #[inline]
    pub(crate) unsafe fn cursor(&self, number: usize) -> Cursor<B> {
        // SAFETY: the caller's promise.
        let slot = unsafe { self.slot_or_end(number) };
        // SAFETY: the caller's promise.
        unsafe { Cursor::new(slot) }
    }
}

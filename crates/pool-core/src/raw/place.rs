//! Defines a type that stores the position of a cursor over slots and is passed by value.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cold;
use super::fits::{fits, padded};
use super::shape_cache;
use super::slot::SlotPointer;
use super::words::Slot;
use crate::backend::{CursorPlace, FirstUse, MemoryAndShape, PoolBackend};
use crate::element::Element;
use crate::error::{PoolError, panic_with};
use crate::lengths::element_count;

/// The position of a cursor over slots, passed by value.
pub struct SlotPlace<'s, B: PoolBackend> {
    slot: NonNull<Slot<B>>,
    pool: PhantomData<&'s ()>,
}

impl<B: PoolBackend> Clone for SlotPlace<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: PoolBackend> Copy for SlotPlace<'_, B> {}

impl<B: PoolBackend> fmt::Debug for SlotPlace<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SlotPlace").field(&self.slot).finish()
    }
}

impl<'s, B: PoolBackend> SlotPlace<'s, B> {
    /// # Safety
    ///
    /// `slot` must be the position of a cursor in a pool that outlives `'s`.
    #[inline(always)]
    pub(super) unsafe fn new(slot: NonNull<Slot<B>>) -> Self {
        Self { slot, pool: PhantomData }
    }
}

impl<'s, B: PoolBackend> CursorPlace<'s, B> for SlotPlace<'s, B> {
    type Memory = SlotPointer<'s, B>;

    #[inline(always)]
    fn fitting<T>(self, length: usize) -> Option<SlotPointer<'s, B>> {
        const { assert_aligned::<B, T>() };
        // SAFETY: the position is at a slot or a sentinel of a pool that outlives `'s`, as `new`
        // requires.
        let advertised = unsafe { (*self.slot.as_ptr()).advertised };
        if !fits::<T>(padded::<T>(length, B::ALIGN), advertised) {
            return None;
        }
        // SAFETY: the slot is not a sentinel, because nothing fits in the 0 words that a sentinel
        // advertises (invariant 3).
        Some(unsafe { SlotPointer::new(self.slot) })
    }

    #[inline(always)]
    unsafe fn fitting_shape<T: Element>(
        self,
        dims: &[usize],
    ) -> Option<MemoryAndShape<'s, SlotPointer<'s, B>, B>> {
        // If not even zero elements fit in the slot, the cursor is at a sentinel or at a slot with
        // pending work.
        let slot = self.fitting::<T>(0)?;
        // SAFETY: the caller upholds the safety contract of `shape_cache::find`.
        let way = unsafe { shape_cache::find::<B, T>(slot, dims) }?;
        // Every shape in the set fits in the slot's block, because the set is dropped together with
        // the block (invariant 8).
        debug_assert!(self.fitting::<T>(way.count).is_some(), "a cached shape that does not fit");
        shape_cache::note_hit(slot);
        Some((slot, way))
    }

    unsafe fn prepare<T>(
        self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        if let Some(slot) = self.fitting::<T>(length) {
            return Ok(slot);
        }
        // SAFETY: the pool outlives `'s`, as `new` requires, and the caller guarantees that the
        // slot is at the cursor.
        unsafe { cold::prepare::<B, T>(self.slot, length, first_use) }
    }

    #[cold]
    #[inline(never)]
    unsafe fn prepare_shape<T: Element>(
        self,
        dims: &[usize],
        first_use: FirstUse,
    ) -> Result<MemoryAndShape<'s, SlotPointer<'s, B>, B>, PoolError<B::Error>> {
        let length = element_count(dims, size_of::<T>())?;
        if let Some(slot) = self.fitting::<T>(length) {
            // `fitting_shape` has searched this slot's shape set without finding the shape.
            // SAFETY: the slot's block has room for `length` elements, and the caller guarantees
            // that the cursor has not moved past the slot.
            return Ok((slot, unsafe { shape_cache::insert::<B, T>(slot, dims, length) }?));
        }
        // SAFETY: the caller upholds the safety contract of `prepare`.
        let slot = unsafe { self.prepare::<T>(length, first_use) }?;
        // SAFETY: the slot was just reserved for `length` elements, `length` is the product of
        // `dims`, and the cursor has not moved past the slot.
        Ok((slot, unsafe { shape_cache::find_or_insert::<B, T>(slot, dims, length) }?))
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    unsafe fn prepare_shape_or_panic<T: Element>(
        self,
        dims: &[usize],
    ) -> MemoryAndShape<'s, SlotPointer<'s, B>, B> {
        // SAFETY: the caller upholds the safety contract of `prepare_shape`.
        match unsafe { self.prepare_shape::<T>(dims, FirstUse::Read) } {
            Ok(prepared) => prepared,
            Err(error) => panic_with(&error),
        }
    }
}

/// Rejects, at compile time, elements whose alignment exceeds the backend's maximum alignment.
pub(super) const fn assert_aligned<B: PoolBackend, T>() {
    assert!(
        align_of::<T>() <= B::MAX_ALIGN,
        "the alignment of the element exceeds the backend's `MAX_ALIGN`"
    );
}

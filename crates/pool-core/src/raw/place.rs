//! A place: where a cursor stands, by value. It serves acquires of a shape, which decides what happens before a
//! slot is reserved.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cold;
use super::fits::fits;
use super::hand_out::FirstUse;
use super::shape_cache;
use super::shape_set::Way;
use super::slot::SlotPointer;
use super::words::Slot;
use crate::backend::PoolBackend;
use crate::element::Element;
use crate::error::PoolError;

/// Where a cursor stands, by value. Larger functions get a place instead of the cursor, which would have to
/// be in memory for them and not in a register.
pub struct Place<'s, B: PoolBackend> {
    slot: NonNull<Slot<B>>,
    pool: PhantomData<&'s ()>,
}

impl<B: PoolBackend> Clone for Place<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: PoolBackend> Copy for Place<'_, B> {}

impl<B: PoolBackend> fmt::Debug for Place<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.slot).finish()
    }
}

impl<'s, B: PoolBackend> Place<'s, B> {
    /// # Safety
    ///
    /// `slot` is where a cursor of a pool that lives for `'s` stands.
    #[inline(always)]
    pub(super) unsafe fn new(slot: NonNull<Slot<B>>) -> Self {
        Self { slot, pool: PhantomData }
    }

    /// The slot, if `length` elements fit without the cold function.
    #[inline(always)]
    pub(crate) fn fitting<T>(self, length: usize) -> Option<SlotPointer<'s, B>> {
        const { assert_aligned::<B, T>() };
        // SAFETY: a slot or a sentinel of a pool that lives for `'s` (`Cursor::place`).
        let advertised = unsafe { (*self.slot.as_ptr()).advertised };
        if !fits::<T>(length, advertised) {
            return None;
        }
        // SAFETY: what fits advertises words, so it is no sentinel (invariant 3).
        Some(unsafe { SlotPointer::new(self.slot) })
    }

    /// The slot and the shape `dims` of its set, if it is there and its elements fit without the cold
    /// function.
    ///
    /// # Safety
    ///
    /// Nothing borrowed from the slot's set is in use.
    #[inline(always)]
    pub(crate) unsafe fn fitting_shape<T: Element>(
        self,
        dims: &[usize],
    ) -> Option<(SlotPointer<'s, B>, &'s mut Way<B>)> {
        // A slot that not even zero elements fit is a sentinel, or has duties that come first.
        let slot = self.fitting::<T>(0)?;
        // SAFETY: the caller's promise.
        let way = unsafe { shape_cache::find::<B, T>(slot, dims) }?;
        // A set is dropped with its slot's block, so what is in it fits (invariant 8).
        debug_assert!(self.fitting::<T>(way.count).is_some(), "a cached shape that does not fit");
        shape_cache::note_hit(slot);
        Some((slot, way))
    }

    /// The slot for `length` elements that do not fit, or the next table's, by the cold function.
    ///
    /// # Safety
    ///
    /// As for [`prepare`](Self::prepare).
    #[inline(always)]
    pub(crate) unsafe fn prepare_unfit<T>(
        self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        // SAFETY: the cursor's slot (caller), of a pool that lives for `'s` (`new`).
        unsafe { cold::prepare(self.slot, length, size_of::<T>(), first_use) }
    }

    /// As [`prepare_unfit`](Self::prepare_unfit), for elements that may be read.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`prepare_unfit`](Self::prepare_unfit) returns.
    ///
    /// # Safety
    ///
    /// As for [`prepare`](Self::prepare).
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn prepare_unfit_or_panic<T>(self, length: usize) -> SlotPointer<'s, B> {
        // SAFETY: the cursor's slot (caller), of a pool that lives for `'s` (`new`).
        unsafe { cold::prepare_or_panic(self.slot, length, size_of::<T>()) }
    }

    /// The slot for `length` elements, or the next table's, by the cold function where it needs to be.
    ///
    /// # Safety
    ///
    /// The cursor still stands at this place, so that no view of the slot or of one above it is in use.
    pub(crate) unsafe fn prepare<T>(
        self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        if let Some(slot) = self.fitting::<T>(length) {
            return Ok(slot);
        }
        // SAFETY: the caller's promise.
        unsafe { self.prepare_unfit::<T>(length, first_use) }
    }
}

/// Refuses, at compile time, elements that a block may be too little aligned for.
pub(super) const fn assert_aligned<B: PoolBackend, T>() {
    assert!(align_of::<T>() <= B::ALIGN, "the element is aligned above the backend's blocks");
}

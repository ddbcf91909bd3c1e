//! A place: where a cursor stands, by value. It serves acquires of arrays, whose lengths decide what
//! happens before a slot is reserved.

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
use crate::error::{PoolError, panic_with};
use crate::lengths::element_count;

/// A reserved slot and its cached shape: two words, which a cold function returns in registers.
pub(crate) type SlotAndShape<'s, B> = (SlotPointer<'s, B>, &'s mut Way<B>);

/// Where a cursor stands, by value. Larger functions get a place instead of the cursor, which would have to
/// be in memory for them and not in a register.
pub(crate) struct Place<'s, B: PoolBackend> {
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
    ) -> Option<SlotAndShape<'s, B>> {
        // A slot that not even zero elements fit is a sentinel, or has duties that come first.
        let slot = self.fitting::<T>(0)?;
        // SAFETY: the caller's promise.
        let way = unsafe { shape_cache::find::<B, T>(slot, dims) }?;
        // A set is dropped with its slot's block, so what is in it fits (invariant 8).
        debug_assert!(self.fitting::<T>(way.count).is_some(), "a cached shape that does not fit");
        shape_cache::note_hit(slot);
        Some((slot, way))
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
        // SAFETY: the cursor's slot (caller), of a pool that lives for `'s` (`new`).
        unsafe { cold::prepare(self.slot, length, size_of::<T>(), first_use) }
    }

    /// The slot and the shape `dims` of its set, where [`fitting_shape`](Self::fitting_shape) returned `None`: it
    /// refuses lengths, provides a block, and stores a new shape.
    ///
    /// # Safety
    ///
    /// As for [`prepare`](Self::prepare).
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn prepare_shape<T: Element>(
        self,
        dims: &[usize],
        first_use: FirstUse,
    ) -> Result<SlotAndShape<'s, B>, PoolError<B::Error>> {
        let length = element_count(dims, size_of::<T>())?;
        if let Some(slot) = self.fitting::<T>(length) {
            // `fitting_shape` has searched the set of this slot: the shape is not there.
            // SAFETY: the slot's block holds `length` elements, and the cursor has not stepped past it (caller).
            return Ok((slot, unsafe { shape_cache::insert::<B, T>(slot, dims, length) }?));
        }
        // SAFETY: the caller's promise.
        let slot = unsafe { self.prepare::<T>(length, first_use) }?;
        // SAFETY: just reserved for `length` elements, the product of `dims`, and not stepped past.
        Ok((slot, unsafe { shape_cache::find_or_insert::<B, T>(slot, dims, length) }?))
    }

    /// As [`prepare_shape`](Self::prepare_shape), for elements that may be read.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`prepare_shape`](Self::prepare_shape) returns.
    ///
    /// # Safety
    ///
    /// As for [`prepare`](Self::prepare).
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(crate) unsafe fn prepare_shape_or_panic<T: Element>(
        self,
        dims: &[usize],
    ) -> SlotAndShape<'s, B> {
        // SAFETY: the caller's promise.
        match unsafe { self.prepare_shape::<T>(dims, FirstUse::Read) } {
            Ok(prepared) => prepared,
            Err(error) => panic_with(&error),
        }
    }
}

/// Refuses, at compile time, elements that a block may be too little aligned for.
pub(super) const fn assert_aligned<B: PoolBackend, T>() {
    assert!(align_of::<T>() <= B::ALIGN, "the element is aligned above the backend's blocks");
}

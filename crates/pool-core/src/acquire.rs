//! The acquire family for one-dimensional views. Every member reserves a slot, steps the cursor, fills
//! the slot where it has to, and makes the view. What fills it, a backend or a closure, may acquire from
//! the same scope; what runs while a slot is reserved may not (`PoolError::Reentered`). What needs memory that
//! the host can write is in `host`.

use crate::backend::PoolBackend;
use crate::element::{Element, PodElement};
use crate::error::PoolError;
use crate::raw::{Cursor, FirstUse, SlotPointer};
use crate::scope::Scope;
use crate::view::Extent;

/// What a `try_` acquire of a one-dimensional view returns.
pub type AcquireResult<'s, B, T> =
    Result<<B as PoolBackend>::View<'s, T>, PoolError<<B as PoolBackend>::Error>>;

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// `length` elements with unspecified contents: whatever a former use left behind.
    ///
    /// In steady state this is a compare, an address and a step. Zero elements take a slot like any
    /// other acquire, but no memory.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire`](Self::try_acquire) returns.
    #[inline]
    #[track_caller]
    pub fn acquire<T: PodElement>(&self, length: usize) -> B::View<'s, T> {
        // This body is not that of `try_acquire`: a cold function that panics returns a slot and no result, so
        // the hot path has nothing to look at but the slot.
        // SAFETY: the pool lives for `'s`.
        let slot = unsafe { self.cursor.reserve::<T>(length) };
        // SAFETY: just reserved through this cursor.
        unsafe { self.cursor.step(slot) };
        // SAFETY: reserved for `length` elements, stepped past, the first view of it since; a block
        // is initialised, and any bytes are a valid `PodElement`.
        unsafe { slot.view(length) }
    }

    /// As [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// [`PoolError::SizeOverflow`] above `isize::MAX` bytes, [`PoolError::LimitExceeded`] and
    /// [`PoolError::OutOfMemory`] where no block is to be had even with every idle block freed,
    /// [`PoolError::Bookkeeping`] where the host has no memory for another slot table,
    /// [`PoolError::Backend`] where the backend fails to order or fill the block (if it also acquired from
    /// this scope while it filled, the slot stays taken until the scope ends), and
    /// [`PoolError::Reentered`] where an allocator's hook, a `tracing` subscriber or a backend calls while
    /// the pool runs it inside another acquire or a trim.
    #[inline]
    pub fn try_acquire<T: PodElement>(&self, length: usize) -> AcquireResult<'s, B, T> {
        // SAFETY: a block is initialised, and any bytes are a valid `PodElement`.
        unsafe { self.acquire_slice(length, FirstUse::Read, |_| Ok(())) }
    }

    /// `length` elements of zero bytes.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_zeroed`](Self::try_acquire_zeroed) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_zeroed<T: Element>(&self, length: usize) -> B::View<'s, T> {
        self.try_acquire_zeroed(length).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_zeroed`](Self::acquire_zeroed).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_zeroed<T: Element>(&self, length: usize) -> AcquireResult<'s, B, T> {
        // SAFETY: the slot is reserved for `length` elements, and nothing views it (`acquire_slice`).
        let zero = |slot: SlotPointer<'s, B>| unsafe { slot.zero::<T>(length) };
        // SAFETY: all `length` elements are zeroed; zero bytes are a valid `Element`.
        unsafe { self.acquire_slice(length, FirstUse::Write, zero) }
    }

    /// `length` elements that all are `value`.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_filled`](Self::try_acquire_filled) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_filled<T: Element>(&self, length: usize, value: T) -> B::View<'s, T> {
        self.try_acquire_filled(length, value).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_filled`](Self::acquire_filled).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_filled<T: Element>(
        &self,
        length: usize,
        value: T,
    ) -> AcquireResult<'s, B, T> {
        // SAFETY: the slot is reserved for `length` elements, and nothing views it (`acquire_slice`).
        let fill = |slot: SlotPointer<'s, B>| unsafe { slot.fill(value, length) };
        // SAFETY: all `length` elements are written.
        unsafe { self.acquire_slice(length, FirstUse::Write, fill) }
    }

    /// A copy of `source`. The copy has left `source` when this returns.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_from`](Self::try_acquire_from) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_from<T: Element>(&self, source: &[T]) -> B::View<'s, T> {
        self.try_acquire_from(source).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_from`](Self::acquire_from).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_from<T: Element>(&self, source: &[T]) -> AcquireResult<'s, B, T> {
        // SAFETY: the slot is reserved for as many elements, and nothing views it (`acquire_slice`);
        // `source` is a live slice, so it is no part of a block that nothing views.
        let copy = |slot: SlotPointer<'s, B>| unsafe { slot.copy_from_host(source) };
        // SAFETY: all elements are written.
        unsafe { self.acquire_slice(source.len(), FirstUse::Write, copy) }
    }

    /// As many elements as `model` has, of the same or of another type, with unspecified contents.
    ///
    /// # Panics
    ///
    /// As [`acquire`](Self::acquire).
    #[inline]
    #[track_caller]
    pub fn acquire_like<T: PodElement>(&self, model: &(impl Extent + ?Sized)) -> B::View<'s, T> {
        self.acquire(model.extent())
    }

    /// As [`acquire_like`](Self::acquire_like).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_like<T: PodElement>(
        &self,
        model: &(impl Extent + ?Sized),
    ) -> AcquireResult<'s, B, T> {
        self.try_acquire(model.extent())
    }

    /// The body that the family shares: reserves a slot, steps past it, fills it, makes the view.
    ///
    /// # Safety
    ///
    /// `fill` is given a slot that was just taken for `length` elements of `T`, and that nothing views; when
    /// it returns `Ok`, that many elements are valid as `T`, and were written if `first_use` says so.
    #[inline(always)]
    unsafe fn acquire_slice<T: Element>(
        &self,
        length: usize,
        first_use: FirstUse,
        fill: impl FnOnce(SlotPointer<'s, B>) -> Result<(), PoolError<B::Error>>,
    ) -> AcquireResult<'s, B, T> {
        // SAFETY: the pool lives for `'s`.
        let slot = unsafe { self.cursor.try_reserve::<T>(length, first_use) }?;
        // SAFETY: just reserved through this cursor.
        unsafe { self.cursor.step_and_fill(slot, || fill(slot)) }?;
        // SAFETY: reserved for `length` elements, stepped past, the first view of it since, and the
        // elements are valid (caller).
        Ok(unsafe { slot.view(length) })
    }
}

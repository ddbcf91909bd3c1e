//! Implements the acquire methods for every kind of memory. Each acquire method reserves a slot and
//! advances the scope's cursor past it. The method then fills the slot if necessary and builds an
//! array of the requested shape. The backend or closure that fills a slot may itself acquire arrays
//! from the same scope. A nested call fails with `PoolError::Reentered` if it runs after a slot is
//! reserved but before the cursor advances. The methods that require host-writable memory are in
//! the `host` module.

use crate::backend::{ArrayMemory, FirstUse, Memory, PoolBackend, ScopeCursor};
use crate::element::{Element, PodElement};
use crate::engine::FromParts;
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;
use crate::shape::Shape;

/// An array of shape `S` that is valid for the lifetime `'s`.
pub type NdArray<'s, B, T, S> = <S as Shape>::Array<'s, <B as PoolBackend>::View<'s, T>>;

/// The result of a fallible acquire method. By default, the shape `S` is a length.
pub type AcquireResult<'s, B, T, S = usize> =
    Result<NdArray<'s, B, T, S>, PoolError<<B as PoolBackend>::Error>>;

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// Acquires an array whose contents are unspecified and might be left over from an earlier use
    /// of the memory.
    ///
    /// The shape is either a length (`usize`) or a list of axis lengths (`[usize; N]` or a tuple).
    /// If the rank is known only at run time, the shape is a `&[usize]`. The [`Shape`] trait's
    /// documentation lists the array type and cost of each kind of shape. The elements are stored
    /// in row-major order. An empty array occupies a slot, like any other array, but uses no
    /// memory.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let vector = scope.acquire::<f64, _>(3); // a slice
    /// vector.fill(5.0);
    /// let mut matrix = scope.acquire::<f64, _>([2, 3]);
    /// matrix.as_mut_slice().fill(0.0);
    /// matrix[[1, 2]] = vector[2];
    /// let (top, bottom) = matrix.split_at(1);
    /// assert_eq!((top.shape(), bottom[[0, 2]]), (&[1, 3][..], 5.0));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire`](Self::try_acquire) would return.
    #[inline]
    #[track_caller]
    pub fn acquire<T: PodElement, S: Shape>(&self, shape: S) -> NdArray<'s, B, T, S> {
        self.cursor.note_caller();
        // Unlike `try_acquire`, this method calls a cold function that panics if an error occurs.
        // The cold function returns a slot instead of a `Result`, so the hot path has to check only
        // the slot.
        // SAFETY: the pool outlives `'s`. The slot at the cursor has not been handed out, so no
        // reference to its cached shapes exists.
        let (slot, length, kept) = unsafe { shape.reserve::<B, T>(&self.cursor) };
        // SAFETY: the slot was just reserved through this cursor. No array has been acquired since
        // the reservation, because acquire methods fail with `PoolError::Reentered` while a slot is
        // reserved.
        unsafe { self.cursor.step(slot) };
        // SAFETY: the slot was reserved for `length` elements, the cursor has moved past it, and no
        // other view of it exists. Blocks are always initialized, and every byte pattern is a valid
        // value of a `PodElement` type.
        let view: B::View<'s, T> = unsafe { slot.view(length) };
        // SAFETY: `kept` and `slot` come from the same reservation.
        unsafe { FromParts::from_parts(view, kept) }
    }

    /// The fallible version of [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// - [`PoolError::Shape`] is returned if the product of the axis lengths overflows.
    ///   [`PoolError::SizeOverflow`] is returned if the array is larger than `isize::MAX` bytes.
    /// - [`PoolError::LimitExceeded`] or [`PoolError::OutOfMemory`] is returned if no block can be
    ///   allocated, even after every idle block has been freed.
    /// - [`PoolError::Bookkeeping`] is returned if the host cannot allocate memory for a new slot
    ///   table or a new shape.
    /// - [`PoolError::Backend`] is returned if the backend cannot fill the block or cannot make its
    ///   queue wait for pending work on other queues. If the backend acquired an array from the
    ///   same scope before it failed, the slot stays in use until the scope ends.
    /// - [`PoolError::Reentered`] is returned if another acquire method or a trim of the same pool
    ///   is running when this method is called. A nested call can come from an allocator hook, a
    ///   `tracing` subscriber, or a backend.
    #[inline]
    pub fn try_acquire<T: PodElement, S: Shape>(&self, shape: S) -> AcquireResult<'s, B, T, S> {
        // SAFETY: blocks are always initialized, and every byte pattern is a valid value of a
        // `PodElement` type.
        unsafe { self.acquire_array(shape, FirstUse::Read, |_, _| Ok(())) }
    }

    /// Acquires an array filled with zero bytes.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_zeroed`](Self::try_acquire_zeroed) would return.
    #[inline]
    #[track_caller]
    pub fn acquire_zeroed<T: Element, S: Shape>(&self, shape: S) -> NdArray<'s, B, T, S> {
        self.cursor.note_caller();
        self.try_acquire_zeroed(shape).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_zeroed`](Self::acquire_zeroed).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_zeroed<T: Element, S: Shape>(&self, shape: S) -> AcquireResult<'s, B, T, S> {
        // SAFETY: `acquire_array` reserved the slot for `length` elements, and no view of the slot
        // exists.
        let zero = |slot: Memory<'s, B>, length| unsafe { slot.zero::<T>(length) };
        // SAFETY: all `length` elements are zeroed, and all-zero bytes are a valid value of every
        // `Element` type.
        unsafe { self.acquire_array(shape, FirstUse::Write, zero) }
    }

    /// Acquires an array whose elements are all equal to `value`.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_filled`](Self::try_acquire_filled) would return.
    #[inline]
    #[track_caller]
    pub fn acquire_filled<T: Element, S: Shape>(&self, shape: S, value: T) -> NdArray<'s, B, T, S> {
        self.cursor.note_caller();
        self.try_acquire_filled(shape, value).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_filled`](Self::acquire_filled).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_filled<T: Element, S: Shape>(
        &self,
        shape: S,
        value: T,
    ) -> AcquireResult<'s, B, T, S> {
        // SAFETY: `acquire_array` reserved the slot for `length` elements, and no view of the slot
        // exists.
        let fill = |slot: Memory<'s, B>, length| unsafe { slot.fill(value, length) };
        // SAFETY: `fill` writes all `length` elements.
        unsafe { self.acquire_array(shape, FirstUse::Write, fill) }
    }

    /// Acquires a copy of `source` and returns it as a one-dimensional view. To give the array more
    /// axes, call [`reshape`](crate::PoolView::reshape) on the returned view. The caller may reuse
    /// `source` as soon as this method returns.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_from`](Self::try_acquire_from) would return.
    #[inline]
    #[track_caller]
    pub fn acquire_from<T: Element>(&self, source: &[T]) -> B::View<'s, T> {
        self.cursor.note_caller();
        self.try_acquire_from(source).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_from`](Self::acquire_from).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_from<T: Element>(&self, source: &[T]) -> AcquireResult<'s, B, T> {
        // SAFETY: `acquire_array` reserved the slot for `source.len()` elements, and no view of the
        // slot exists. `source` is a live slice, and this block has no views, so the two cannot
        // overlap.
        let copy = |slot: Memory<'s, B>, _| unsafe { slot.copy_from_host(source) };
        // SAFETY: `copy` writes all `source.len()` elements.
        unsafe { self.acquire_array(source.len(), FirstUse::Write, copy) }
    }

    /// Implements every fallible acquire method by reserving a slot, advancing the cursor, calling
    /// `fill`, and building the array.
    ///
    /// # Safety
    ///
    /// `fill` receives the number of elements and a newly acquired slot that has no views. When
    /// `fill` returns `Ok`, all elements of the array must be valid values of `T`. If `first_use`
    /// is `Write`, `fill` must write all elements before it returns `Ok`.
    #[inline(always)]
    unsafe fn acquire_array<T: Element, S: Shape>(
        &self,
        shape: S,
        first_use: FirstUse,
        fill: impl FnOnce(Memory<'s, B>, usize) -> Result<(), PoolError<B::Error>>,
    ) -> AcquireResult<'s, B, T, S> {
        // SAFETY: the pool outlives `'s`. The slot at the cursor has not been handed out, so no
        // reference to its cached shapes exists.
        let (slot, length, kept) = unsafe { shape.try_reserve::<B, T>(&self.cursor, first_use) }?;
        // SAFETY: the slot was just reserved through this cursor. No array has been acquired since
        // the reservation, because acquire methods fail with `PoolError::Reentered` while a slot is
        // reserved.
        unsafe { self.cursor.step_and_fill(slot, || fill(slot, length)) }?;
        // SAFETY: the slot was reserved for `length` elements, the cursor has moved past it, and no
        // other view of it exists. The caller guarantees that all elements are valid after `fill`
        // returns `Ok`.
        let view: B::View<'s, T> = unsafe { slot.view(length) };
        // SAFETY: `kept` and `slot` come from the same reservation.
        Ok(unsafe { FromParts::from_parts(view, kept) })
    }
}

//! The acquire methods for every kind of memory. Each method reserves a slot, steps the cursor,
//! fills the slot if needed, and builds an array of the requested shape. The backend or closure
//! that fills the slot may acquire from the same scope. Code that runs between the reservation and
//! the step may not acquire (`PoolError::Reentered`). Methods that need host-writable memory are in
//! `host`.

use crate::backend::{ArrayMemory, FirstUse, Memory, PoolBackend, ScopeCursor};
use crate::element::{Element, PodElement};
use crate::engine::FromParts;
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;
use crate::shape::Shape;

/// An array of shape `S` that lives for `'s`.
pub type NdArray<'s, B, T, S> = <S as Shape>::Array<'s, <B as PoolBackend>::View<'s, T>>;

/// The result of a `try_` acquire; the default shape `S` is a length.
pub type AcquireResult<'s, B, T, S = usize> =
    Result<NdArray<'s, B, T, S>, PoolError<<B as PoolBackend>::Error>>;

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// Acquires an array with unspecified contents, such as the contents of an earlier use.
    ///
    /// The shape is a length (`usize`), a list of axis lengths (`[usize; N]` or a tuple), or
    /// `&[usize]` for a rank known at run time. [`Shape`] lists the array type and the cost of each
    /// shape. Elements are in row-major order. An array without elements uses a slot like any other
    /// array, but no memory.
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
    /// Panics with the error that [`try_acquire`](Self::try_acquire) returns.
    #[inline]
    #[track_caller]
    pub fn acquire<T: PodElement, S: Shape>(&self, shape: S) -> NdArray<'s, B, T, S> {
        self.cursor.note_caller();
        // The body differs from the body of `try_acquire`: a cold function that panics returns a
        // slot and no `Result`, so the hot path only checks the slot.
        // SAFETY: the pool lives for `'s`. The slot is at the cursor, so nothing borrowed from its
        // shape set is in use.
        let (slot, length, kept) = unsafe { shape.reserve::<B, T>(&self.cursor) };
        // SAFETY: the slot was just reserved through this cursor. Code that ran in between could
        // not acquire (invariant 9).
        unsafe { self.cursor.step(slot) };
        // SAFETY: the slot was reserved for `length` elements and stepped past, and this is its
        // first view since. A block is initialised, and any bytes are a valid `PodElement`.
        let view: B::View<'s, T> = unsafe { slot.view(length) };
        // SAFETY: this acquire returned `kept` together with the slot.
        unsafe { FromParts::from_parts(view, kept) }
    }

    /// Fallible version of [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// - [`PoolError::Shape`] if the product of the axis lengths overflows, and
    ///   [`PoolError::SizeOverflow`] if the array is larger than `isize::MAX` bytes.
    /// - [`PoolError::LimitExceeded`] or [`PoolError::OutOfMemory`] if no block can be allocated,
    ///   even after every idle block has been freed.
    /// - [`PoolError::Bookkeeping`] if the host has no memory for another slot table or a new
    ///   shape.
    /// - [`PoolError::Backend`] if the backend fails to order or fill the block. If the backend
    ///   also acquired from this scope during the call, the slot stays taken until the scope ends.
    /// - [`PoolError::Reentered`] if the call comes from an allocator's hook, a `tracing`
    ///   subscriber or a backend that the pool runs inside another acquire or a trim.
    #[inline]
    pub fn try_acquire<T: PodElement, S: Shape>(&self, shape: S) -> AcquireResult<'s, B, T, S> {
        // SAFETY: a block is initialised, and any bytes are a valid `PodElement`.
        unsafe { self.acquire_array(shape, FirstUse::Read, |_, _| Ok(())) }
    }

    /// Acquires an array whose bytes are all zero.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_zeroed`](Self::try_acquire_zeroed) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_zeroed<T: Element, S: Shape>(&self, shape: S) -> NdArray<'s, B, T, S> {
        self.cursor.note_caller();
        self.try_acquire_zeroed(shape).unwrap_or_else(|error| panic_with(&error))
    }

    /// Fallible version of [`acquire_zeroed`](Self::acquire_zeroed).
    ///
    /// # Errors
    ///
    /// Same as [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_zeroed<T: Element, S: Shape>(&self, shape: S) -> AcquireResult<'s, B, T, S> {
        // SAFETY: the slot is reserved for `length` elements, and nothing views it
        // (`acquire_array`).
        let zero = |slot: Memory<'s, B>, length| unsafe { slot.zero::<T>(length) };
        // SAFETY: all `length` elements are zeroed; zero bytes are a valid `Element`.
        unsafe { self.acquire_array(shape, FirstUse::Write, zero) }
    }

    /// Acquires an array whose elements are all equal to `value`.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_filled`](Self::try_acquire_filled) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_filled<T: Element, S: Shape>(&self, shape: S, value: T) -> NdArray<'s, B, T, S> {
        self.cursor.note_caller();
        self.try_acquire_filled(shape, value).unwrap_or_else(|error| panic_with(&error))
    }

    /// Fallible version of [`acquire_filled`](Self::acquire_filled).
    ///
    /// # Errors
    ///
    /// Same as [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_filled<T: Element, S: Shape>(
        &self,
        shape: S,
        value: T,
    ) -> AcquireResult<'s, B, T, S> {
        // SAFETY: the slot is reserved for `length` elements, and nothing views it
        // (`acquire_array`).
        let fill = |slot: Memory<'s, B>, length| unsafe { slot.fill(value, length) };
        // SAFETY: all `length` elements are written.
        unsafe { self.acquire_array(shape, FirstUse::Write, fill) }
    }

    /// Acquires a copy of `source`, as a one-dimensional view. Use
    /// [`reshape`](crate::PoolView::reshape) for more axes. `source` may be reused as soon as this
    /// method returns.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_from`](Self::try_acquire_from) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_from<T: Element>(&self, source: &[T]) -> B::View<'s, T> {
        self.cursor.note_caller();
        self.try_acquire_from(source).unwrap_or_else(|error| panic_with(&error))
    }

    /// Fallible version of [`acquire_from`](Self::acquire_from).
    ///
    /// # Errors
    ///
    /// Same as [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_from<T: Element>(&self, source: &[T]) -> AcquireResult<'s, B, T> {
        // SAFETY: the slot is reserved for `source.len()` elements, and nothing views it
        // (`acquire_array`). `source` is a live slice, so it cannot be part of a block without
        // views.
        let copy = |slot: Memory<'s, B>, _| unsafe { slot.copy_from_host(source) };
        // SAFETY: all elements are written.
        unsafe { self.acquire_array(source.len(), FirstUse::Write, copy) }
    }

    /// The shared body of the acquire methods: reserves a slot, steps past it, fills it, and builds
    /// the array.
    ///
    /// # Safety
    ///
    /// `fill` receives a slot that was just taken and has no view, and the number of elements. When
    /// `fill` returns `Ok`, all of these elements are valid as `T`. If `first_use` is `Write`, all
    /// of them have been written.
    #[inline(always)]
    unsafe fn acquire_array<T: Element, S: Shape>(
        &self,
        shape: S,
        first_use: FirstUse,
        fill: impl FnOnce(Memory<'s, B>, usize) -> Result<(), PoolError<B::Error>>,
    ) -> AcquireResult<'s, B, T, S> {
        // SAFETY: the pool lives for `'s`. The slot is at the cursor, so nothing borrowed from its
        // shape set is in use.
        let (slot, length, kept) = unsafe { shape.try_reserve::<B, T>(&self.cursor, first_use) }?;
        // SAFETY: the slot was just reserved through this cursor. Code that ran in between could
        // not acquire (invariant 9).
        unsafe { self.cursor.step_and_fill(slot, || fill(slot, length)) }?;
        // SAFETY: the slot was reserved for `length` elements and stepped past, this is its first
        // view since, and the elements are valid (caller).
        let view: B::View<'s, T> = unsafe { slot.view(length) };
        // SAFETY: this acquire returned `kept` together with the slot.
        Ok(unsafe { FromParts::from_parts(view, kept) })
    }
}

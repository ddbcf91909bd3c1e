//! The acquire family for arrays of any rank: the one-dimensional family with a shape. Fixed ranks
//! cost a checked product; a dynamic rank is looked up in the slot's shape set.

use crate::backend::PoolBackend;
use crate::element::{Element, PodElement};
use crate::error::{PoolError, ShapeError};
use crate::lengths::element_count;
use crate::nd_view::NdView;
use crate::raw::{Cursor, FirstUse, Place, SlotPointer};
use crate::scope::Scope;
use crate::shape::{ArraySlot, Dims, Shape};
use crate::view::PoolView;

/// An array of shape `S` that lives for `'s`.
pub type NdArray<'s, B, T, S> =
    NdView<<B as PoolBackend>::View<'s, T>, <<S as Shape>::Dims as Dims>::Stored<'s>>;

/// What a `try_` acquire of an array returns.
pub type NdAcquireResult<'s, B, T, S> =
    Result<NdArray<'s, B, T, S>, PoolError<<B as PoolBackend>::Error>>;

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// An array with unspecified contents, in row-major order.
    ///
    /// The shape is `[usize; N]` or a tuple for a rank from 1 to 6, which costs nothing beside the
    /// checked product, or `&[usize]` for a rank known at run time, which is served by the shape
    /// cache without an allocation when the slot has seen the shape before.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let mut matrix = scope.acquire_nd::<f64, _>([2, 3]);
    /// matrix.as_mut_slice().fill(0.0);
    /// matrix[[1, 2]] = 5.0;
    /// let (top, bottom) = matrix.split_at(1);
    /// assert_eq!((top.shape(), bottom[[0, 2]]), (&[1, 3][..], 5.0));
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_nd`](Self::try_acquire_nd) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_nd<T: PodElement, S: Shape>(&self, shape: S) -> NdArray<'s, B, T, S> {
        let dims = shape.into_dims();
        // SAFETY: the pool lives for `'s`, and what follows steps past the slot of this place at most.
        let place: Place<'s, B> = unsafe { self.cursor.place() };
        // SAFETY: the slot is at the cursor, so nothing borrowed from its set is in use.
        let (slot, length, stored) = match unsafe { dims.fitting::<B, T>(place) } {
            Some(fitting) => fitting,
            // SAFETY: the cursor is still where the place was taken.
            None => unsafe { dims.prepare_or_panic::<B, T>(place) },
        };
        // SAFETY: just reserved through this cursor; what ran meanwhile could not acquire (invariant 9).
        unsafe { self.cursor.step(slot) };
        // SAFETY: reserved for `length` elements, stepped past, the first view of it since; a block
        // is initialised, and any bytes are a valid `PodElement`.
        let view = unsafe { slot.view(length) };
        // SAFETY: the product of the dims is `length`.
        unsafe { NdView::new_unchecked(view, stored) }
    }

    /// As [`acquire_nd`](Self::acquire_nd).
    ///
    /// # Errors
    ///
    /// [`PoolError::Shape`] where the product of the axes overflows, [`PoolError::Bookkeeping`] where
    /// the host has no memory for a new shape, and all of [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_nd<T: PodElement, S: Shape>(
        &self,
        shape: S,
    ) -> NdAcquireResult<'s, B, T, S> {
        // SAFETY: a block is initialised, and any bytes are a valid `PodElement`.
        unsafe { self.acquire_array(shape, FirstUse::Read, |_, _| Ok(())) }
    }

    /// An array of zero bytes.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_nd_zeroed`](Self::try_acquire_nd_zeroed) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_nd_zeroed<T: Element, S: Shape>(&self, shape: S) -> NdArray<'s, B, T, S> {
        self.try_acquire_nd_zeroed(shape).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_nd_zeroed`](Self::acquire_nd_zeroed).
    ///
    /// # Errors
    ///
    /// As [`try_acquire_nd`](Self::try_acquire_nd).
    #[inline]
    pub fn try_acquire_nd_zeroed<T: Element, S: Shape>(
        &self,
        shape: S,
    ) -> NdAcquireResult<'s, B, T, S> {
        // SAFETY: the slot is reserved for `length` elements, and nothing views it.
        let zero = |slot: SlotPointer<'s, B>, length| unsafe { slot.zero::<T>(length) };
        // SAFETY: all `length` elements are zeroed; zero bytes are a valid `Element`.
        unsafe { self.acquire_array(shape, FirstUse::Write, zero) }
    }

    /// An array whose elements all are `value`.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_nd_filled`](Self::try_acquire_nd_filled) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_nd_filled<T: Element, S: Shape>(
        &self,
        shape: S,
        value: T,
    ) -> NdArray<'s, B, T, S> {
        self.try_acquire_nd_filled(shape, value).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_nd_filled`](Self::acquire_nd_filled).
    ///
    /// # Errors
    ///
    /// As [`try_acquire_nd`](Self::try_acquire_nd).
    #[inline]
    pub fn try_acquire_nd_filled<T: Element, S: Shape>(
        &self,
        shape: S,
        value: T,
    ) -> NdAcquireResult<'s, B, T, S> {
        // SAFETY: the slot is reserved for `length` elements, and nothing views it.
        let fill = |slot: SlotPointer<'s, B>, length| unsafe { slot.fill(value, length) };
        // SAFETY: all `length` elements are written.
        unsafe { self.acquire_array(shape, FirstUse::Write, fill) }
    }

    /// An array with a copy of `source`, in row-major order.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_nd_from`](Self::try_acquire_nd_from) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_nd_from<T: Element, S: Shape>(
        &self,
        shape: S,
        source: &[T],
    ) -> NdArray<'s, B, T, S> {
        self.try_acquire_nd_from(shape, source).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_nd_from`](Self::acquire_nd_from).
    ///
    /// # Errors
    ///
    /// [`ShapeError::LengthMismatch`] where `source` does not have as many elements as the shape, and
    /// all of [`try_acquire_nd`](Self::try_acquire_nd).
    #[inline]
    pub fn try_acquire_nd_from<T: Element, S: Shape>(
        &self,
        shape: S,
        source: &[T],
    ) -> NdAcquireResult<'s, B, T, S> {
        let copy = |slot: SlotPointer<'s, B>, length| {
            if source.len() != length {
                let error = ShapeError::LengthMismatch { asked: length, length: source.len() };
                return Err(error.into());
            }
            // SAFETY: reserved for `length` elements, and nothing views it (`acquire_array`).
            unsafe { slot.copy_from_host(source) }
        };
        // SAFETY: all `length` elements are written, or there is an error.
        unsafe { self.acquire_array(shape, FirstUse::Write, copy) }
    }

    /// An array of the shape of `model`, of the same or of another element type, with unspecified
    /// contents. For a model of dynamic rank give its shape: `acquire_nd(model.shape())`.
    ///
    /// # Panics
    ///
    /// As [`acquire_nd`](Self::acquire_nd).
    #[inline]
    #[track_caller]
    pub fn acquire_nd_like<T: PodElement, V: PoolView, const N: usize>(
        &self,
        model: &NdView<V, [usize; N]>,
    ) -> NdArray<'s, B, T, [usize; N]>
    where
        [usize; N]: Shape,
    {
        self.acquire_nd(model.dims())
    }

    /// As [`acquire_nd_like`](Self::acquire_nd_like).
    ///
    /// # Errors
    ///
    /// As [`try_acquire_nd`](Self::try_acquire_nd).
    #[inline]
    pub fn try_acquire_nd_like<T: PodElement, V: PoolView, const N: usize>(
        &self,
        model: &NdView<V, [usize; N]>,
    ) -> NdAcquireResult<'s, B, T, [usize; N]>
    where
        [usize; N]: Shape,
    {
        self.try_acquire_nd(model.dims())
    }

    /// The body that the family shares: asks the shape once, reserves, steps, fills, makes the view.
    ///
    /// # Safety
    ///
    /// `fill` is given a slot that was just taken and that nothing views, and the number of elements; when
    /// it returns `Ok`, that many elements are valid as `T`, and were written if `first_use` says so.
    #[inline]
    unsafe fn acquire_array<T: Element, S: Shape>(
        &self,
        shape: S,
        first_use: FirstUse,
        fill: impl FnOnce(SlotPointer<'s, B>, usize) -> Result<(), PoolError<B::Error>>,
    ) -> NdAcquireResult<'s, B, T, S> {
        let dims = shape.into_dims();
        // SAFETY: the pool lives for `'s`, and what follows steps past the slot of this place at most.
        let place: Place<'s, B> = unsafe { self.cursor.place() };
        // SAFETY: the slot is at the cursor, so nothing borrowed from its set is in use.
        let (slot, length, stored) = match unsafe { dims.fitting::<B, T>(place) } {
            Some(fitting) => fitting,
            // SAFETY: the cursor is still where the place was taken.
            None => unsafe { prepare::<B, T, S::Dims>(place, dims, first_use) }?,
        };
        // SAFETY: just reserved through this cursor; what ran meanwhile could not acquire (invariant 9).
        unsafe { self.cursor.step_and_fill(slot, || fill(slot, length)) }?;
        // SAFETY: reserved for `length` elements, stepped past, the first view of it since, and the
        // elements are valid (caller).
        let view = unsafe { slot.view(length) };
        // SAFETY: the product of the dims is `length`.
        Ok(unsafe { NdView::new_unchecked(view, stored) })
    }
}

/// Everything rare about an array: lengths to be refused, an empty one, a block to be grown, a shape
/// that was not there.
///
/// # Safety
///
/// The cursor still stands at `place`.
#[cold]
#[inline(never)]
unsafe fn prepare<'s, B: PoolBackend, T: Element, D: Dims>(
    place: Place<'s, B>,
    dims: D,
    first_use: FirstUse,
) -> Result<ArraySlot<'s, B, D>, PoolError<B::Error>> {
    let length = element_count(dims.as_slice(), size_of::<T>())?;
    // SAFETY: the caller's promise.
    let slot = unsafe { place.prepare::<T>(length, first_use) }?;
    // SAFETY: just reserved for `length` elements, and not stepped past.
    Ok((slot, length, unsafe { dims.store::<B, T>(slot, length) }?))
}

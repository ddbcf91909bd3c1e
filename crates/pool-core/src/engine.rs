//! Reserves the slot for an array. Each kind of shape has its own implementation. If the shape is a
//! length, reserving a slot takes one comparison. A fixed rank additionally requires a checked
//! multiplication of the axis lengths. For a dynamic rank, the reservation searches the slot's
//! shape set. The traits in this module seal the [`Shape`](crate::Shape) trait.

use core::fmt;

use crate::backend::{Cursor, CursorPlace, FirstUse, Memory, Place, PoolBackend, ScopeCursor};
use crate::element::Element;
use crate::error::{PoolError, ShapeError, panic_with};
use crate::lengths::{DynamicShape, element_count};
use crate::nd_view::NdView;

/// A reserved slot, the number of elements in the array, and the part of the shape that the array
/// stores.
pub(crate) type ShapedSlot<'s, B, S> = (Memory<'s, B>, usize, <S as Engine>::Kept<'s>);

/// A shape for which an acquire method can reserve a slot.
pub trait Engine: Copy {
    /// The part of the shape that an array stores. This type is `()` for a length, an array of axis
    /// lengths for a fixed rank, or a `DynamicShape` for a dynamic rank.
    type Kept<'s>: Copy + fmt::Debug;

    /// Reserves the slot for an array without moving the cursor. The array's elements might be read
    /// before they are written. This method does not return a `Result`, so the hot path has to
    /// check only the slot.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_reserve`](Self::try_reserve) would return.
    ///
    /// # Safety
    ///
    /// The pool must outlive `'s`, and no reference into the shape set of the cursor's slot may be
    /// in use.
    #[track_caller]
    unsafe fn reserve<'s, B: PoolBackend, T: Element>(
        self,
        cursor: &Cursor<B>,
    ) -> ShapedSlot<'s, B, Self>;

    /// Reserves the slot for an array without moving the cursor.
    ///
    /// # Errors
    ///
    /// Returns an error if the product of the axis lengths overflows or if an allocation fails.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`reserve`](Self::reserve) apply.
    unsafe fn try_reserve<'s, B: PoolBackend, T: Element>(
        self,
        cursor: &Cursor<B>,
        first_use: FirstUse,
    ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>>;
}

/// An [`Engine`] for shapes whose rank is known at compile time.
pub trait FixedEngine: Engine {
    /// The type of an element's index.
    type Position;

    /// Returns the number of elements of type `T` in an array of this shape.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeError::Overflow`] if the product of the axis lengths overflows.
    fn count<T>(self) -> Result<usize, ShapeError>;

    /// Returns the part of the shape that an array stores.
    fn kept<'s>(self) -> Self::Kept<'s>;

    /// Converts a function of an element's index into a function of the element's row-major
    /// position. The returned function must be called for each element in row-major order.
    fn in_order<T>(self, element: impl FnMut(Self::Position) -> T) -> impl FnMut(usize) -> T;
}

/// An array that can be built from a view and the stored part of its shape.
pub trait FromParts<V, K> {
    /// Builds the array from a view and a shape.
    ///
    /// # Safety
    ///
    /// `kept` and `view` must come from the same call to an acquire method. The view's length then
    /// equals the product of the axis lengths in `kept`.
    unsafe fn from_parts(view: V, kept: K) -> Self;
}

impl<V> FromParts<V, ()> for V {
    #[inline(always)]
    unsafe fn from_parts(view: V, (): ()) -> V {
        view
    }
}

impl<V, D> FromParts<V, D> for NdView<V, D> {
    #[inline(always)]
    unsafe fn from_parts(view: V, dims: D) -> Self {
        // SAFETY: the caller guarantees that the product of the axis lengths equals the number of
        // acquired elements.
        unsafe { Self::new_unchecked(view, dims) }
    }
}

impl Engine for usize {
    type Kept<'s> = ();

    #[inline(always)]
    #[track_caller]
    unsafe fn reserve<'s, B: PoolBackend, T: Element>(
        self,
        cursor: &Cursor<B>,
    ) -> ShapedSlot<'s, B, Self> {
        // SAFETY: the caller upholds the contract of `Engine::reserve`, which requires the pool to
        // outlive `'s`.
        (unsafe { cursor.reserve::<T>(self) }, self, ())
    }

    #[inline(always)]
    unsafe fn try_reserve<'s, B: PoolBackend, T: Element>(
        self,
        cursor: &Cursor<B>,
        first_use: FirstUse,
    ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>> {
        // SAFETY: the caller upholds the contract of `Engine::try_reserve`, which requires the pool
        // to outlive `'s`.
        Ok((unsafe { cursor.try_reserve::<T>(self, first_use) }?, self, ()))
    }
}

impl FixedEngine for usize {
    type Position = usize;

    #[inline(always)]
    fn count<T>(self) -> Result<usize, ShapeError> {
        Ok(self)
    }

    #[inline(always)]
    fn kept<'s>(self) -> Self::Kept<'s> {}

    #[inline(always)]
    fn in_order<T>(self, element: impl FnMut(usize) -> T) -> impl FnMut(usize) -> T {
        element
    }
}

macro_rules! fixed_ranks {
    ($($rank:literal: ($($axis:ident),+) = ($($length:ty),+);)+) => {$(
        impl Engine for [usize; $rank] {
            type Kept<'s> = Self;

            #[inline(always)]
            #[track_caller]
            unsafe fn reserve<'s, B: PoolBackend, T: Element>(
                self,
                cursor: &Cursor<B>,
            ) -> ShapedSlot<'s, B, Self> {
                /// Reserves a slot for an array of this rank by calling the cold function. The
                /// lengths are passed as separate arguments, because passing an array would make
                /// the hot path write it to memory on every call.
                ///
                /// # Safety
                ///
                /// The cursor must still be at `place`.
                #[cold]
                #[inline(never)]
                #[track_caller]
                unsafe fn prepare<'s, B: PoolBackend, T: Element>(
                    place: Place<'s, B>,
                    $($axis: usize),+
                ) -> (Memory<'s, B>, usize) {
                    // SAFETY: the caller guarantees that the cursor is still at `place`.
                    match unsafe { prepare_slot::<B, T>(place, &[$($axis),+], FirstUse::Read) } {
                        Ok(prepared) => prepared,
                        Err(error) => panic_with(&error),
                    }
                }
                // SAFETY: this method does not move the cursor, and the caller guarantees that the
                // pool outlives `'s`.
                let place = unsafe { cursor.place() };
                let (slot, count) = match fitting::<B, T>(place, &self) {
                    Some(fitting) => fitting,
                    None => {
                        let [$($axis),+] = self;
                        // SAFETY: the cursor has not moved since its position was read.
                        unsafe { prepare::<B, T>(place, $($axis),+) }
                    }
                };
                (slot, count, self)
            }

            #[inline(always)]
            unsafe fn try_reserve<'s, B: PoolBackend, T: Element>(
                self,
                cursor: &Cursor<B>,
                first_use: FirstUse,
            ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>> {
                // SAFETY: this method does not move the cursor, and the caller guarantees that the
                // pool outlives `'s`.
                let place = unsafe { cursor.place() };
                let (slot, count) = match fitting::<B, T>(place, &self) {
                    Some(fitting) => fitting,
                    // SAFETY: the cursor has not moved since its position was read.
                    None => unsafe { prepare_slot::<B, T>(place, &self, first_use) }?,
                };
                Ok((slot, count, self))
            }
        }

        impl FixedEngine for [usize; $rank] {
            type Position = Self;

            #[inline]
            fn count<T>(self) -> Result<usize, ShapeError> {
                element_count(&self, size_of::<T>())
            }

            #[inline(always)]
            fn kept<'s>(self) -> Self::Kept<'s> {
                self
            }

            #[inline]
            fn in_order<T>(
                self,
                mut element: impl FnMut(Self) -> T,
            ) -> impl FnMut(usize) -> T {
                let mut index = [0; $rank];
                move |_| {
                    let value = element(index);
                    advance(&mut index, &self);
                    value
                }
            }
        }

        impl Engine for ($($length,)+) {
            type Kept<'s> = [usize; $rank];

            #[inline(always)]
            #[track_caller]
            unsafe fn reserve<'s, B: PoolBackend, T: Element>(
                self,
                cursor: &Cursor<B>,
            ) -> ShapedSlot<'s, B, Self> {
                // SAFETY: the caller upholds the contract of `Engine::reserve`, which is the same
                // for arrays and tuples.
                unsafe { <[usize; $rank]>::from(self).reserve::<B, T>(cursor) }
            }

            #[inline(always)]
            unsafe fn try_reserve<'s, B: PoolBackend, T: Element>(
                self,
                cursor: &Cursor<B>,
                first_use: FirstUse,
            ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>> {
                // SAFETY: the caller upholds the contract of `Engine::try_reserve`, which is the
                // same for arrays and tuples.
                unsafe { <[usize; $rank]>::from(self).try_reserve::<B, T>(cursor, first_use) }
            }
        }

        impl FixedEngine for ($($length,)+) {
            type Position = [usize; $rank];

            #[inline]
            fn count<T>(self) -> Result<usize, ShapeError> {
                <[usize; $rank]>::from(self).count::<T>()
            }

            #[inline(always)]
            fn kept<'s>(self) -> Self::Kept<'s> {
                self.into()
            }

            #[inline]
            fn in_order<T>(
                self,
                element: impl FnMut([usize; $rank]) -> T,
            ) -> impl FnMut(usize) -> T {
                <[usize; $rank]>::from(self).in_order(element)
            }
        }
    )+};
}

fixed_ranks! {
    1: (a) = (usize);
    2: (a, b) = (usize, usize);
    3: (a, b, c) = (usize, usize, usize);
    4: (a, b, c, d) = (usize, usize, usize, usize);
    5: (a, b, c, d, e) = (usize, usize, usize, usize, usize);
    6: (a, b, c, d, e, f) = (usize, usize, usize, usize, usize, usize);
}

impl Engine for &[usize] {
    type Kept<'s> = DynamicShape<'s>;

    #[inline]
    #[track_caller]
    unsafe fn reserve<'s, B: PoolBackend, T: Element>(
        self,
        cursor: &Cursor<B>,
    ) -> ShapedSlot<'s, B, Self> {
        // SAFETY: this method does not move the cursor, and the caller guarantees that the pool
        // outlives `'s`.
        let place: Place<'s, B> = unsafe { cursor.place() };
        // SAFETY: the caller guarantees that no reference into the shape set is in use.
        let (slot, way) = match unsafe { place.fitting_shape::<T>(self) } {
            Some(fitting) => fitting,
            // SAFETY: the cursor has not moved since its position was read.
            None => unsafe { place.prepare_shape_or_panic::<T>(self) },
        };
        (slot, way.count, DynamicShape(&way.lengths))
    }

    #[inline]
    unsafe fn try_reserve<'s, B: PoolBackend, T: Element>(
        self,
        cursor: &Cursor<B>,
        first_use: FirstUse,
    ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>> {
        // SAFETY: this method does not move the cursor, and the caller guarantees that the pool
        // outlives `'s`.
        let place: Place<'s, B> = unsafe { cursor.place() };
        // SAFETY: the caller guarantees that no reference into the shape set is in use.
        let (slot, way) = match unsafe { place.fitting_shape::<T>(self) } {
            Some(fitting) => fitting,
            // SAFETY: the cursor has not moved since its position was read.
            None => unsafe { place.prepare_shape::<T>(self, first_use) }?,
        };
        Ok((slot, way.count, DynamicShape(&way.lengths)))
    }
}

/// Returns the slot at `place` and the number of elements in an array of a fixed rank. The function
/// does not call the cold function. Returns `None` if the array does not fit into the slot, or if
/// the lengths are invalid or need a further check.
#[inline(always)]
fn fitting<'s, B: PoolBackend, T: Element>(
    place: Place<'s, B>,
    dims: &[usize],
) -> Option<(Memory<'s, B>, usize)> {
    let count = usual_count::<T>(dims)?;
    Some((place.fitting::<T>(count)?, count))
}

/// Prepares a slot for an array of a fixed rank and returns the slot and the number of elements.
///
/// # Errors
///
/// Returns the same errors as [`Engine::try_reserve`].
///
/// # Safety
///
/// The cursor must still be at `place`.
#[cold]
unsafe fn prepare_slot<'s, B: PoolBackend, T: Element>(
    place: Place<'s, B>,
    dims: &[usize],
    first_use: FirstUse,
) -> Result<(Memory<'s, B>, usize), PoolError<B::Error>> {
    let count = element_count(dims, size_of::<T>())?;
    // SAFETY: the caller guarantees that the cursor is still at `place`.
    Ok((unsafe { place.prepare::<T>(count, first_use) }?, count))
}

/// Returns the product of the axis lengths, unless a special case applies. Returns `None` if the
/// product overflows or is zero, or if the elements are zero-sized. The [`element_count`] function
/// handles these cases. Elements that fit into a block have a total size of at most `isize::MAX`
/// bytes.
#[inline(always)]
fn usual_count<T>(dims: &[usize]) -> Option<usize> {
    if size_of::<T>() == 0 {
        return None;
    }
    let product = dims.iter().try_fold(1_usize, |product, &axis| product.checked_mul(axis))?;
    (product != 0).then_some(product)
}

/// Advances an index to the next element in row-major order.
#[inline]
fn advance(index: &mut [usize], dims: &[usize]) {
    for (at, &extent) in index.iter_mut().zip(dims).rev() {
        *at += 1;
        if *at < extent {
            return;
        }
        *at = 0;
    }
}

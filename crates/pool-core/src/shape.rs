//! Shapes: how many elements along each axis. Fixed ranks 1 to 6 are arrays or tuples of lengths and
//! cost nothing; a dynamic rank is a slice of lengths and is served by the shape cache.

use alloc::vec::Vec;
use core::fmt;
use core::slice;

use crate::backend::PoolBackend;
use crate::element::Element;
use crate::error::{PoolError, ShapeError};
use crate::raw::{Cursor, Place, SlotPointer};

/// What can be given as the shape of an N-d acquire: `[usize; N]` and tuples for N from 1 to 6, and
/// `&[usize]` for a rank known at run time.
///
/// Your own types may implement it. The pool asks a shape exactly once, before it touches its own
/// state, so a shape may even acquire from the scope it is used with.
///
/// ```
/// use pool_core::Shape;
/// struct Square(usize);
/// impl Shape for Square {
///     type Dims = [usize; 2];
///     fn into_dims(self) -> [usize; 2] {
///         [self.0, self.0]
///     }
/// }
/// ```
pub trait Shape {
    /// The lengths that the shape turns into.
    type Dims: Dims;

    /// Turns the shape into lengths.
    fn into_dims(self) -> Self::Dims;
}

/// Lengths along the axes: `[usize; N]` for N from 1 to 6, or `&[usize]`. Sealed.
pub trait Dims: Copy + sealed::Dims {
    /// How a view keeps them: fixed ranks by value, a dynamic rank borrowed from the shape cache.
    type Stored<'s>: AsRef<[usize]> + Copy + fmt::Debug;

    /// The lengths.
    fn as_slice(&self) -> &[usize];

    /// The slot for an array of these lengths, the number of its elements, and the lengths as its
    /// view keeps them; `None` where anything about it is rare or wrong.
    ///
    /// # Safety
    ///
    /// Nothing borrowed from the shape set of the slot is in use.
    #[doc(hidden)]
    unsafe fn fitting<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> Option<Fitting<'s, B, Self>>;

    /// What [`fitting`](Self::fitting) leaves: everything rare, by a cold function; panics with the
    /// text of the error where something is wrong.
    ///
    /// # Safety
    ///
    /// The cursor still stands at `place`.
    #[doc(hidden)]
    unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> Fitting<'s, B, Self>;

    /// Puts the lengths of `count` elements where a view of `slot` can keep them.
    ///
    /// # Safety
    ///
    /// `slot` is reserved for `count` elements, which is the product of the lengths, and not stepped past.
    #[doc(hidden)]
    unsafe fn store<'s, B: PoolBackend, T: Element>(
        self,
        slot: SlotPointer<'s, B>,
        count: usize,
    ) -> Result<Self::Stored<'s>, PoolError<B::Error>>;
}

mod sealed {
    pub trait Dims {}
}

/// A slot that an array fits, the number of its elements, and its lengths.
pub(crate) type Fitting<'s, B, D> = (SlotPointer<'s, B>, usize, <D as Dims>::Stored<'s>);

macro_rules! fixed_ranks {
    ($($rank:literal: ($($axis:ident),+) = ($($length:ty),+);)+) => {$(
        impl sealed::Dims for [usize; $rank] {}

        impl Dims for [usize; $rank] {
            type Stored<'s> = Self;

            #[inline]
            fn as_slice(&self) -> &[usize] {
                self
            }

            #[inline(always)]
            unsafe fn fitting<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
            ) -> Option<Fitting<'s, B, Self>> {
                let count = usual_count::<T>(&self)?;
                Some((place.fitting::<T>(count)?, count, self))
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
            ) -> Fitting<'s, B, Self> {
                /// The lengths come one by one: an array would be passed in memory, where the hot
                /// path would have to write it each time.
                ///
                /// # Safety
                ///
                /// As for [`Dims::prepare_or_panic`].
                #[cold]
                #[inline(never)]
                #[track_caller]
                unsafe fn prepare<'s, B: PoolBackend, T: Element>(
                    place: Place<'s, B>,
                    $($axis: usize),+
                ) -> (SlotPointer<'s, B>, usize) {
                    // SAFETY: the caller's promise.
                    unsafe { prepare_slot_or_panic::<B, T>(place, &[$($axis),+]) }
                }
                let [$($axis),+] = self;
                // SAFETY: the caller's promise.
                let (slot, count) = unsafe { prepare::<B, T>(place, $($axis),+) };
                (slot, count, self)
            }

            #[inline(always)]
            unsafe fn store<'s, B: PoolBackend, T: Element>(
                self,
                _: SlotPointer<'s, B>,
                _: usize,
            ) -> Result<Self, PoolError<B::Error>> {
                Ok(self)
            }
        }

        impl Shape for [usize; $rank] {
            type Dims = Self;

            #[inline]
            fn into_dims(self) -> Self {
                self
            }
        }

        impl Shape for ($($length,)+) {
            type Dims = [usize; $rank];

            #[inline]
            fn into_dims(self) -> [usize; $rank] {
                let ($($axis,)+) = self;
                [$($axis),+]
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

impl sealed::Dims for &[usize] {}

impl Dims for &[usize] {
    type Stored<'s> = DynamicShape<'s>;

    fn as_slice(&self) -> &[usize] {
        self
    }

    #[inline]
    unsafe fn fitting<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> Option<Fitting<'s, B, Self>> {
        // SAFETY: the caller's promise.
        let (slot, way) = unsafe { place.fitting_shape::<T>(self) }?;
        Some((slot, way.count, DynamicShape(&way.lengths)))
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> Fitting<'s, B, Self> {
        // SAFETY: the caller's promise.
        let (slot, count) = unsafe { prepare_slot_or_panic::<B, T>(place, self) };
        // SAFETY: just reserved for `count` elements, the product of the lengths, and not stepped past.
        match unsafe { self.store::<B, T>(slot, count) } {
            Ok(stored) => (slot, count, stored),
            Err(error) => Cursor::<B>::fail(&error),
        }
    }

    unsafe fn store<'s, B: PoolBackend, T: Element>(
        self,
        slot: SlotPointer<'s, B>,
        count: usize,
    ) -> Result<DynamicShape<'s>, PoolError<B::Error>> {
        // SAFETY: the caller's promise.
        Ok(DynamicShape(&unsafe { slot.cached_shape::<T>(self, count) }?.lengths))
    }
}

impl<'a> Shape for &'a [usize] {
    type Dims = &'a [usize];

    #[inline]
    fn into_dims(self) -> &'a [usize] {
        self
    }
}

/// Dims of a dynamic rank and their row-major strides, in one piece of memory.
pub(crate) struct Lengths {
    /// The dims, then as many strides.
    lengths: Vec<usize>,
    /// Half as many as there are lengths.
    rank: usize,
}

impl Lengths {
    /// The dims and their strides; the bytes that were asked for where there is no memory for them.
    pub(crate) fn of(dims: &[usize]) -> Result<Self, usize> {
        let rank = dims.len();
        let mut lengths = Vec::new();
        lengths.try_reserve_exact(2 * rank).map_err(|_| 2 * size_of_val(dims))?;
        lengths.resize(2 * rank, 0);
        let (own_dims, strides) = lengths.split_at_mut(rank);
        own_dims.copy_from_slice(dims);
        write_row_major_strides(dims, strides);
        Ok(Self { lengths, rank })
    }

    #[inline(always)]
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    #[inline(always)]
    pub(crate) fn dims(&self) -> &[usize] {
        // SAFETY: `of` made twice `rank` lengths, which nothing changes; the dims are the first half.
        unsafe { slice::from_raw_parts(self.lengths.as_ptr(), self.rank) }
    }

    #[inline(always)]
    fn strides(&self) -> &[usize] {
        // SAFETY: as in `dims`.
        let strides = unsafe { self.lengths.as_ptr().add(self.rank) };
        // SAFETY: as in `dims`; the strides are the second half.
        unsafe { slice::from_raw_parts(strides, self.rank) }
    }
}

/// A shape of dynamic rank and its row-major strides, borrowed from the slot's shape cache.
#[derive(Clone, Copy)]
pub struct DynamicShape<'s>(pub(crate) &'s Lengths);

impl<'s> DynamicShape<'s> {
    /// The lengths along the axes, in elements.
    #[inline]
    #[must_use]
    pub fn dims(&self) -> &'s [usize] {
        self.0.dims()
    }

    /// The strides of the axes, in elements; all zero where an axis is.
    #[inline]
    #[must_use]
    pub fn strides(&self) -> &'s [usize] {
        self.0.strides()
    }
}

impl fmt::Debug for DynamicShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicShape")
            .field("dims", &self.dims())
            .field("strides", &self.strides())
            .finish()
    }
}

impl AsRef<[usize]> for DynamicShape<'_> {
    #[inline]
    fn as_ref(&self) -> &[usize] {
        self.dims()
    }
}

/// A slot for as many elements as the lengths say.
///
/// # Panics
///
/// With the text of the error where the lengths are refused or there is no memory.
///
/// # Safety
///
/// The cursor still stands at `place`.
#[track_caller]
unsafe fn prepare_slot_or_panic<'s, B: PoolBackend, T: Element>(
    place: Place<'s, B>,
    dims: &[usize],
) -> (SlotPointer<'s, B>, usize) {
    let count = match element_count(dims, size_of::<T>()) {
        Ok(count) => count,
        Err(error) => Cursor::<B>::fail(&error.into()),
    };
    // SAFETY: the caller's promise.
    match unsafe { place.prepare::<T>(count) } {
        Ok(slot) => (slot, count),
        Err(error) => Cursor::<B>::fail(&error),
    }
}

/// The product of the lengths; `None` where it overflows, is zero, or is of elements without a size,
/// for which [`element_count`] has more to say. That as many elements fit a block bounds it by
/// `isize::MAX` bytes.
#[inline(always)]
fn usual_count<T>(dims: &[usize]) -> Option<usize> {
    if size_of::<T>() == 0 {
        return None;
    }
    let product = dims.iter().try_fold(1_usize, |product, &axis| product.checked_mul(axis))?;
    (product != 0).then_some(product)
}

/// How many elements of `element_size` bytes a shape has.
///
/// The product of the axes that are not zero is checked against `isize::MAX`, in elements and in
/// bytes, also where another axis is zero: `[usize::MAX, 2, 0]` is an error, not an empty array.
///
/// # Errors
///
/// [`ShapeError::Overflow`] where the product does not fit.
#[inline]
pub fn element_count(dims: &[usize], element_size: usize) -> Result<usize, ShapeError> {
    let most = isize::MAX as usize / if element_size == 0 { 1 } else { element_size };
    let mut product = 1_usize;
    for &axis in dims {
        product = match product.checked_mul(axis) {
            Some(product) => product,
            None => return Err(overflow(dims.len(), element_size)),
        };
    }
    if product > most {
        return Err(overflow(dims.len(), element_size));
    }
    if product == 0 { empty_count(dims, element_size, most) } else { Ok(product) }
}

/// The rare case: some axis is zero, and the others must still not overflow.
#[cold]
#[inline(never)]
fn empty_count(dims: &[usize], element_size: usize, most: usize) -> Result<usize, ShapeError> {
    dims.iter()
        .filter(|&&axis| axis != 0)
        .try_fold(1_usize, |product, &axis| product.checked_mul(axis))
        .filter(|&product| product <= most)
        .map(|_| 0)
        .ok_or_else(|| overflow(dims.len(), element_size))
}

#[cold]
fn overflow(rank: usize, element_size: usize) -> ShapeError {
    ShapeError::Overflow { rank, element_size }
}

/// Writes the row-major strides of `dims`, in elements; all zero where an axis is.
pub(crate) fn write_row_major_strides(dims: &[usize], strides: &mut [usize]) {
    let mut stride = usize::from(!dims.contains(&0));
    for (slot, &axis) in strides.iter_mut().zip(dims).rev() {
        *slot = stride;
        stride = stride.saturating_mul(axis);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_refuses() {
        assert_eq!(element_count(&[3, 4], 8), Ok(12));
        assert_eq!(element_count(&[], 8), Ok(1));
        assert_eq!(element_count(&[3, 0], 8), Ok(0));
        assert_eq!(element_count(&[0, 0, 0], 8), Ok(0));
        for dims in [[usize::MAX, 2, 0], [0, usize::MAX, 2], [2, 0, usize::MAX]] {
            assert_eq!(
                element_count(&dims, 1),
                Err(ShapeError::Overflow { rank: 3, element_size: 1 })
            );
        }
        let most = isize::MAX as usize;
        assert_eq!(element_count(&[most], 1), Ok(most));
        assert_eq!(element_count(&[most], 0), Ok(most));
        assert!(element_count(&[most], 2).is_err());
        assert!(element_count(&[most, 0], 2).is_err());
        assert!(element_count(&[most + 1], 0).is_err());
        assert!(element_count(&[usize::MAX], 0).is_err());
    }

    #[test]
    fn strides_are_row_major() {
        let mut strides = [9; 3];
        write_row_major_strides(&[2, 3, 4], &mut strides);
        assert_eq!(strides, [12, 4, 1]);
        write_row_major_strides(&[2, 0, 4], &mut strides);
        assert_eq!(strides, [0, 0, 0]);
    }
}

//! Shapes: how many elements along each axis. Fixed ranks 1 to 6 are arrays or tuples of lengths and
//! cost nothing; a dynamic rank is a slice of lengths and is served by the shape cache.

use core::fmt;

use crate::backend::PoolBackend;
use crate::element::Element;
use crate::error::PoolError;
use crate::lengths::{DynamicShape, element_count};
use crate::raw::{Cursor, FirstUse, Place, SlotPointer};

/// The shape of an array that is acquired: `[usize; N]` and tuples for N from 1 to 6, and
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
    /// How a view keeps the lengths: fixed ranks by value, a dynamic rank borrowed from the shape cache.
    type Stored<'s>: AsRef<[usize]> + Copy + fmt::Debug;

    /// The lengths.
    fn as_slice(&self) -> &[usize];

    /// The slot for an array of these lengths, the number of its elements, and the lengths as its
    /// view keeps them; `None` where anything about the acquire is rare or wrong.
    ///
    /// # Safety
    ///
    /// Nothing borrowed from the shape set of the slot is in use.
    #[doc(hidden)]
    unsafe fn fitting<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> Option<ArraySlot<'s, B, Self>>;

    /// As [`fitting`](Self::fitting), for the acquires of elements that may be read that it leaves: everything
    /// rare, by a cold function that
    /// panics with the text of the error where something is wrong.
    ///
    /// # Safety
    ///
    /// The cursor still stands at `place`.
    #[doc(hidden)]
    unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> ArraySlot<'s, B, Self>;

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
pub(crate) type ArraySlot<'s, B, D> = (SlotPointer<'s, B>, usize, <D as Dims>::Stored<'s>);

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
            ) -> Option<ArraySlot<'s, B, Self>> {
                let count = usual_count::<T>(&self)?;
                Some((place.fitting::<T>(count)?, count, self))
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
            ) -> ArraySlot<'s, B, Self> {
                /// The cold function of one rank. The lengths come one by one: an array would be passed in
                /// memory, where the hot path would have to write it each time.
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
    ) -> Option<ArraySlot<'s, B, Self>> {
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
    ) -> ArraySlot<'s, B, Self> {
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

/// Prepares a slot for as many elements as the lengths say, which may be read.
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
    match unsafe { place.prepare::<T>(count, FirstUse::Read) } {
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

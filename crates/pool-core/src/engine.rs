//! How each kind of shape gets its slot: a compare for a length, a checked product for a fixed rank, the slot's
//! shape set for a dynamic rank. The traits here are what [`Shape`](crate::Shape) is sealed with.

use core::fmt;

use crate::backend::PoolBackend;
use crate::element::Element;
use crate::error::{PoolError, ShapeError};
use crate::lengths::{DynamicShape, element_count};
use crate::nd_view::NdView;
use crate::raw::{Cursor, FirstUse, Place, SlotPointer};

/// A reserved slot, the number of the array's elements, and what the array keeps of its shape.
pub(crate) type ShapedSlot<'s, B, S> = (SlotPointer<'s, B>, usize, <S as Engine>::Kept<'s>);

/// Gets the slot of an array.
pub trait Engine: Copy {
    /// What an array keeps of its shape: nothing of a length, the lengths of a fixed rank, the cached shape of a
    /// dynamic rank.
    type Kept<'s>: Copy + fmt::Debug;

    /// Returns the slot at `place` if the array fits it without the cold function.
    ///
    /// # Safety
    ///
    /// Nothing borrowed from the shape set of the slot is in use.
    unsafe fn fitting<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> Option<ShapedSlot<'s, B, Self>>;

    /// Does everything rare: refuses lengths, provides a block, stores a new shape.
    ///
    /// # Errors
    ///
    /// Where the lengths are refused, and where there is no memory.
    ///
    /// # Safety
    ///
    /// The cursor still stands at `place`.
    unsafe fn prepare<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
        first_use: FirstUse,
    ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>>;

    /// As [`prepare`](Self::prepare), for elements that may be read. It returns no `Result`, so that the hot path
    /// has only the slot to look at.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`prepare`](Self::prepare) returns.
    ///
    /// # Safety
    ///
    /// The cursor still stands at `place`.
    unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> ShapedSlot<'s, B, Self>;
}

/// The part of the engine for shapes whose rank is known at compile time.
pub trait FixedEngine: Engine {
    /// The index of an element.
    type Position;

    /// Returns the number of elements of `T`.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Overflow`] where the product of the lengths overflows.
    fn count<T>(self) -> Result<usize, ShapeError>;

    /// Returns what an array keeps of its shape.
    fn kept<'s>(self) -> Self::Kept<'s>;

    /// Turns a function of an element's index into one that is called once for each element in row-major order.
    fn in_order<T>(self, element: impl FnMut(Self::Position) -> T) -> impl FnMut(usize) -> T;
}

/// An array that is made of a view and of what is kept of the shape.
pub trait FromParts<V, K> {
    /// Makes the array.
    ///
    /// # Safety
    ///
    /// The shape was kept of an acquire of as many elements as the view has.
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
        // SAFETY: the product of the lengths is the number of elements that were acquired (caller).
        unsafe { Self::new_unchecked(view, dims) }
    }
}

impl Engine for usize {
    type Kept<'s> = ();

    #[inline(always)]
    unsafe fn fitting<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> Option<ShapedSlot<'s, B, Self>> {
        Some((place.fitting::<T>(self)?, self, ()))
    }

    #[inline(always)]
    unsafe fn prepare<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
        first_use: FirstUse,
    ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>> {
        // SAFETY: the caller's promise.
        Ok((unsafe { place.prepare_unfit::<T>(self, first_use) }?, self, ()))
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> ShapedSlot<'s, B, Self> {
        // SAFETY: the caller's promise.
        (unsafe { place.prepare_unfit_or_panic::<T>(self) }, self, ())
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
            unsafe fn fitting<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
            ) -> Option<ShapedSlot<'s, B, Self>> {
                let count = usual_count::<T>(&self)?;
                Some((place.fitting::<T>(count)?, count, self))
            }

            #[cold]
            #[inline(never)]
            unsafe fn prepare<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
                first_use: FirstUse,
            ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>> {
                let count = element_count(&self, size_of::<T>())?;
                // SAFETY: the caller's promise.
                Ok((unsafe { place.prepare::<T>(count, first_use) }?, count, self))
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
            ) -> ShapedSlot<'s, B, Self> {
                /// The cold function of one rank. The lengths come one by one: an array would be passed in
                /// memory, where the hot path would have to write it each time.
                ///
                /// # Safety
                ///
                /// As for [`Engine::prepare_or_panic`].
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
            unsafe fn fitting<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
            ) -> Option<ShapedSlot<'s, B, Self>> {
                // SAFETY: the caller's promise.
                unsafe { <[usize; $rank]>::from(self).fitting::<B, T>(place) }
            }

            #[inline(always)]
            unsafe fn prepare<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
                first_use: FirstUse,
            ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>> {
                // SAFETY: the caller's promise.
                unsafe { <[usize; $rank]>::from(self).prepare::<B, T>(place, first_use) }
            }

            #[inline(always)]
            #[track_caller]
            unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
                self,
                place: Place<'s, B>,
            ) -> ShapedSlot<'s, B, Self> {
                // SAFETY: the caller's promise.
                unsafe { <[usize; $rank]>::from(self).prepare_or_panic::<B, T>(place) }
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
    unsafe fn fitting<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> Option<ShapedSlot<'s, B, Self>> {
        // SAFETY: the caller's promise.
        let (slot, way) = unsafe { place.fitting_shape::<T>(self) }?;
        Some((slot, way.count, DynamicShape(&way.lengths)))
    }

    #[cold]
    #[inline(never)]
    unsafe fn prepare<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
        first_use: FirstUse,
    ) -> Result<ShapedSlot<'s, B, Self>, PoolError<B::Error>> {
        let count = element_count(self, size_of::<T>())?;
        // SAFETY: the caller's promise.
        let slot = unsafe { place.prepare::<T>(count, first_use) }?;
        // SAFETY: just reserved for `count` elements, the product of the lengths, and not stepped past.
        let way = unsafe { slot.cached_shape::<T>(self, count) }?;
        Ok((slot, count, DynamicShape(&way.lengths)))
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    unsafe fn prepare_or_panic<'s, B: PoolBackend, T: Element>(
        self,
        place: Place<'s, B>,
    ) -> ShapedSlot<'s, B, Self> {
        // SAFETY: the caller's promise.
        match unsafe { self.prepare::<B, T>(place, FirstUse::Read) } {
            Ok(prepared) => prepared,
            Err(error) => Cursor::<B>::fail(&error),
        }
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
/// which [`element_count`] checks further. That the elements fit a block bounds the product by
/// `isize::MAX` bytes.
#[inline(always)]
fn usual_count<T>(dims: &[usize]) -> Option<usize> {
    if size_of::<T>() == 0 {
        return None;
    }
    let product = dims.iter().try_fold(1_usize, |product, &axis| product.checked_mul(axis))?;
    (product != 0).then_some(product)
}

/// Steps an index to the next element in row-major order.
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

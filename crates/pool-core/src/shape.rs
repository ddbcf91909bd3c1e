//! Defines array shapes and the array type for each shape. If the shape is a single length, the
//! acquire methods return a plain view. If the shape is a list of axis lengths, the acquire methods
//! return an array.

use crate::engine::{Engine, FixedEngine, FromParts};
use crate::lengths::DynamicShape;
use crate::nd_view::NdView;

/// The shape of an acquired array.
///
/// | shape | array | cost in steady state |
/// |---|---|---|
/// | `usize` | a plain view, which is `&mut [T]` on the host | one comparison, one address computation and one step |
/// | `[usize; N]` or a tuple of N lengths, with N from 1 to 6 | [`NdView`] with the lengths `[usize; N]` | the same as for a length, plus a checked product |
/// | `&[usize]` | [`NdView`] with a [`DynamicShape`] | a lookup in the slot's shape cache, which does not allocate if the shape is cached |
///
/// This trait is sealed. Functions that are generic over the shape `S` use `S::Array` as their
/// return type:
///
/// ```
/// use pool_core::{NdArray, PoolBackend, Scope, Shape};
///
/// fn ones<'s, B: PoolBackend, S: Shape>(scope: &Scope<'s, B>, shape: S) -> NdArray<'s, B, f32, S> {
///     scope.acquire_filled(shape, 1.0)
/// }
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let scope = pool.scope();
/// let vector: &mut [f32] = ones(&scope, 3);
/// let matrix = ones(&scope, [2, 3]);
/// assert_eq!((vector[2], matrix[[1, 2]]), (1.0, 1.0));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the shape of an array",
    label = "not a shape",
    note = "shapes are: `usize` for a length; `[usize; N]` or a tuple of `usize` for 1 to 6 axes; `&[usize]` for a number of axes known at run time",
    note = "for a length of another integer type use `usize::try_from`; for a `Vec<usize>` or an array by reference use `&dims[..]`"
)]
pub trait Shape: Engine {
    /// The type of an array that has this shape and stores its elements in the view `V`.
    type Array<'s, V>: FromParts<V, Self::Kept<'s>>;
}

/// A [`Shape`] whose number of axes is known at compile time, such as `usize`, `[usize; N]`, or a
/// tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape whose number of axes is known at compile time",
    label = "not a fixed shape",
    note = "fixed shapes are: `usize` for a length; `[usize; N]` or a tuple of `usize` for 1 to 6 axes",
    note = "for other lengths, acquire the product of the lengths, and set the shape with `NdView::new`"
)]
pub trait FixedShape: Shape + FixedEngine<Position = Self::Index> {
    /// The type of an element's index, which is `usize` for a length and `[usize; N]` for N axes.
    type Index: Copy;
}

impl Shape for usize {
    type Array<'s, V> = V;
}

impl FixedShape for usize {
    type Index = usize;
}

macro_rules! fixed_ranks {
    ($($rank:literal: ($($length:ty),+);)+) => {$(
        impl Shape for [usize; $rank] {
            type Array<'s, V> = NdView<V, [usize; $rank]>;
        }

        impl FixedShape for [usize; $rank] {
            type Index = [usize; $rank];
        }

        impl Shape for ($($length,)+) {
            type Array<'s, V> = NdView<V, [usize; $rank]>;
        }

        impl FixedShape for ($($length,)+) {
            type Index = [usize; $rank];
        }
    )+};
}

fixed_ranks! {
    1: (usize);
    2: (usize, usize);
    3: (usize, usize, usize);
    4: (usize, usize, usize, usize);
    5: (usize, usize, usize, usize, usize);
    6: (usize, usize, usize, usize, usize, usize);
}

impl Shape for &[usize] {
    type Array<'s, V> = NdView<V, DynamicShape<'s>>;
}

//! Acquires the elements for an `ndarray` shape and converts them into an `ndarray` view.

use core::marker::PhantomData;

use ndarray::{ArrayViewMut, Dimension, Shape};
use pool_core::{PodElement, PoolError, Scope, ShapeError, element_count, error_chain};

use crate::cpu_memory::CpuMemory;
use crate::error::CpuError;

/// Acquires the elements of an array with the given dimensions, without initializing the elements.
/// For a fixed rank, the function takes the hot path for that rank.
#[inline]
#[track_caller]
pub(crate) fn acquire_for<'s, B: CpuMemory, T: PodElement, D: Dimension>(
    scope: &Scope<'s, B>,
    dim: &D,
) -> &'s mut [T] {
    let view = match Rank::<D>::FIXED {
        1 => scope.acquire::<T, _>(lengths::<1, D>(dim)).into_view(),
        2 => scope.acquire::<T, _>(lengths::<2, D>(dim)).into_view(),
        3 => scope.acquire::<T, _>(lengths::<3, D>(dim)).into_view(),
        4 => scope.acquire::<T, _>(lengths::<4, D>(dim)).into_view(),
        5 => scope.acquire::<T, _>(lengths::<5, D>(dim)).into_view(),
        6 => scope.acquire::<T, _>(lengths::<6, D>(dim)).into_view(),
        _ => acquire_for_any_rank(scope, dim),
    };
    B::elements(view)
}

/// Acquires the elements like [`acquire_for`], but for a rank that is 0 or known only at run time.
#[inline]
#[track_caller]
fn acquire_for_any_rank<'s, B: CpuMemory, T: PodElement, D: Dimension>(
    scope: &Scope<'s, B>,
    dim: &D,
) -> B::View<'s, T> {
    match count_of::<T, D>(dim) {
        Ok(count) => scope.acquire(count),
        Err(error) => fail(&error),
    }
}

/// Returns the lengths of a dimension's first `N` axes.
#[inline(always)]
fn lengths<const N: usize, D: Dimension>(dim: &D) -> [usize; N] {
    core::array::from_fn(|axis| dim[axis])
}

/// Provides a dimension's rank as a constant. The compiler generates code only for the matching
/// branch, because the rank is a constant.
struct Rank<D>(PhantomData<D>);

impl<D: Dimension> Rank<D> {
    /// The number of axes. `FIXED` is 0 if the number of axes is 0 or known only at run time.
    const FIXED: usize = match D::NDIM {
        Some(rank) => rank,
        None => 0,
    };
}

/// Returns the number of elements in an array with the given dimensions.
#[inline]
pub(crate) fn count_of<T, D: Dimension>(dim: &D) -> Result<usize, PoolError<CpuError>> {
    let lengths = dim.as_array_view();
    // A dimension's lengths are always stored contiguously. If the list were noncontiguous, this
    // function would return an error.
    let refused = ShapeError::Overflow { rank: dim.ndim(), element_size: size_of::<T>() };
    Ok(element_count(lengths.to_slice().ok_or(refused)?, size_of::<T>())?)
}

/// Returns the elements as an array of the given shape.
///
/// # Safety
///
/// The number of elements must equal the product of the shape's dimensions. The caller must already
/// have checked the number of elements. A shape cannot change after the check, because `Shape` owns
/// its data and only `ndarray` itself can implement `Dimension`.
#[inline(always)]
pub(crate) unsafe fn view_of<T, D: Dimension>(
    elements: &mut [T],
    shape: Shape<D>,
) -> ArrayViewMut<'_, T, D> {
    // SAFETY: in both row-major and column-major order, an array of `elements.len()` elements
    // covers the whole slice. Different indices always refer to different elements. The slice is
    // borrowed exclusively for as long as the view is alive.
    unsafe { ArrayViewMut::from_shape_ptr(shape, elements.as_mut_ptr()) }
}

/// Panics with an error's message, on behalf of methods whose names do not start with `try_`.
#[cold]
#[inline(never)]
#[track_caller]
#[expect(clippy::panic, reason = "the documented behaviour of every twin without `try_`")]
pub(crate) fn fail(error: &PoolError<CpuError>) -> ! {
    panic!("{}", error_chain(error))
}

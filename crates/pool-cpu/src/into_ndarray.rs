//! Converts `pool-core` arrays into `ndarray` views of the same elements.

use ndarray::{ArrayViewMut, Dim, Dimension, IntoDimension, IxDyn};
use pool_core::{DynamicShape, NdView};

/// Converts a pool's array into an `ndarray` view of the same elements.
///
/// ```
/// use pool_core::Pool;
/// use pool_cpu::{Cpu, IntoNdarray};
///
/// let mut pool = Pool::<Cpu>::new(());
/// let scope = pool.scope();
/// let mut matrix = scope.acquire_zeroed::<f64, _>([3, 4]).into_ndarray();
/// matrix.row_mut(1).fill(2.0);
/// assert_eq!(matrix.sum(), 8.0);
/// ```
pub trait IntoNdarray {
    /// The `ndarray` view type.
    type View;

    /// Converts the array into an `ndarray` view of the same elements.
    fn into_ndarray(self) -> Self::View;
}

impl<'s, T, const N: usize> IntoNdarray for NdView<&'s mut [T], [usize; N]>
where
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
    Dim<[usize; N]>: Dimension,
{
    type View = ArrayViewMut<'s, T, Dim<[usize; N]>>;

    #[inline]
    fn into_ndarray(self) -> Self::View {
        let (view, dims) = self.into_parts();
        // SAFETY: the array's constructor checked that the slice's length equals the product of
        // `dims`. The slice is borrowed exclusively for `'s`.
        unsafe { ArrayViewMut::from_shape_ptr(dims.into_dimension(), view.as_mut_ptr()) }
    }
}

/// The conversion copies the dimensions into the view. If there are more than 4 axes, creating the
/// view allocates memory for the dimensions. To obtain an array of dynamic rank without an
/// allocation, use [`AcquireArray::acquire_array_dyn`](crate::AcquireArray::acquire_array_dyn).
impl<'s, T> IntoNdarray for NdView<&'s mut [T], DynamicShape<'_>> {
    type View = ArrayViewMut<'s, T, IxDyn>;

    fn into_ndarray(self) -> Self::View {
        let (view, dims) = self.into_parts();
        // SAFETY: the array's constructor checked that the slice's length equals the product of
        // `dims`. The slice is borrowed exclusively for `'s`.
        unsafe { ArrayViewMut::from_shape_ptr(IxDyn(dims.dims()), view.as_mut_ptr()) }
    }
}

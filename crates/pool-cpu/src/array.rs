//! Arrays as `ndarray` views: of fixed rank by value, at no cost; of dynamic rank through a header
//! that is kept beside the cached shape, so that a hit allocates nothing.

use ndarray::{ArrayRef, ArrayViewMut, Dim, Dimension, IntoDimension, IxDyn};
use pool_core::{DynamicShape, NdArray, NdView, PodElement, PoolError, Scope, Shape};

use crate::backend::Cpu;
use crate::error::CpuError;

/// Turns an array of a pool into an `ndarray` view of the same elements.
///
/// ```
/// use pool_core::Pool;
/// use pool_cpu::{Cpu, IntoNdarray};
///
/// let mut pool = Pool::<Cpu>::new(());
/// let scope = pool.scope();
/// let mut matrix = scope.acquire_nd_zeroed::<f64, _>([3, 4]).into_ndarray();
/// matrix.row_mut(1).fill(2.0);
/// assert_eq!(matrix.sum(), 8.0);
/// ```
pub trait IntoNdarray {
    /// The `ndarray` view.
    type View;

    /// The same elements as an `ndarray` view.
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
        // SAFETY: the slice has exactly the product of `dims` elements, which was checked when the
        // array was made, and is borrowed exclusively for `'s`.
        unsafe { ArrayViewMut::from_shape_ptr(dims.into_dimension(), view.as_mut_ptr()) }
    }
}

/// The dims are copied into the view: a rank above 4 then allocates. For a view without allocation
/// use [`AcquireArray::acquire_array_dyn`].
impl<'s, T> IntoNdarray for NdView<&'s mut [T], DynamicShape<'_>> {
    type View = ArrayViewMut<'s, T, IxDyn>;

    fn into_ndarray(self) -> Self::View {
        let (view, dims) = self.into_parts();
        // SAFETY: as for fixed ranks.
        unsafe { ArrayViewMut::from_shape_ptr(IxDyn(dims.dims()), view.as_mut_ptr()) }
    }
}

/// Acquires that return `ndarray` views.
pub trait AcquireArray<'s> {
    /// An array of fixed rank with unspecified contents.
    ///
    /// The other members of the family are [`IntoNdarray::into_ndarray`] of what
    /// `acquire_nd_zeroed`, `acquire_nd_filled`, … return.
    ///
    /// # Panics
    ///
    /// As [`Scope::acquire_nd`].
    fn acquire_array<T: PodElement, S: Shape>(
        &self,
        shape: S,
    ) -> <NdArray<'s, Cpu, T, S> as IntoNdarray>::View
    where
        NdArray<'s, Cpu, T, S>: IntoNdarray;

    /// An array of dynamic rank with unspecified contents, in row-major order.
    ///
    /// When the slot has had the shape before, nothing is allocated, whatever the rank. The array is
    /// a reference to a header that the pool keeps: use it directly, or slice it; `view_mut` makes a
    /// view by value, which copies the dims and allocates above 4 axes.
    ///
    /// ```
    /// use ndarray::{ArrayRef, IxDyn};
    /// use pool_core::Pool;
    /// use pool_cpu::{AcquireArray, Cpu};
    ///
    /// let mut pool = Pool::<Cpu>::new(());
    /// for _ in 0..10 {
    ///     let scope = pool.scope();
    ///     let array: &mut ArrayRef<f32, IxDyn> = scope.acquire_array_dyn(&[2, 1, 2, 1, 2, 1]);
    ///     array.fill(1.0);
    ///     assert_eq!(array.sum(), 8.0);
    /// }
    /// assert_eq!(pool.stats().shape_hits, 9);
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_array_dyn`](Self::try_acquire_array_dyn) returns.
    /// Where the host has no memory for a new header, the slot stays taken until its scope ends.
    fn acquire_array_dyn<T: PodElement>(&self, dims: &[usize]) -> &'s mut ArrayRef<T, IxDyn>;

    /// As [`acquire_array_dyn`](Self::acquire_array_dyn).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire_nd`]; [`PoolError::Bookkeeping`] also where the host has no memory for a new
    /// header. Above 4 axes, `ndarray` itself takes memory for the dims and strides of a header that is
    /// new (`IxDyn`), and ends the process where there is none.
    fn try_acquire_array_dyn<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, PoolError<CpuError>>;
}

impl<'s> AcquireArray<'s> for Scope<'s, Cpu> {
    #[inline]
    #[track_caller]
    fn acquire_array<T: PodElement, S: Shape>(
        &self,
        shape: S,
    ) -> <NdArray<'s, Cpu, T, S> as IntoNdarray>::View
    where
        NdArray<'s, Cpu, T, S>: IntoNdarray,
    {
        self.acquire_nd::<T, S>(shape).into_ndarray()
    }

    #[inline(always)]
    #[track_caller]
    fn acquire_array_dyn<T: PodElement>(&self, dims: &[usize]) -> &'s mut ArrayRef<T, IxDyn> {
        // SAFETY: one exclusive array is made of the block. Safe code gets an `&mut ArrayRef`, which is
        // unsized and so cannot be swapped or replaced, and never the descriptor.
        let parts = unsafe { self.acquire_described::<T>(dims) };
        let block = parts.block.cast();
        // SAFETY: the pool keeps one descriptor for each element type, and this is the one for `T`.
        match unsafe { parts.descriptor.as_made::<T>(block, parts.shape) } {
            Ok(array) => array,
            // SAFETY: the block holds the product of the dims, which the acquire has checked, and is aligned
            // for `T`; of the old array nothing is in use.
            Err(header) => unsafe { header.make_or_panic(block, parts.shape) },
        }
    }

    #[inline]
    fn try_acquire_array_dyn<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, PoolError<CpuError>> {
        // SAFETY: as in `acquire_array_dyn`.
        let parts = unsafe { self.try_acquire_described::<T>(dims) }?;
        let block = parts.block.cast();
        // SAFETY: as in `acquire_array_dyn`.
        match unsafe { parts.descriptor.as_made::<T>(block, parts.shape) } {
            Ok(array) => Ok(array),
            Err(header) => {
                // SAFETY: as in `acquire_array_dyn`.
                let made = unsafe { header.make(block, parts.shape.dims()) };
                made.map_err(|requested| {
                    // SAFETY: just handed out, and there is no array of it.
                    unsafe { self.give_back_described(parts.slot) };
                    PoolError::Bookkeeping { requested }
                })
            }
        }
    }
}

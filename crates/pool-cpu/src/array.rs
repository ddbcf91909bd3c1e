//! Acquire methods that return `ndarray` views. Arrays of fixed rank are returned by value, in any
//! shape that `ndarray` accepts. For a dynamic rank, the pool stores a header with the cached
//! shape, so that a cache hit allocates nothing.

use ndarray::{ArrayRef, ArrayViewMut, IxDyn, ShapeBuilder};
use pool_core::{PodElement, PoolError, Scope};

use crate::error::CpuError;
use crate::host_memory::HostMemory;
use crate::shaped::{acquire_for, count_of, view_of};

/// The result of a `try_` acquire of an `ndarray` view.
pub type ArrayResult<'s, T, D> = Result<ArrayViewMut<'s, T, D>, PoolError<CpuError>>;

/// Acquires that return `ndarray` views.
///
/// # Shapes
///
/// A shape is any argument of `ndarray`'s own constructors: `4`, `(3, 4)`, `[3, 4]`, `Dim([3, 4])`,
/// or the `raw_dim()` of another array, even in code that is generic over `D: Dimension`. For a
/// dynamic rank, it is `&[usize]` or `IxDyn`. `.f()` selects column-major (Fortran) order for each
/// of these shapes.
///
/// ```
/// use ndarray::{Array, ArrayRef, Dimension, ShapeBuilder};
/// use pool_core::{Pool, Scope};
/// use pool_cpu::{AcquireArray, Cpu};
///
/// /// The largest difference between an array and its mean, of any rank.
/// fn spread<D: Dimension>(scope: &Scope<'_, Cpu>, array: &ArrayRef<f64, D>) -> f64 {
///     let mut centred = scope.acquire_array::<f64, _>(array.raw_dim());
///     centred.assign(array);
///     centred -= array.mean().unwrap_or(0.0);
///     centred.iter().fold(0.0, |most, difference| most.max(difference.abs()))
/// }
///
/// let mut pool = Pool::<Cpu>::new(());
/// let scope = pool.scope();
/// assert_eq!(spread(&scope, &Array::from_vec(vec![1.0, 2.0, 6.0])), 3.0);
/// let columns = scope.acquire_array::<f64, _>((3, 4).f());
/// assert_eq!(columns.strides(), [1, 3]);
/// ```
///
/// The compiler rejects other strides, because an array of a pool is contiguous. Slicing, reversing
/// and transposing are methods of the view.
///
/// ```compile_fail,E0277
/// use ndarray::ShapeBuilder;
/// use pool_cpu::AcquireArray;
/// # let mut pool = pool_core::Pool::<pool_cpu::Cpu>::new(());
/// let scope = pool.scope();
/// scope.acquire_array::<f64, _>((3, 4).strides((8, 2)));
/// ```
///
/// An array lives as long as the memory that its scope borrows, like every view.
///
/// ```compile_fail,E0499
/// use pool_cpu::AcquireArray;
/// # let mut pool = pool_core::Pool::<pool_cpu::Cpu>::new(());
/// let mut outer = pool.scope();
/// let escaped = {
///     let inner = outer.scope();
///     inner.acquire_array::<f64, _>((3, 4))
/// };
/// let next = outer.scope(); // reuses the memory of the inner scope
/// next.acquire_array::<f64, _>((3, 4));
/// escaped.sum();
/// ```
///
/// # Other contents
///
/// [`IntoNdarray::into_ndarray`](crate::IntoNdarray::into_ndarray) converts every array that a
/// scope acquires with a shape: zeros, a repeated value, computed elements, or uninitialised
/// memory.
///
/// ```
/// use core::mem::MaybeUninit;
/// use ndarray::ArrayViewMut2;
/// use pool_core::{Pool, PoolView};
/// use pool_cpu::{Cpu, IntoNdarray};
///
/// let mut pool = Pool::<Cpu>::new(());
/// let scope = pool.scope();
/// let zeros: ArrayViewMut2<f32> = scope.acquire_zeroed([2, 2]).into_ndarray();
/// let ones = scope.acquire_filled([2, 2], 1.0_f32).into_ndarray();
/// let copy = scope.acquire_from(&[1.0, 2.0, 3.0, 4.0]).reshape([2, 2]).into_ndarray();
/// assert_eq!(&zeros + &copy, &ones * &copy);
///
/// // For any `T: Copy`, written by the code that computes it.
/// let pairs: ArrayViewMut2<MaybeUninit<(u8, f32)>> = scope.acquire_uninit([2, 2]).into_ndarray();
/// ndarray::Zip::from(&copy).map_assign_into(pairs, |&value| (1, value));
/// ```
pub trait AcquireArray<'s> {
    /// Acquires an array with unspecified contents, such as the contents of the last use.
    ///
    /// Allocates nothing, except the list of lengths that `ndarray` itself allocates for a dynamic
    /// rank above 4.
    ///
    /// ```
    /// use ndarray::linalg::general_mat_mul;
    /// use pool_core::Pool;
    /// use pool_cpu::{AcquireArray, Cpu, IntoNdarray};
    ///
    /// let mut pool = Pool::<Cpu>::new(());
    /// let scope = pool.scope();
    /// let a = scope.acquire_filled((2, 3), 1.0).into_ndarray();
    /// let mut product = scope.acquire_array::<f64, _>((2, 2));
    /// general_mat_mul(1.0, &a, &a.t(), 0.0, &mut product); // 0.0: `product` is not read
    /// assert_eq!(product.sum(), 12.0);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_array`](Self::try_acquire_array) returns.
    fn acquire_array<T: PodElement, Sh: ShapeBuilder>(
        &self,
        shape: Sh,
    ) -> ArrayViewMut<'s, T, Sh::Dim>;

    /// Fallible version of [`acquire_array`](Self::acquire_array).
    ///
    /// ```
    /// use pool_core::{Pool, PoolError, ShapeError};
    /// use pool_cpu::{AcquireArray, Cpu};
    ///
    /// let mut pool = Pool::<Cpu>::new(());
    /// let scope = pool.scope();
    /// let error = scope.try_acquire_array::<f64, _>((usize::MAX, 2)).unwrap_err();
    /// assert_eq!(error, PoolError::Shape(ShapeError::Overflow { rank: 2, element_size: 8 }));
    /// assert_eq!(scope.try_acquire_array::<f64, _>((3, 4))?.len(), 12);
    /// # Ok::<(), PoolError<pool_cpu::CpuError>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PoolError::Shape`] if the product of the axis lengths overflows, and all errors of
    /// [`Scope::try_acquire`]. No slot is taken in case of an error.
    fn try_acquire_array<T: PodElement, Sh: ShapeBuilder>(
        &self,
        shape: Sh,
    ) -> ArrayResult<'s, T, Sh::Dim>;

    /// Acquires an array of dynamic rank with unspecified contents, in row-major order.
    ///
    /// Allocates nothing if the slot has held the shape before, for any rank. The array is a
    /// reference to a header that the pool stores: use the reference directly, or slice it.
    /// `view_mut` creates a view by value, which copies the dims and allocates for more than 4
    /// axes.
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
    /// Panics with the error that [`try_acquire_array_dyn`](Self::try_acquire_array_dyn) returns.
    /// If the host has no memory for a new header, the slot stays taken until its scope ends.
    fn acquire_array_dyn<T: PodElement>(&self, dims: &[usize]) -> &'s mut ArrayRef<T, IxDyn>;

    /// Fallible version of [`acquire_array_dyn`](Self::acquire_array_dyn).
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`]. [`PoolError::Bookkeeping`] is also returned if the host has
    /// no memory for a new header. For more than 4 axes, `ndarray` itself allocates the dims and
    /// strides of a new header (`IxDyn`), and aborts the process if there is no memory.
    fn try_acquire_array_dyn<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, PoolError<CpuError>>;
}

impl<'s, B: HostMemory> AcquireArray<'s> for Scope<'s, B> {
    #[inline]
    #[track_caller]
    fn acquire_array<T: PodElement, Sh: ShapeBuilder>(
        &self,
        shape: Sh,
    ) -> ArrayViewMut<'s, T, Sh::Dim> {
        let shape = shape.into_shape_with_order();
        let elements = acquire_for(self, shape.raw_dim());
        // SAFETY: the elements were acquired for this shape.
        unsafe { view_of(elements, shape) }
    }

    #[inline]
    fn try_acquire_array<T: PodElement, Sh: ShapeBuilder>(
        &self,
        shape: Sh,
    ) -> ArrayResult<'s, T, Sh::Dim> {
        let shape = shape.into_shape_with_order();
        let elements = B::elements(self.try_acquire::<T, _>(count_of::<T, _>(shape.raw_dim())?)?);
        // SAFETY: the elements were acquired for this shape.
        Ok(unsafe { view_of(elements, shape) })
    }

    #[inline(always)]
    #[track_caller]
    fn acquire_array_dyn<T: PodElement>(&self, dims: &[usize]) -> &'s mut ArrayRef<T, IxDyn> {
        // SAFETY: only one exclusive array is created from the block. Safe code receives an `&mut
        // ArrayRef`, which is unsized and so cannot be swapped or replaced, and never receives the
        // descriptor.
        let parts = unsafe { self.acquire_described::<T>(dims) };
        let block = parts.block.cast();
        // SAFETY: the pool stores one descriptor for each element type, and this is the descriptor
        // for `T`.
        match unsafe { parts.descriptor.as_made::<T>(block, parts.shape) } {
            Ok(array) => array,
            // SAFETY: the block holds the product of the dims, which the acquire has checked, and
            // is aligned for `T`. No reference into the old array is in use.
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
                    // SAFETY: the block was just handed out, and no array was created from it.
                    unsafe { self.give_back_described(parts.taken) };
                    PoolError::Bookkeeping { requested }
                })
            }
        }
    }
}

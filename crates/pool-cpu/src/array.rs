//! Defines acquire methods that return `ndarray` views. Arrays of fixed rank are returned by value
//! in any shape that `ndarray` accepts. For a dynamic rank, the pool caches an `ndarray` header for
//! each shape. No memory is allocated if the cache already contains the header.

use ndarray::{ArrayRef, ArrayViewMut, IxDyn, ShapeBuilder};
use pool_core::{PodElement, PoolError, Scope};

use crate::cpu_memory::CpuMemory;
use crate::error::CpuError;
use crate::shaped::{acquire_for, count_of, view_of};

/// The result type of `try_` acquire methods that return an `ndarray` view.
pub type ArrayResult<'s, T, D> = Result<ArrayViewMut<'s, T, D>, PoolError<CpuError>>;

/// Acquire methods that return `ndarray` views.
///
/// # Shapes
///
/// A shape is any argument that `ndarray`'s own constructors accept: `4`, `(3, 4)`, `[3, 4]`,
/// `Dim([3, 4])`, or the `raw_dim()` of another array. Code that is generic over `D: Dimension` can
/// use any kind of shape. For a dynamic rank, the shape is `&[usize]` or `IxDyn`. Calling `.f()` on
/// a shape selects column-major (Fortran) order.
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
/// The compiler rejects shapes with custom strides, because a pool's arrays are contiguous. To
/// slice, reverse, or transpose an array, call the methods of the returned view.
///
/// ```compile_fail,E0277
/// use ndarray::ShapeBuilder;
/// use pool_cpu::AcquireArray;
/// # let mut pool = pool_core::Pool::<pool_cpu::Cpu>::new(());
/// let scope = pool.scope();
/// scope.acquire_array::<f64, _>((3, 4).strides((8, 2)));
/// ```
///
/// An array borrows its memory like any other view, so the pool cannot reuse the memory while the
/// array is alive.
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
/// [`IntoNdarray::into_ndarray`](crate::IntoNdarray::into_ndarray) converts any array that was
/// acquired with a shape. The array may contain zeros, a repeated value, computed elements, or
/// uninitialized memory.
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
    /// Acquires an array without initializing its elements, which may contain values from an
    /// earlier use of the memory.
    ///
    /// The method allocates no memory. If a dynamic rank exceeds 4, `ndarray` itself allocates
    /// memory for the axis lengths.
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

    /// The fallible version of [`acquire_array`](Self::acquire_array).
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
    /// Returns [`PoolError::Shape`] if the product of the axis lengths overflows. Otherwise returns
    /// the same errors as [`Scope::try_acquire`]. After a failure, the next acquired array uses the
    /// same slot.
    fn try_acquire_array<T: PodElement, Sh: ShapeBuilder>(
        &self,
        shape: Sh,
    ) -> ArrayResult<'s, T, Sh::Dim>;

    /// Acquires a row-major array of dynamic rank without initializing its elements.
    ///
    /// If the slot has already held an array of the same shape, the method allocates no memory,
    /// regardless of the rank. The returned array is a reference to a header owned by the pool. You
    /// can use or slice the array directly. Calling `view_mut` on the array copies the dimensions
    /// into a new view. If there are more than 4 axes, creating the view allocates memory for the
    /// dimensions.
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
    /// If the host cannot allocate a new header, the slot stays in use until its scope ends.
    fn acquire_array_dyn<T: PodElement>(&self, dims: &[usize]) -> &'s mut ArrayRef<T, IxDyn>;

    /// The fallible version of [`acquire_array_dyn`](Self::acquire_array_dyn).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`]. Returns [`PoolError::Bookkeeping`] if the
    /// host cannot allocate a new header. If there are more than 4 axes, `ndarray` itself allocates
    /// memory for a new header's dimensions and strides. If this allocation fails, `ndarray` aborts
    /// the process.
    fn try_acquire_array_dyn<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, PoolError<CpuError>>;
}

impl<'s, B: CpuMemory> AcquireArray<'s> for Scope<'s, B> {
    #[inline]
    #[track_caller]
    fn acquire_array<T: PodElement, Sh: ShapeBuilder>(
        &self,
        shape: Sh,
    ) -> ArrayViewMut<'s, T, Sh::Dim> {
        let shape = shape.into_shape_with_order();
        let elements = acquire_for(self, shape.raw_dim());
        // SAFETY: the elements were acquired for this shape, so their number is the product of the
        // shape's dimensions.
        unsafe { view_of(elements, shape) }
    }

    #[inline]
    fn try_acquire_array<T: PodElement, Sh: ShapeBuilder>(
        &self,
        shape: Sh,
    ) -> ArrayResult<'s, T, Sh::Dim> {
        let shape = shape.into_shape_with_order();
        let elements = B::elements(self.try_acquire::<T, _>(count_of::<T, _>(shape.raw_dim())?)?);
        // SAFETY: the elements were acquired for this shape, so their number is the product of the
        // shape's dimensions.
        Ok(unsafe { view_of(elements, shape) })
    }

    #[inline(always)]
    #[track_caller]
    fn acquire_array_dyn<T: PodElement>(&self, dims: &[usize]) -> &'s mut ArrayRef<T, IxDyn> {
        // SAFETY: only one exclusive array is created from the block. Safe code receives only an
        // `&mut ArrayRef`, never the descriptor. An `ArrayRef` is unsized, so safe code cannot swap
        // or replace it.
        let parts = unsafe { self.acquire_described::<T>(dims) };
        let block = parts.block.cast();
        // SAFETY: the pool stores one descriptor for each element type, and this descriptor belongs
        // to `T`.
        match unsafe { parts.descriptor.as_made::<T>(block, parts.shape) } {
            Ok(array) => array,
            // SAFETY: the acquire method has checked that the number of elements in the block
            // equals the product of the dimensions. The block is aligned for `T`. No reference to
            // the previous array is in use.
            Err(header) => unsafe { header.make_or_panic(block, parts.shape) },
        }
    }

    #[inline]
    fn try_acquire_array_dyn<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, PoolError<CpuError>> {
        // SAFETY: only one exclusive array is created from the block. Safe code cannot replace the
        // array or access the descriptor.
        let parts = unsafe { self.try_acquire_described::<T>(dims) }?;
        let block = parts.block.cast();
        // SAFETY: the pool stores one descriptor for each element type, and this descriptor belongs
        // to `T`.
        match unsafe { parts.descriptor.as_made::<T>(block, parts.shape) } {
            Ok(array) => Ok(array),
            Err(header) => {
                // SAFETY: the number of elements in the block equals the product of the dimensions,
                // and the block is aligned for `T`. No reference to the previous array is in use.
                let made = unsafe { header.make(block, parts.shape.dims()) };
                made.map_err(|requested| {
                    // SAFETY: the block was just acquired, and no array has been created from it.
                    unsafe { self.give_back_described(parts.taken) };
                    PoolError::Bookkeeping { requested }
                })
            }
        }
    }
}

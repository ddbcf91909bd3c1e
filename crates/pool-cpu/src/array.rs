//! Arrays as `ndarray` views: of fixed rank by value, at no cost; of dynamic rank through a header
//! that is kept beside the cached shape, so that a hit allocates nothing.

use std::any::TypeId;
use std::fmt;
use std::ptr::NonNull;

use ndarray::{ArrayRef, ArrayViewMut, Dim, Dimension, IntoDimension, IxDyn, RawArrayViewMut};
use pool_core::{DynamicShape, Element, NdArray, NdView, PodElement, PoolError, Scope, Shape};

use crate::backend::{Cpu, CpuError};

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
    fn acquire_array_dyn<T: PodElement>(&self, dims: &[usize]) -> &'s mut ArrayRef<T, IxDyn> {
        self.try_acquire_array_dyn(dims).unwrap_or_else(|error| fail(&error))
    }

    /// As [`acquire_array_dyn`](Self::acquire_array_dyn).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire_nd`].
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

    #[inline]
    fn try_acquire_array_dyn<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, PoolError<CpuError>> {
        // SAFETY: one exclusive array is made of the block. Safe code gets an `&mut ArrayRef`, which
        // is unsized and so cannot be swapped or replaced, and never the descriptor.
        let parts = unsafe { self.try_acquire_described::<T>(dims) }?;
        let array = parts.descriptor.array::<T>(parts.block.cast(), parts.shape);
        Ok(array)
    }
}

#[cold]
#[track_caller]
#[expect(clippy::panic, reason = "the documented behaviour of the twin without `try_`")]
fn fail(error: &PoolError<CpuError>) -> ! {
    panic!("{error}")
}

/// An `ndarray` header of dynamic rank, kept beside a cached shape.
///
/// It is made for one element type, one block and one shape: the shape cache's key has the element
/// type and the dims, and the set is dropped when the slot's block is replaced.
#[derive(Default)]
pub struct Header(Option<Erased>);

/// A boxed `ArrayViewMut<'static, T, IxDyn>` for a `T` that is remembered.
struct Erased {
    element: TypeId,
    header: NonNull<()>,
    drop: unsafe fn(NonNull<()>),
}

// SAFETY: a header is an address and lengths; it is used only together with the block it is for, which
// moves to another thread with its pool (`PoolBackend`'s contract), and `Element`s are plain data.
unsafe impl Send for Header {}

impl Header {
    /// The array of the block, in a header that is new or is exactly as it was made.
    #[inline]
    fn array<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> &'s mut ArrayRef<T, IxDyn> {
        let header = match self.reusable::<T>(block, shape) {
            Some(header) => header,
            None => self.make(block, shape),
        };
        // SAFETY: `reusable` and `make` return a live header of this type, owned by `self`, which is
        // borrowed exclusively for `'s`.
        let array: &'s mut ArrayViewMut<'static, T, IxDyn> = unsafe { &mut *header.as_ptr() };
        array
    }

    /// The header that is there, if a user of it has left it pointing at this block with this shape.
    ///
    /// An `&mut ArrayRef` allows safe code to change the header in place (`swap_axes`,
    /// `slice_collapse`), but not to put another address into it: what such methods do is derive
    /// addresses from the one that is there. So where the address is the block's, it is the one that
    /// the header was made with.
    #[inline]
    fn reusable<T: Element>(
        &mut self,
        block: NonNull<T>,
        shape: DynamicShape<'_>,
    ) -> Option<NonNull<ArrayViewMut<'static, T, IxDyn>>> {
        let erased = self.0.as_ref().filter(|erased| erased.element == TypeId::of::<T>())?;
        let header = erased.header.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: boxed by `make` for this element type, and borrowed by nobody: `self` is.
        let view = unsafe { header.as_ref() };
        let as_made = view.as_ptr() == block.as_ptr().cast_const()
            && same_dims(view.shape(), shape.dims())
            && same_strides(view.strides(), shape.strides());
        as_made.then_some(header)
    }

    /// Makes the header anew.
    #[cold]
    #[inline(never)]
    fn make<T: Element>(
        &mut self,
        block: NonNull<T>,
        shape: DynamicShape<'_>,
    ) -> NonNull<ArrayViewMut<'static, T, IxDyn>> {
        // SAFETY: the block holds the product of the dims, checked by the acquire, at an address that
        // is aligned for `T`; without strides the layout is row-major.
        let raw = unsafe { RawArrayViewMut::from_shape_ptr(IxDyn(shape.dims()), block.as_ptr()) };
        // SAFETY: for as long as the header is lent, the block is allocated and is its borrower's
        // alone; between loans it is not used.
        let view: ArrayViewMut<'static, T, IxDyn> = unsafe { raw.deref_into_view_mut() };
        let header = NonNull::from(Box::leak(Box::new(view)));
        self.0 = Some(Erased {
            element: TypeId::of::<T>(),
            header: header.cast(),
            drop: drop_header::<T>,
        });
        header
    }
}

/// # Safety
///
/// `header` came from `Header::make` for the element type `T`, and is not used afterwards.
unsafe fn drop_header<T: 'static>(header: NonNull<()>) {
    // SAFETY: boxed by `Header::make` as this type, and given up by the caller.
    drop(unsafe { Box::from_raw(header.cast::<ArrayViewMut<'static, T, IxDyn>>().as_ptr()) });
}

impl Drop for Erased {
    fn drop(&mut self) {
        // SAFETY: `drop` was made for the type of `header`, which is owned by `self`.
        unsafe { (self.drop)(self.header) };
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header").field("made", &self.0.is_some()).finish()
    }
}

/// Compared as bytes: unlike lengths that a caller has just written, these were written long ago.
#[inline]
fn same_dims(left: &[usize], right: &[usize]) -> bool {
    left == right
}

/// As [`same_dims`]; a row-major stride is never above `isize::MAX`.
#[inline]
fn same_strides(left: &[isize], right: &[usize]) -> bool {
    // SAFETY: both types have the same size and alignment, and any bytes are a value of either.
    let left = unsafe { std::slice::from_raw_parts(left.as_ptr().cast::<usize>(), left.len()) };
    left == right
}

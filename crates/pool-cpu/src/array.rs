//! Arrays as `ndarray` views: of fixed rank by value, at no cost; of dynamic rank through a header
//! that is kept beside the cached shape, so that a hit allocates nothing.

use std::alloc::{Layout, alloc};
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
    /// Where the error is that there is no memory for a header, the slot stays taken until its scope ends.
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

/// An `ndarray` header of dynamic rank, kept beside a cached shape.
///
/// It is made for one element type, one block and one shape: the shape cache's key has the element
/// type and the dims, and the set is dropped when the slot's block is replaced.
#[derive(Default)]
pub struct Header(Option<Erased>);

/// An `ArrayViewMut<'static, T, IxDyn>` on the heap, for a `T` that is remembered.
struct Erased {
    element: TypeId,
    header: NonNull<()>,
    drop: unsafe fn(NonNull<()>),
}

// SAFETY: a header is an address and lengths; it is used only together with the block it is for, which
// moves to another thread with its pool (`PoolBackend`'s contract), and `Element`s are plain data.
unsafe impl Send for Header {}

impl Header {
    /// The array of the block, if there is a header that is exactly as it was made; else the header, for
    /// [`make`](Self::make).
    ///
    /// # Safety
    ///
    /// If a header was made, it was for elements `T`.
    #[inline(always)]
    unsafe fn as_made<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, &'s mut Self> {
        let Some(erased) = &self.0 else { return Err(self) };
        // SAFETY: made for elements `T` (caller), and `self` is borrowed exclusively for `'s`.
        let view = unsafe { erased.view::<T>() };
        if is_as_made(view, block, shape) { Ok(view) } else { Err(self) }
    }

    /// Makes the header, or says how many bytes the host has not for it.
    ///
    /// # Safety
    ///
    /// If a header was made, it was for elements `T`, and nothing borrowed from it is in use; the rest as
    /// for [`view_of`].
    #[cold]
    #[inline(never)]
    unsafe fn make<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, usize> {
        // SAFETY: the caller's promise.
        let made = unsafe { view_of(block, dims) };
        let erased = match &self.0 {
            Some(erased) => {
                // SAFETY: as in `as_made`.
                *unsafe { erased.view::<T>() } = made;
                erased
            }
            None => self.0.insert(Erased::try_new(made)?),
        };
        // SAFETY: as in `as_made`.
        Ok(unsafe { erased.view::<T>() })
    }
}

impl Header {
    /// As [`make`](Self::make), with a panic instead of an error. The slot stays taken then: to give it
    /// back here would cost the hot path a register.
    ///
    /// # Safety
    ///
    /// As for [`make`](Self::make).
    #[cold]
    #[inline(never)]
    #[track_caller]
    #[expect(clippy::panic, reason = "the documented behaviour of the twin without `try_`")]
    unsafe fn make_or_panic<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> &'s mut ArrayRef<T, IxDyn> {
        // SAFETY: the caller's promise.
        match unsafe { self.make(block, shape.dims()) } {
            Ok(array) => array,
            Err(requested) => panic!("{}", PoolError::<CpuError>::Bookkeeping { requested }),
        }
    }
}

impl Erased {
    /// Puts a view on the heap; the bytes that the host has not where it cannot.
    fn try_new<T: Element>(view: ArrayViewMut<'static, T, IxDyn>) -> Result<Self, usize> {
        let layout = Layout::for_value(&view);
        // SAFETY: a view has a size.
        let memory = NonNull::new(unsafe { alloc(layout) }).ok_or(layout.size())?;
        let header = memory.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: just allocated for this type.
        unsafe { header.write(view) };
        Ok(Self { element: TypeId::of::<T>(), header: memory.cast(), drop: drop_header::<T> })
    }

    /// The view.
    ///
    /// # Safety
    ///
    /// It was made for elements `T`, and for `'s` nothing else refers to it.
    #[inline(always)]
    unsafe fn view<'s, T: Element>(&self) -> &'s mut ArrayViewMut<'static, T, IxDyn> {
        debug_assert_eq!(self.element, TypeId::of::<T>(), "a header of another element type");
        let mut header = self.header.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: made by `try_new` for this element type, and referred to by nothing else (caller).
        unsafe { header.as_mut() }
    }
}

/// The array of a block, which may be used while the block is its user's alone.
///
/// # Safety
///
/// The block holds the product of `dims` elements, and is aligned for `T`.
#[cold]
#[inline(never)]
unsafe fn view_of<T: Element>(
    block: NonNull<T>,
    dims: &[usize],
) -> ArrayViewMut<'static, T, IxDyn> {
    // SAFETY: the caller's promise; without strides the layout is row-major.
    let raw = unsafe { RawArrayViewMut::from_shape_ptr(IxDyn(dims), block.as_ptr()) };
    // SAFETY: for as long as the header is lent, the block is allocated and is its borrower's alone;
    // between loans it is not used.
    unsafe { raw.deref_into_view_mut() }
}

/// Whether the last user of a header has left it pointing at this block with this shape.
///
/// An `&mut ArrayRef` allows safe code to change the header in place (`swap_axes`, `slice_collapse`),
/// but not to put another address into it: what such methods do is derive addresses from the one that
/// is there. So where the address is the block's, it is the one that the header was made with.
#[inline(always)]
fn is_as_made<T>(header: &ArrayRef<T, IxDyn>, block: NonNull<T>, shape: DynamicShape<'_>) -> bool {
    let (dims, strides) = (header.shape(), as_lengths(header.strides()));
    let rank = shape.dims().len();
    if header.as_ptr() != block.as_ptr() || dims.len() != rank || strides.len() != rank {
        return false;
    }
    if !(PIECE..=2 * PIECE).contains(&rank) {
        return are_equal(dims, strides, shape);
    }
    // The first four and the last four, which may overlap: less than two calls of the C library.
    let different = |left: &[usize], right: &[usize], from: usize| {
        let left = left.as_ptr().wrapping_add(from).cast::<u128>();
        let right = right.as_ptr().wrapping_add(from).cast::<u128>();
        (0..size_of::<[usize; PIECE]>() / size_of::<u128>()).fold(0, |different, word| {
            // SAFETY: `rank` lengths have a piece at 0, and one that ends at the rank; this is part of it.
            let left = unsafe { left.wrapping_add(word).read_unaligned() };
            // SAFETY: as above.
            different | (left ^ unsafe { right.wrapping_add(word).read_unaligned() })
        })
    };
    let last = rank - PIECE;
    different(dims, shape.dims(), 0)
        | different(dims, shape.dims(), last)
        | different(strides, shape.strides(), 0)
        | different(strides, shape.strides(), last)
        == 0
}

/// Whether the lengths are those of the shape. By itself: two calls of the C library in its caller would
/// cost the other ranks a register.
#[inline(never)]
fn are_equal(dims: &[usize], strides: &[usize], shape: DynamicShape<'_>) -> bool {
    dims == shape.dims() && strides == shape.strides()
}

/// Lengths that are compared at once.
const PIECE: usize = 4;

/// # Safety
///
/// `header` came from `Erased::try_new` for the element type `T`, and is not used afterwards.
unsafe fn drop_header<T: 'static>(header: NonNull<()>) {
    // SAFETY: made by `try_new` as this type, from the global allocator with its layout, as `Box` does,
    // and given up by the caller.
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

/// Strides as lengths: a row-major stride is never above `isize::MAX`, so none is taken for another.
#[inline]
fn as_lengths(strides: &[isize]) -> &[usize] {
    // SAFETY: both types have the same size and alignment, and any bytes are a value of either.
    unsafe { std::slice::from_raw_parts(strides.as_ptr().cast(), strides.len()) }
}

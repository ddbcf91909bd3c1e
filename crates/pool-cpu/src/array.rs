//! Arrays as `ndarray` views: of fixed rank by value, at no cost; of dynamic rank through a header
//! that is kept beside the cached shape, so that a hit allocates nothing.

use std::alloc::{Layout, alloc};
use std::any::TypeId;
use std::fmt;
use std::ptr::NonNull;

use ndarray::{ArrayRef, ArrayViewMut, Dim, Dimension, IntoDimension, IxDyn, RawArrayViewMut};
use pool_core::{
    DynamicShape, Element, NdArray, NdView, PodElement, PoolError, Scope, Shape, SlotRef,
};

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

    #[inline]
    #[track_caller]
    fn acquire_array_dyn<T: PodElement>(&self, dims: &[usize]) -> &'s mut ArrayRef<T, IxDyn> {
        // SAFETY: one exclusive array is made of the block. Safe code gets an `&mut ArrayRef`, which is
        // unsized and so cannot be swapped or replaced, and never the descriptor.
        let parts = unsafe { self.acquire_described::<T>(dims) };
        let slot = parts.slot;
        // SAFETY: the pool keeps one descriptor for each element type, and this is the one for `T`.
        match unsafe { parts.descriptor.array::<T>(parts.block.cast(), parts.shape) } {
            Ok(array) => array,
            // SAFETY: of the described block there is no view, and the rest of it is out of use.
            Err(error) => panic_with(&unsafe { give_back(self, slot, error) }),
        }
    }

    #[inline]
    fn try_acquire_array_dyn<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, PoolError<CpuError>> {
        // SAFETY: as in `acquire_array_dyn`.
        let parts = unsafe { self.try_acquire_described::<T>(dims) }?;
        let slot = parts.slot;
        // SAFETY: as in `acquire_array_dyn`.
        unsafe { parts.descriptor.array::<T>(parts.block.cast(), parts.shape) }
            // SAFETY: as in `acquire_array_dyn`.
            .map_err(|error| unsafe { give_back(self, slot, error) })
    }
}

/// Gives back the slot of an array that has got no header.
///
/// # Safety
///
/// As for [`Scope::give_back_described`].
#[cold]
#[inline(never)]
unsafe fn give_back(
    scope: &Scope<'_, Cpu>,
    slot: SlotRef<Cpu>,
    error: NoHeader,
) -> PoolError<CpuError> {
    // SAFETY: the caller's promise.
    unsafe { scope.give_back_described(slot) };
    PoolError::Bookkeeping { requested: error.bytes }
}

#[cold]
#[inline(never)]
#[track_caller]
#[expect(clippy::panic, reason = "the documented behaviour of the twin without `try_`")]
fn panic_with(error: &PoolError<CpuError>) -> ! {
    panic!("{error}")
}

/// An `ndarray` header of dynamic rank, kept beside a cached shape.
///
/// It is made for one element type, one block and one shape: the shape cache's key has the element
/// type and the dims, and the set is dropped when the slot's block is replaced.
#[derive(Default)]
pub struct Header(Option<Erased>);

/// The host has no memory for a header.
#[derive(Clone, Copy)]
struct NoHeader {
    bytes: usize,
}

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
    /// The array of the block, in a header that is new or is exactly as it was made.
    ///
    /// # Safety
    ///
    /// If a header was made, it was for elements `T`; the rest as for [`view_of`].
    #[inline(always)]
    unsafe fn array<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, NoHeader> {
        let Some(erased) = &self.0 else {
            // SAFETY: the caller's promise.
            return unsafe { self.make(block, shape.dims()) };
        };
        debug_assert_eq!(erased.element, TypeId::of::<T>(), "a header of another element type");
        let header = erased.header.cast::<ArrayViewMut<'static, T, IxDyn>>().as_ptr();
        // SAFETY: boxed by `make` for this element type (caller), and borrowed by nobody: `self` is,
        // exclusively, for `'s`.
        let view: &'s mut ArrayViewMut<'static, T, IxDyn> = unsafe { &mut *header };
        if !is_as_made(view, block, shape) {
            // SAFETY: as in `make`.
            *view = unsafe { view_of(block, shape.dims()) };
        }
        Ok(view)
    }

    /// Makes the header.
    ///
    /// # Safety
    ///
    /// As for [`view_of`].
    #[cold]
    #[inline(never)]
    unsafe fn make<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, NoHeader> {
        let layout = Layout::new::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: a view has a size.
        let memory = NonNull::new(unsafe { alloc(layout) });
        let memory = memory.ok_or(NoHeader { bytes: layout.size() })?;
        let header = memory.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: the caller's promise.
        let view = unsafe { view_of(block, dims) };
        // SAFETY: just allocated for this type.
        unsafe { header.write(view) };
        self.0 = Some(Erased {
            element: TypeId::of::<T>(),
            header: header.cast(),
            drop: drop_header::<T>,
        });
        // SAFETY: just made, and owned by `self`, which is borrowed exclusively for `'s`.
        let view: &'s mut ArrayViewMut<'static, T, IxDyn> = unsafe { &mut *header.as_ptr() };
        Ok(view)
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
        return dims == shape.dims() && strides == shape.strides();
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

/// Lengths that are compared at once.
const PIECE: usize = 4;

/// # Safety
///
/// `header` came from `Header::make` for the element type `T`, and is not used afterwards.
unsafe fn drop_header<T: 'static>(header: NonNull<()>) {
    // SAFETY: made by `Header::make` as this type, from the global allocator with its layout, as `Box`
    // does, and given up by the caller.
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

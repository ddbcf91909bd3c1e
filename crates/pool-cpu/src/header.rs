//! The `ndarray` header of an array of dynamic rank, which the pool keeps beside the cached shape.

use alloc::alloc::{Layout, alloc};
use alloc::boxed::Box;
use core::any::TypeId;
use core::fmt;
use core::ptr::NonNull;

use ndarray::{ArrayRef, ArrayViewMut, IxDyn, RawArrayViewMut};
use pool_core::{DynamicShape, Element, PoolError};

use crate::error::CpuError;

/// An `ndarray` header of dynamic rank, kept beside a cached shape.
///
/// A header is made for one element type, one block and one shape. The shape cache's key has the
/// element type and the dims, and the set is dropped when the slot's block is replaced.
#[derive(Default)]
pub struct Header(Option<ErasedView>);

/// An `ArrayViewMut<'static, T, IxDyn>` on the heap, with its `T` erased.
struct ErasedView {
    element: TypeId,
    header: NonNull<()>,
    drop: unsafe fn(NonNull<()>),
}

// SAFETY: a header is an address and lengths. It is used only together with its block, which moves
// to another thread with its pool (`PoolBackend`'s contract), and `Element`s are plain data.
unsafe impl Send for Header {}

impl Header {
    /// Returns the array of the block, if there is a header that is exactly as it was made; else
    /// the header, for [`make`](Self::make).
    ///
    /// # Safety
    ///
    /// An existing header was made for elements `T`.
    #[inline(always)]
    pub(crate) unsafe fn as_made<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, &'s mut Self> {
        let Some(erased) = &self.0 else { return Err(self) };
        // SAFETY: made for elements `T` (caller), and `self` is borrowed exclusively for `'s`.
        let view = unsafe { erased.view::<T>() };
        if is_as_made(view, block, shape) { Ok(view) } else { Err(self) }
    }

    /// Makes the header. Fails with the bytes that the host lacks for it.
    ///
    /// # Safety
    ///
    /// An existing header was made for elements `T`, and nothing borrowed from it is in use. The
    /// rest is the same as for [`view_of`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn make<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, usize> {
        // SAFETY: the same contract, which the caller upholds.
        let made = unsafe { view_of(block, dims) };
        let erased = match &self.0 {
            Some(erased) => {
                // SAFETY: as in `as_made`.
                *unsafe { erased.view::<T>() } = made;
                erased
            }
            None => self.0.insert(ErasedView::new(made)?),
        };
        // SAFETY: as in `as_made`.
        Ok(unsafe { erased.view::<T>() })
    }

    /// Does the same as [`make`](Self::make), with a panic instead of an error. The slot stays
    /// taken after the panic: giving it back would cost the hot path a register.
    ///
    /// # Safety
    ///
    /// Same as for [`make`](Self::make).
    #[cold]
    #[inline(never)]
    #[track_caller]
    #[expect(clippy::panic, reason = "the documented behaviour of the twin without `try_`")]
    pub(crate) unsafe fn make_or_panic<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> &'s mut ArrayRef<T, IxDyn> {
        // SAFETY: the same contract, which the caller upholds.
        match unsafe { self.make(block, shape.dims()) } {
            Ok(array) => array,
            Err(requested) => panic!("{}", PoolError::<CpuError>::Bookkeeping { requested }),
        }
    }
}

impl ErasedView {
    /// Puts a view on the heap. Fails with the bytes that the host lacks for it.
    fn new<T: Element>(view: ArrayViewMut<'static, T, IxDyn>) -> Result<Self, usize> {
        let layout = Layout::for_value(&view);
        // SAFETY: a view has a size.
        let memory = NonNull::new(unsafe { alloc(layout) }).ok_or(layout.size())?;
        let header = memory.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: just allocated for this type.
        unsafe { header.write(view) };
        Ok(Self { element: TypeId::of::<T>(), header: memory.cast(), drop: drop_header::<T> })
    }

    /// Returns the view.
    ///
    /// # Safety
    ///
    /// The view was made for elements `T`, and for `'s` nothing else refers to it.
    #[inline(always)]
    unsafe fn view<'s, T: Element>(&self) -> &'s mut ArrayViewMut<'static, T, IxDyn> {
        debug_assert_eq!(self.element, TypeId::of::<T>(), "a header of another element type");
        let mut header = self.header.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: made by `new` for this element type, and referred to by nothing else (caller).
        unsafe { header.as_mut() }
    }
}

/// Makes the array of a block, valid while the block belongs to its user alone.
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
    // SAFETY: the caller upholds this contract; without strides the layout is row-major.
    let raw = unsafe { RawArrayViewMut::from_shape_ptr(IxDyn(dims), block.as_ptr()) };
    // SAFETY: while the header is lent, the block is allocated and belongs to its borrower alone;
    // between loans it is not used.
    unsafe { raw.deref_into_view_mut() }
}

/// Returns `true` if the last user of a header has left it pointing at this block with this shape.
///
/// An `&mut ArrayRef` allows safe code to change the header in place (`swap_axes`,
/// `slice_collapse`), but not to put an unrelated address into it: such methods derive addresses
/// from the existing one. So if the address is the block's, it is the one that the header was made
/// with.
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
    // The first four lengths and the last four, which may overlap, cost less than two calls of the C library.
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

/// Returns `true` if the lengths are those of the shape. This is a function of its own because two
/// calls of the C library in its caller would cost the other ranks a register.
#[inline(never)]
fn are_equal(dims: &[usize], strides: &[usize], shape: DynamicShape<'_>) -> bool {
    dims == shape.dims() && strides == shape.strides()
}

/// The number of lengths that are compared at once.
const PIECE: usize = 4;

/// # Safety
///
/// `header` came from `ErasedView::new` for the element type `T`, and is not used afterwards.
unsafe fn drop_header<T: 'static>(header: NonNull<()>) {
    // SAFETY: made by `new` as this type, from the global allocator with its layout, as `Box` does,
    // and given up by the caller.
    drop(unsafe { Box::from_raw(header.cast::<ArrayViewMut<'static, T, IxDyn>>().as_ptr()) });
}

impl Drop for ErasedView {
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

/// Returns strides as lengths: a row-major stride is never above `isize::MAX`, so they compare
/// equal only if they are.
#[inline]
fn as_lengths(strides: &[isize]) -> &[usize] {
    // SAFETY: both types have the same size and alignment, and any bytes are a value of either.
    unsafe { core::slice::from_raw_parts(strides.as_ptr().cast(), strides.len()) }
}

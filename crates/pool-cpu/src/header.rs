//! The `ndarray` header of an array of dynamic rank, which the pool stores with the cached shape.

use alloc::alloc::{Layout, alloc};
use alloc::boxed::Box;
use core::any::TypeId;
use core::fmt;
use core::ptr::NonNull;

use ndarray::{ArrayRef, ArrayViewMut, IxDyn, RawArrayViewMut};
use pool_core::{DynamicShape, Element, PoolError};

use crate::error::CpuError;

/// An `ndarray` header of dynamic rank, stored with a cached shape.
///
/// A header is created for one element type, one block and one shape. The shape cache is keyed by
/// element type and dims, and its entries are dropped when the slot's block is replaced.
#[derive(Default)]
pub struct Header(Option<ErasedView>);

/// An `ArrayViewMut<'static, T, IxDyn>` on the heap, with its `T` erased.
struct ErasedView {
    element: TypeId,
    header: NonNull<()>,
    drop: unsafe fn(NonNull<()>),
}

// SAFETY: a header consists of an address and lengths. It is used only together with its block,
// which moves to another thread with its pool (`PoolBackend`'s contract), and `Element`s are plain
// data.
unsafe impl Send for Header {}

impl Header {
    /// Returns the array of the block, if a header exists and is unchanged since it was created.
    /// Otherwise returns the header, so that the caller can call [`make`](Self::make).
    ///
    /// # Safety
    ///
    /// An existing header was created for elements of type `T`.
    #[inline(always)]
    pub(crate) unsafe fn as_made<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, &'s mut Self> {
        let Some(erased) = &self.0 else { return Err(self) };
        // SAFETY: the header was created for elements of type `T` (caller), and `self` is borrowed
        // exclusively for `'s`.
        let view = unsafe { erased.view::<T>() };
        if is_as_made(view, block, shape) { Ok(view) } else { Err(self) }
    }

    /// Creates the header. If the host has no memory, fails with the number of bytes requested.
    ///
    /// # Safety
    ///
    /// An existing header was created for elements of type `T`, and nothing borrowed from it is in
    /// use. The requirements of [`view_of`] also apply.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn make<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, usize> {
        // SAFETY: the caller upholds the same contract.
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

    /// Does the same as [`make`](Self::make), but panics instead of returning an error. The slot
    /// stays taken after the panic: giving it back would cost the hot path a register.
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
        // SAFETY: the caller upholds the same contract.
        match unsafe { self.make(block, shape.dims()) } {
            Ok(array) => array,
            Err(requested) => panic!("{}", PoolError::<CpuError>::Bookkeeping { requested }),
        }
    }
}

impl ErasedView {
    /// Moves a view to the heap. If the host has no memory, fails with the number of bytes
    /// requested.
    fn new<T: Element>(view: ArrayViewMut<'static, T, IxDyn>) -> Result<Self, usize> {
        let layout = Layout::for_value(&view);
        // SAFETY: the size of a view is not zero.
        let memory = NonNull::new(unsafe { alloc(layout) }).ok_or(layout.size())?;
        let header = memory.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: the memory was just allocated for this type.
        unsafe { header.write(view) };
        Ok(Self { element: TypeId::of::<T>(), header: memory.cast(), drop: drop_header::<T> })
    }

    /// Returns the view.
    ///
    /// # Safety
    ///
    /// The view was created for elements of type `T`, and for `'s` nothing else refers to it.
    #[inline(always)]
    unsafe fn view<'s, T: Element>(&self) -> &'s mut ArrayViewMut<'static, T, IxDyn> {
        debug_assert_eq!(self.element, TypeId::of::<T>(), "a header of another element type");
        let mut header = self.header.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: `new` created the view for this element type, and nothing else refers to it
        // (caller).
        unsafe { header.as_mut() }
    }
}

/// Creates the array of a block. The array is valid while only its user accesses the block.
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
    // SAFETY: the caller upholds this contract. Without explicit strides, the layout is row-major.
    let raw = unsafe { RawArrayViewMut::from_shape_ptr(IxDyn(dims), block.as_ptr()) };
    // SAFETY: while the header is lent, the block is allocated and belongs only to the borrower.
    // Between loans, the header is not used.
    unsafe { raw.deref_into_view_mut() }
}

/// Returns `true` if a header still points to this block with this shape, after its last user may
/// have changed it.
///
/// With an `&mut ArrayRef`, safe code can change the header in place (`swap_axes`,
/// `slice_collapse`), but cannot store an unrelated address in it: such methods derive addresses
/// from the existing one. If the address equals the block's address, it is therefore the address
/// that the header was created with.
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
    // Comparing the first four lengths and the last four, which may overlap, is cheaper than two
    // calls into the C library.
    let different = |left: &[usize], right: &[usize], from: usize| {
        let left = left.as_ptr().wrapping_add(from).cast::<u128>();
        let right = right.as_ptr().wrapping_add(from).cast::<u128>();
        (0..size_of::<[usize; PIECE]>() / size_of::<u128>()).fold(0, |different, word| {
            // SAFETY: a list of `rank` lengths contains four lengths that begin at 0, and four that
            // end at the rank. This word is part of one of them.
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

/// Returns `true` if the lengths are equal to the lengths of the shape. This is a separate function
/// because two calls into the C library in its caller would cost the other ranks a register.
#[inline(never)]
fn are_equal(dims: &[usize], strides: &[usize], shape: DynamicShape<'_>) -> bool {
    dims == shape.dims() && strides == shape.strides()
}

/// The number of lengths that are compared together.
const PIECE: usize = 4;

/// # Safety
///
/// `header` came from `ErasedView::new` for the element type `T`, and is not used afterwards.
unsafe fn drop_header<T: 'static>(header: NonNull<()>) {
    // SAFETY: `new` created this value with this type, in memory of the global allocator with the
    // type's layout, as for a `Box`. The caller gives it up.
    drop(unsafe { Box::from_raw(header.cast::<ArrayViewMut<'static, T, IxDyn>>().as_ptr()) });
}

impl Drop for ErasedView {
    fn drop(&mut self) {
        // SAFETY: `drop` was chosen for the type of `header`, which `self` owns.
        unsafe { (self.drop)(self.header) };
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header").field("made", &self.0.is_some()).finish()
    }
}

/// Returns strides as lengths. A row-major stride is never above `isize::MAX`, so the converted
/// values are equal only if the original values are.
#[inline]
fn as_lengths(strides: &[isize]) -> &[usize] {
    // SAFETY: both types have the same size and alignment, and any bytes are a valid value of
    // either type.
    unsafe { core::slice::from_raw_parts(strides.as_ptr().cast(), strides.len()) }
}

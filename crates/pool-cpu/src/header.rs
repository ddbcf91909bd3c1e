//! Defines the `ndarray` headers that the pool caches together with shapes of dynamic rank.

use alloc::alloc::{Layout, alloc};
use alloc::boxed::Box;
use core::any::TypeId;
use core::fmt;
use core::ptr::NonNull;

use ndarray::{ArrayRef, ArrayViewMut, IxDyn, RawArrayViewMut};
use pool_core::{DynamicShape, Element, PoolError};

use crate::error::CpuError;

/// An `ndarray` header of dynamic rank, cached together with its shape.
///
/// Each header is created for one element type, one block, and one shape. The shape cache finds an
/// entry by its element type and dimensions. The cache drops a slot's entries when the slot's block
/// is replaced.
#[derive(Default)]
pub struct Header(Option<ErasedView>);

/// A heap-allocated `ArrayViewMut<'static, T, IxDyn>` with its element type `T` erased.
struct ErasedView {
    element: TypeId,
    header: NonNull<()>,
    drop: unsafe fn(NonNull<()>),
}

// SAFETY: a header consists only of an address and lengths. A header is used only together with its
// block. Blocks can move to other threads. Every `Element` type is plain data.
unsafe impl Send for Header {}

impl Header {
    /// Returns the block's array if a header exists and has not changed since it was created. If
    /// the header is missing or has changed, the method returns `self` so that the caller can call
    /// [`make`](Self::make).
    ///
    /// # Safety
    ///
    /// If a header exists, it must have been created for elements of type `T`.
    #[inline(always)]
    pub(crate) unsafe fn as_made<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, &'s mut Self> {
        let Some(erased) = &self.0 else { return Err(self) };
        // SAFETY: the caller guarantees that the header was created for elements of type `T`.
        // `self` is borrowed exclusively for `'s`.
        let view = unsafe { erased.view::<T>() };
        if is_as_made(view, block, shape) { Ok(view) } else { Err(self) }
    }

    /// Creates the header for a block. If the host cannot allocate the header, the method returns
    /// the number of requested bytes.
    ///
    /// # Safety
    ///
    /// If a header exists, it must have been created for elements of type `T`. No value that
    /// borrows from the header may be in use. The requirements of [`view_of`] also apply.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn make<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        dims: &[usize],
    ) -> Result<&'s mut ArrayRef<T, IxDyn>, usize> {
        // SAFETY: the caller upholds the contract of `view_of`.
        let made = unsafe { view_of(block, dims) };
        let erased = match &self.0 {
            Some(erased) => {
                // SAFETY: the caller guarantees that the header was created for elements of type
                // `T`. `self` is borrowed exclusively for `'s`.
                *unsafe { erased.view::<T>() } = made;
                erased
            }
            None => self.0.insert(ErasedView::new(made)?),
        };
        // SAFETY: the header was created for elements of type `T`, and `self` is borrowed
        // exclusively for `'s`.
        Ok(unsafe { erased.view::<T>() })
    }

    /// Does the same as [`make`](Self::make), but panics instead of returning an error. After a
    /// panic, the slot stays in use, because returning it would require another register on the hot
    /// path.
    ///
    /// # Safety
    ///
    /// The safety requirements of [`make`](Self::make) apply.
    #[cold]
    #[inline(never)]
    #[track_caller]
    #[expect(clippy::panic, reason = "the documented behaviour of the twin without `try_`")]
    pub(crate) unsafe fn make_or_panic<'s, T: Element>(
        &'s mut self,
        block: NonNull<T>,
        shape: DynamicShape<'s>,
    ) -> &'s mut ArrayRef<T, IxDyn> {
        // SAFETY: the caller upholds the contract of `make`.
        match unsafe { self.make(block, shape.dims()) } {
            Ok(array) => array,
            Err(requested) => panic!("{}", PoolError::<CpuError>::Bookkeeping { requested }),
        }
    }
}

impl ErasedView {
    /// Moves a view to the heap. If the host cannot allocate memory for the view, the function
    /// returns the number of requested bytes.
    fn new<T: Element>(view: ArrayViewMut<'static, T, IxDyn>) -> Result<Self, usize> {
        let layout = Layout::for_value(&view);
        // SAFETY: the size of a view is never zero.
        let memory = NonNull::new(unsafe { alloc(layout) }).ok_or(layout.size())?;
        let header = memory.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: the memory was just allocated for this type.
        unsafe { header.write(view) };
        Ok(Self { element: TypeId::of::<T>(), header: memory.cast(), drop: drop_header::<T> })
    }

    /// Returns the view contained in the header.
    ///
    /// # Safety
    ///
    /// The view must have been created for elements of type `T`, and nothing else may refer to it
    /// during `'s`.
    #[inline(always)]
    unsafe fn view<'s, T: Element>(&self) -> &'s mut ArrayViewMut<'static, T, IxDyn> {
        debug_assert_eq!(self.element, TypeId::of::<T>(), "a header of another element type");
        let mut header = self.header.cast::<ArrayViewMut<'static, T, IxDyn>>();
        // SAFETY: `new` created the view for this element type. The caller guarantees that nothing
        // else refers to the view.
        unsafe { header.as_mut() }
    }
}

/// Creates an array from a block's elements. The array is valid as long as the block is accessed
/// only through it.
///
/// # Safety
///
/// The block must be aligned for `T`, and its number of elements must equal the product of `dims`.
#[cold]
#[inline(never)]
unsafe fn view_of<T: Element>(
    block: NonNull<T>,
    dims: &[usize],
) -> ArrayViewMut<'static, T, IxDyn> {
    // SAFETY: the caller guarantees that the block is aligned and that its number of elements
    // equals the product of `dims`. If no strides are specified, `ndarray` uses a row-major layout.
    let raw = unsafe { RawArrayViewMut::from_shape_ptr(IxDyn(dims), block.as_ptr()) };
    // SAFETY: while the header is borrowed, its block stays allocated and belongs only to the
    // borrower. The header is used only while it is borrowed.
    unsafe { raw.deref_into_view_mut() }
}

/// Returns `true` if a header still describes the given block and shape. A previous user might have
/// changed the header in place.
///
/// Safe code can change the header in place through an `&mut ArrayRef`, for example with
/// `swap_axes` or `slice_collapse`. `ndarray`'s methods derive each new address from the existing
/// one, so safe code cannot make the header point to unrelated memory. The block address that a
/// header stores therefore remains unchanged.
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
    // It is cheaper to compare the first four lengths and then the last four than to call the C
    // library twice, even if the two groups overlap.
    let different = |left: &[usize], right: &[usize], from: usize| {
        let left = left.as_ptr().wrapping_add(from).cast::<u128>();
        let right = right.as_ptr().wrapping_add(from).cast::<u128>();
        (0..size_of::<[usize; PIECE]>() / size_of::<u128>()).fold(0, |different, word| {
            // SAFETY: each list contains `rank` lengths, and `rank` is at least four. Each word
            // that the loop reads is within the first four or the last four lengths.
            let left = unsafe { left.wrapping_add(word).read_unaligned() };
            // SAFETY: the word is part of the first four or the last four of the `rank` lengths in
            // `right`.
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

/// Returns `true` if the dimensions and strides match the shape. This is a separate function
/// because it calls the C library twice. Inlining the calls to the C library would cost the caller
/// a register, even for ranks that do not need the calls.
#[inline(never)]
fn are_equal(dims: &[usize], strides: &[usize], shape: DynamicShape<'_>) -> bool {
    dims == shape.dims() && strides == shape.strides()
}

/// The number of lengths that each step compares.
const PIECE: usize = 4;

/// # Safety
///
/// `header` must have been created by `ErasedView::new` for the element type `T` and must not be
/// used after this call.
unsafe fn drop_header<T: 'static>(header: NonNull<()>) {
    // SAFETY: `ErasedView::new` wrote a value of this type to memory that the global allocator
    // allocated with the type's layout, as `Box` requires. The caller guarantees that the value is
    // not used again.
    drop(unsafe { Box::from_raw(header.cast::<ArrayViewMut<'static, T, IxDyn>>().as_ptr()) });
}

impl Drop for ErasedView {
    fn drop(&mut self) {
        // SAFETY: the `drop` function was created for the type of `header`, and `self` owns the
        // value that `header` points to.
        unsafe { (self.drop)(self.header) };
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header").field("made", &self.0.is_some()).finish()
    }
}

/// Returns the strides, reinterpreted as unsigned lengths. A row-major stride never exceeds
/// `isize::MAX`, so two converted values are equal only if the original values are equal.
#[inline]
fn as_lengths(strides: &[isize]) -> &[usize] {
    // SAFETY: both types have the same size and alignment, and every byte pattern is a valid value
    // of either type.
    unsafe { core::slice::from_raw_parts(strides.as_ptr().cast(), strides.len()) }
}

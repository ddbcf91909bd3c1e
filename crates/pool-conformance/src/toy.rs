//! The smallest backend that passes all tests. The toy backend shows what a new backend must
//! implement. The toy backend allocates words on the heap and never fails. It requires no ordering
//! of work, and attaches no data to cached shapes.

use std::convert::Infallible;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use pool_core::{
    Advice, Device, Element, HostBackend, PoolBackend, Reuse, SlotRef, Slots, ViewError,
};

/// A backend that allocates heap memory in words of 8 bytes.
#[derive(Debug)]
pub struct Toy;

// SAFETY: a block is a leaked boxed slice of zeroed words, which is aligned to 8 bytes and not
// shared. `free` reconstructs the box with the same number of words. Any thread may own and free a
// block. Host views need no ordering.
unsafe impl PoolBackend for Toy {
    type Layout = Slots;
    type Context = ();
    type Block = NonNull<u64>;
    type View<'s, T: Element> = &'s mut [T];
    type ViewRef<'s, T: Element> = &'s [T];
    type Descriptor = ();
    type Error = Infallible;
    type ViewError = ViewError;
    const ALIGN: usize = 8;
    const DANGLING: NonNull<u64> = NonNull::dangling();

    fn device((): &()) -> Device {
        Device { kind: "toy", ordinal: None }
    }
    fn allocate((): &(), bytes: usize, _: Advice) -> Result<NonNull<u64>, Infallible> {
        Ok(NonNull::from(Box::leak(vec![0_u64; bytes / 8].into_boxed_slice())).cast())
    }
    unsafe fn free((): &(), block: NonNull<u64>, bytes: usize) {
        let words = NonNull::slice_from_raw_parts(block, bytes / 8);
        // SAFETY: `allocate` leaked a box with this number of words. The caller gives up ownership
        // of the block.
        drop(unsafe { Box::from_raw(words.as_ptr()) });
    }
    unsafe fn view<'s, T: Element>(at: NonNull<u64>, _: SlotRef<Self>, n: usize) -> &'s mut [T] {
        // SAFETY: the caller guarantees that the block contains `n` valid elements, which are
        // borrowed exclusively for `'s`.
        unsafe { from_raw_parts_mut(at.cast().as_ptr(), n) }
    }
    unsafe fn view_ref<'s, T: Element>(at: NonNull<u64>, _: SlotRef<Self>, n: usize) -> &'s [T] {
        // SAFETY: the caller guarantees that the block contains `n` valid elements, which are only
        // read during `'s`.
        unsafe { from_raw_parts(at.cast().as_ptr(), n) }
    }
    unsafe fn reuse((): &(), _: NonNull<u64>, _: Reuse) -> Result<(), Infallible> {
        Ok(())
    }
    unsafe fn set_bytes((): &(), at: NonNull<u64>, value: u8, n: usize) -> Result<(), Infallible> {
        // SAFETY: the caller guarantees that the block contains `n` bytes and that no view of it
        // exists.
        unsafe { at.cast::<u8>().write_bytes(value, n) };
        Ok(())
    }
    unsafe fn fill<T: Element>(
        (): &(),
        at: NonNull<u64>,
        value: T,
        n: usize,
    ) -> Result<(), Infallible> {
        // SAFETY: the caller guarantees that the block contains `n` elements and that no view of it
        // exists.
        let elements = unsafe { from_raw_parts_mut(at.cast::<MaybeUninit<T>>().as_ptr(), n) };
        elements.fill(MaybeUninit::new(value));
        Ok(())
    }
    unsafe fn copy_from_host<T: Element>(
        (): &(),
        at: NonNull<u64>,
        from: &[T],
    ) -> Result<(), Infallible> {
        // SAFETY: the caller guarantees that the block contains this number of elements and that no
        // view of it exists.
        unsafe { at.cast().copy_from_nonoverlapping(NonNull::from(from).cast::<T>(), from.len()) };
        Ok(())
    }
}

// SAFETY: a block is the address of its words, and all words are valid. The dangling block is also
// aligned.
unsafe impl HostBackend for Toy {
    fn host_pointer(block: NonNull<u64>) -> *mut u8 {
        block.cast().as_ptr()
    }
}

//! A test backend that allocates ordinary heap blocks. The backend's [`Ledger`] records every block
//! and can refuse the n-th allocation. The ledger also checks that each block is freed with the
//! size with which it was allocated.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use pool_core::{
    Advice, Device, Element, HostBackend, HostMemory, PoolBackend, Reuse, SharedBackend, SlotRef,
    Slots, StackedBackend, ViewError,
};

use crate::ledger::{Ledger, RefusalError};

/// A backend for host memory from the global allocator, monitored by a [`Ledger`].
#[derive(Debug)]
pub struct HeapBackend;

impl Ledger {
    /// Frees the memory of all [`HeapBackend`] blocks that a pool has leaked. The pool must have
    /// been dropped.
    pub fn free_leaked(&self) {
        for (block, bytes) in self.take_heap_blocks() {
            // SAFETY: the ledger has recorded that this block was allocated with this layout. No
            // pool tracks the block anymore.
            unsafe { dealloc(block.as_ptr(), layout(bytes)) };
        }
    }
}

/// # Panics
///
/// Returns a block's layout. Panics if `bytes` is not a size that a pool may request.
fn layout(bytes: usize) -> Layout {
    assert!(bytes > 0 && bytes % HeapBackend::ALIGN == 0, "a pool must not ask for {bytes} bytes");
    Layout::from_size_align(bytes, HeapBackend::ALIGN).expect("a size that a pool may ask for")
}

// SAFETY: blocks come from the global allocator, are aligned to `ALIGN`, and are initialized with
// zeros. Blocks do not move, and any thread may free them. `free` deallocates each block with the
// layout that was used to allocate it, as the ledger verifies. `free` panics only if the pool
// violated its side of the contract. A panic in `free` makes a test fail but does not abort the
// process. Views are slices that contain exactly the requested elements.
unsafe impl PoolBackend for HeapBackend {
    type Layout = Slots;
    type Context = Ledger;
    type Block = NonNull<u8>;
    type View<'s, T: Element> = &'s mut [T];
    type ViewRef<'s, T: Element> = &'s [T];
    type Descriptor = u64;
    type Error = RefusalError;
    type ViewError = ViewError;

    const ALIGN: usize = 64;
    const MAX_ALIGN: usize = 1 << (usize::BITS - 1);
    const DANGLING: NonNull<u8> = NonNull::<BlockAlignment>::dangling().cast();

    #[inline(always)]
    fn align_block(block: NonNull<u8>, align: usize) -> NonNull<u8> {
        let padding = block.addr().get().wrapping_neg() & (align - 1);
        // The address of a block at the very top of the address space is not rounded up because the
        // result would be zero.
        NonNull::new(block.as_ptr().wrapping_add(padding)).unwrap_or(block)
    }

    fn device(_: &Ledger) -> Device {
        Device { kind: "heap", ordinal: None }
    }

    fn allocate(ledger: &Ledger, bytes: usize, _: Advice) -> Result<NonNull<u8>, RefusalError> {
        let layout = layout(bytes);
        ledger.ask(bytes)?;
        // SAFETY: the layout has a nonzero size.
        let pointer = unsafe { alloc_zeroed(layout) };
        let block = NonNull::new(pointer).ok_or(RefusalError { bytes })?;
        ledger.given_on_heap(block, bytes);
        Ok(block)
    }

    unsafe fn free(ledger: &Ledger, block: NonNull<u8>, bytes: usize) {
        let noted = ledger.freed(block.addr().get(), bytes);
        assert!(noted, "freed with other bytes than allocated, or twice");
        // SAFETY: the assertion checked that the block was allocated with this layout. The caller
        // gives up ownership of the block.
        unsafe { dealloc(block.as_ptr(), layout(bytes)) };
    }

    fn settle(ledger: &Ledger) {
        ledger.note_settled();
    }

    unsafe fn view<'s, T: Element>(
        block: NonNull<u8>,
        slot: SlotRef<Self>,
        length: usize,
    ) -> &'s mut [T] {
        let _ = slot;
        // SAFETY: the caller guarantees that the block contains `length` valid elements, which are
        // borrowed exclusively for `'s`. `align_block` has aligned the block for `T`. A view of the
        // dangling block contains no bytes.
        unsafe { std::slice::from_raw_parts_mut(block.cast().as_ptr(), length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s [T] {
        // SAFETY: the caller guarantees that the block contains `length` valid elements, which are
        // only read during `'s`. `align_block` has aligned the block for `T`. A view of the
        // dangling block contains no bytes.
        unsafe { std::slice::from_raw_parts(block.cast().as_ptr(), length) }
    }

    unsafe fn reuse(ledger: &Ledger, _: NonNull<u8>, why: Reuse) -> Result<(), RefusalError> {
        ledger.note_reuse(why)
    }

    unsafe fn set_bytes(
        _: &Ledger,
        block: NonNull<u8>,
        value: u8,
        bytes: usize,
    ) -> Result<(), RefusalError> {
        // SAFETY: the caller guarantees that the block contains `bytes` bytes and that no view of
        // it exists.
        unsafe { block.write_bytes(value, bytes) };
        Ok(())
    }

    unsafe fn fill<T: Element>(
        _: &Ledger,
        block: NonNull<u8>,
        value: T,
        length: usize,
    ) -> Result<(), RefusalError> {
        for index in 0..length {
            // SAFETY: the caller guarantees that the block contains `length` elements.
            let place = unsafe { block.cast::<T>().add(index) };
            // SAFETY: the address lies within the block and is aligned for `T`. The caller
            // guarantees that no view of the block exists.
            unsafe { place.write(value) };
        }
        Ok(())
    }

    unsafe fn copy_from_host<T: Element>(
        _: &Ledger,
        block: NonNull<u8>,
        source: &[T],
    ) -> Result<(), RefusalError> {
        let from = NonNull::from(source).cast::<T>();
        // SAFETY: the caller guarantees that the block contains `source.len()` elements. The block
        // does not overlap `source`, because no live slice can overlap a block without views.
        unsafe { block.cast::<T>().copy_from_nonoverlapping(from, source.len()) };
        Ok(())
    }
}

/// A type that has the same alignment as a block. The dangling block is created from this type.
#[repr(align(64))]
struct BlockAlignment;

// SAFETY: a block is an aligned pointer to host memory and is valid for all of the block's bytes.
// The dangling block is also aligned.
unsafe impl HostBackend for HeapBackend {
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}

// SAFETY: a block is a pointer whose address is a multiple of `ALIGN`. Every method except `free`
// accepts a pointer to any part of a block. The views are slices, which do not store their slot.
unsafe impl StackedBackend for HeapBackend {
    fn address(block: NonNull<u8>) -> NonNull<u8> {
        block
    }

    fn block_at(address: NonNull<u8>) -> NonNull<u8> {
        address
    }

    /// Returns `true` if both contexts use the same ledger.
    fn may_exchange_blocks(own: &Ledger, other: &Ledger) -> bool {
        own.is_same(other)
    }
}

// SAFETY: the backend provides no barrier, so the requirements for barriers do not apply.
unsafe impl SharedBackend for HeapBackend {
    type Memory = HostMemory<Self>;
    type Origin = Ledger;

    fn origin(context: Ledger) -> Ledger {
        context
    }
}

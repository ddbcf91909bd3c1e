//! A backend for tests: plain heap blocks. Its [`Ledger`] notes every block, refuses the n-th
//! allocation on request, and checks that a block is freed with the bytes that it was allocated
//! with.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use pool_core::{
    Advice, Device, Element, HostBackend, HostMemory, PoolBackend, Reuse, SharedBackend, SlotRef,
    Slots, StackedBackend, ViewError,
};

use crate::ledger::{Ledger, RefusalError};

/// Host memory from the global allocator, watched by a [`Ledger`].
#[derive(Debug)]
pub struct HeapBackend;

impl Ledger {
    /// Frees the memory of the blocks of a [`HeapBackend`] that their pool leaked. The pool is
    /// gone.
    pub fn free_leaked(&self) {
        for (block, bytes) in self.take_heap_blocks() {
            // SAFETY: a block of the ledger, allocated with this layout, that no pool knows any longer.
            unsafe { dealloc(block.as_ptr(), layout(bytes)) };
        }
    }
}

/// # Panics
///
/// Panics if a pool may not request `bytes` bytes.
fn layout(bytes: usize) -> Layout {
    assert!(bytes > 0 && bytes % HeapBackend::ALIGN == 0, "a pool must not ask for {bytes} bytes");
    Layout::from_size_align(bytes, HeapBackend::ALIGN).expect("a size that a pool may ask for")
}

// SAFETY: blocks come from the global allocator with `ALIGN` and zeroed, which is initialised. They
// do not move, belong to no thread, and `free` returns them with the layout that they were
// allocated with, which the ledger checks. It panics only where the pool broke its own side of the
// contract, which fails a test and aborts nothing. Views are slices of exactly the requested
// elements.
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
        // An address of the top of the address space would be null: there is no block.
        NonNull::new(block.as_ptr().wrapping_add(padding)).unwrap_or(block)
    }

    fn device(_: &Ledger) -> Device {
        Device { kind: "heap", ordinal: None }
    }

    fn allocate(ledger: &Ledger, bytes: usize, _: Advice) -> Result<NonNull<u8>, RefusalError> {
        let layout = layout(bytes);
        ledger.ask(bytes)?;
        // SAFETY: the layout has a size.
        let pointer = unsafe { alloc_zeroed(layout) };
        let block = NonNull::new(pointer).ok_or(RefusalError { bytes })?;
        ledger.given_on_heap(block, bytes);
        Ok(block)
    }

    unsafe fn free(ledger: &Ledger, block: NonNull<u8>, bytes: usize) {
        let noted = ledger.freed(block.addr().get(), bytes);
        assert!(noted, "freed with other bytes than allocated, or twice");
        // SAFETY: allocated with this layout, as just checked; the caller gives it up.
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
        // SAFETY: the caller promises `length` valid elements at the block, exclusively for `'s`;
        // the block is aligned for `T` (`align_block`), and a dangling block comes with zero bytes.
        unsafe { std::slice::from_raw_parts_mut(block.cast().as_ptr(), length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s [T] {
        // SAFETY: as in `view`, shared.
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
        // SAFETY: the block holds `bytes` bytes and nothing views it (caller).
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
            // SAFETY: the block holds `length` elements (caller).
            let place = unsafe { block.cast::<T>().add(index) };
            // SAFETY: within the block, aligned for `T`, and viewed by nothing (caller).
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
        // SAFETY: the block holds this number of elements (caller); a live slice is no part of it.
        unsafe { block.cast::<T>().copy_from_nonoverlapping(from, source.len()) };
        Ok(())
    }
}

/// The alignment of a block, for a dangling pointer.
#[repr(align(64))]
struct BlockAlignment;

// SAFETY: a block is a pointer to host memory, valid for all of its bytes and aligned; the dangling
// one is aligned.
unsafe impl HostBackend for HeapBackend {
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}

// SAFETY: a block is a pointer, a multiple of `ALIGN`. Every method but `free` accepts a pointer
// within a block, and views are slices that keep no slot.
unsafe impl StackedBackend for HeapBackend {
    fn address(block: NonNull<u8>) -> NonNull<u8> {
        block
    }

    fn block_at(address: NonNull<u8>) -> NonNull<u8> {
        address
    }

    /// Returns `true` for contexts of one ledger.
    fn may_exchange_blocks(own: &Ledger, other: &Ledger) -> bool {
        own.is_same(other)
    }
}

// SAFETY: there is no barrier.
unsafe impl SharedBackend for HeapBackend {
    type Memory = HostMemory<Self>;
    type Origin = Ledger;

    fn origin(context: Ledger) -> Ledger {
        context
    }
}

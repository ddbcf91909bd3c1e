//! Implements the host memory backend, which allocates blocks, writes to them, and creates views of
//! them.

use core::ptr::NonNull;

use pool_core::{
    Advice, Device, Element, HostBackend, HostMemory, PoolBackend, Reuse, SharedBackend, SlotRef,
    Slots, StackedBackend, ViewError,
};

use crate::barrier::barrier_on_all_threads;
use crate::block;
use crate::error::CpuError;

/// A backend for host memory. `Cpu` is a zero-sized marker type that names a pool's backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu;

/// A type that has the same alignment as a block and is used to create dangling pointers.
#[repr(align(64))]
struct BlockAlignment;

const _: () = assert!(align_of::<BlockAlignment>() == Cpu::ALIGN);

// SAFETY: `block::allocate` returns new, zeroed, and aligned memory that does not move and is not
// bound to a thread. `block::free` uses the allocator that allocated the block. Only the size
// determines whether a block is mapped or comes from the global allocator. Host memory needs no
// ordering, because all work on a view has completed when the view's lifetime ends. Each view is a
// slice of exactly the requested elements. No method retains a reference to its arguments or uses a
// pool. If an allocator hook calls the pool during `allocate` or `free`, the pool rejects the call
// with `PoolError::Reentered`.
unsafe impl PoolBackend for Cpu {
    type Layout = Slots;
    type Context = ();
    type Block = NonNull<u8>;
    type View<'s, T: Element> = &'s mut [T];
    type ViewRef<'s, T: Element> = &'s [T];
    #[cfg(feature = "ndarray")]
    type Descriptor = crate::header::Header;
    #[cfg(not(feature = "ndarray"))]
    type Descriptor = ();
    type Error = CpuError;
    type ViewError = ViewError;

    const ALIGN: usize = block::ALIGN;
    const MAX_ALIGN: usize = 1 << (usize::BITS - 1);
    const DANGLING: NonNull<u8> = NonNull::<BlockAlignment>::dangling().cast();

    #[inline(always)]
    fn align_block(block: NonNull<u8>, align: usize) -> NonNull<u8> {
        let padding = block.addr().get().wrapping_neg() & (align - 1);
        // The aligned address cannot be null, because no block extends to the end of the address
        // space.
        NonNull::new(block.as_ptr().wrapping_add(padding)).unwrap_or(block)
    }

    fn device((): &()) -> Device {
        Device { kind: "cpu", ordinal: None }
    }

    fn allocate((): &(), bytes: usize, advice: Advice) -> Result<NonNull<u8>, CpuError> {
        block::allocate(bytes, advice.huge_pages).ok_or(CpuError { bytes })
    }

    unsafe fn free((): &(), block: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller upholds the contract of `block::free`.
        unsafe { block::free(block, bytes) };
    }

    #[inline(always)]
    unsafe fn view<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s mut [T] {
        // SAFETY: the caller guarantees that the block holds `length` valid elements, and that no
        // other code accesses these elements during `'s`. `align_block` ensures that the block is
        // aligned for `T`. A dangling block is passed only for views that contain no bytes.
        unsafe { core::slice::from_raw_parts_mut(block.cast().as_ptr(), length) }
    }

    #[inline(always)]
    unsafe fn view_ref<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s [T] {
        // SAFETY: the caller guarantees that the block holds `length` valid elements and is aligned
        // for `T`. The caller also guarantees that only shared views are used during `'s`.
        unsafe { core::slice::from_raw_parts(block.cast().as_ptr(), length) }
    }

    unsafe fn reuse((): &(), _: NonNull<u8>, _: Reuse) -> Result<(), CpuError> {
        Ok(())
    }

    #[inline]
    unsafe fn set_bytes(
        (): &(),
        block: NonNull<u8>,
        value: u8,
        bytes: usize,
    ) -> Result<(), CpuError> {
        // SAFETY: the caller guarantees that the block holds `bytes` bytes and that no view of it
        // is in use.
        unsafe { block.write_bytes(value, bytes) };
        Ok(())
    }

    #[inline]
    unsafe fn fill<T: Element>(
        (): &(),
        block: NonNull<u8>,
        value: T,
        length: usize,
    ) -> Result<(), CpuError> {
        let start = block.cast::<T>();
        for index in 0..length {
            // SAFETY: the caller guarantees that the block holds `length` elements. The index is
            // less than `length`.
            let place = unsafe { start.add(index) };
            // SAFETY: the address is within the block and aligned for `T`. The caller guarantees
            // that no view of the block is in use.
            unsafe { place.write(value) };
        }
        Ok(())
    }

    #[inline]
    unsafe fn copy_from_host<T: Element>(
        (): &(),
        block: NonNull<u8>,
        source: &[T],
    ) -> Result<(), CpuError> {
        let from = NonNull::from(source).cast::<T>();
        // SAFETY: the caller guarantees that the block holds `source.len()` elements. The block is
        // aligned for `T`. No live slice can overlap a block that has no views.
        unsafe { block.cast::<T>().copy_from_nonoverlapping(from, source.len()) };
        Ok(())
    }
}

// SAFETY: each block is a pointer to host memory that is aligned to `ALIGN` and valid for all bytes
// of the block. The dangling block is also aligned to `ALIGN`.
unsafe impl HostBackend for Cpu {
    #[inline(always)]
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}

// SAFETY: each block is a pointer whose address is a multiple of `ALIGN`. Every method except
// `free` accepts a pointer to any part of a block. The views are slices and do not store a
// `SlotRef`.
unsafe impl StackedBackend for Cpu {
    #[inline(always)]
    fn address(block: NonNull<u8>) -> NonNull<u8> {
        block
    }

    #[inline(always)]
    fn block_at(address: NonNull<u8>) -> NonNull<u8> {
        address
    }

    unsafe fn discard((): &(), block: NonNull<u8>, bytes: usize, from: usize) -> usize {
        // SAFETY: the caller upholds the contract of `block::discard`.
        unsafe { block::discard(block, bytes, from) }
    }
}

// SAFETY: `barrier_on_all_threads` returns `true` only if the barrier has run on all threads.
unsafe impl SharedBackend for Cpu {
    type Memory = HostMemory<Self>;
    type Origin = ();

    fn origin((): ()) {}

    fn barrier_on_all_threads() -> bool {
        barrier_on_all_threads()
    }
}

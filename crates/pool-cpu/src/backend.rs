//! The backend: allocation, writes and views of host memory.

use core::ptr::NonNull;

use pool_core::{
    Advice, Device, Element, HostBackend, HostMemory, PoolBackend, Reuse, SharedBackend, SlotRef,
    Slots, StackedBackend, ViewError,
};

use crate::barrier::barrier_on_all_threads;
use crate::block;
use crate::error::CpuError;

/// Host memory. This type is a marker of size zero: name it as the backend of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu;

/// The alignment of a block, for a dangling pointer.
#[repr(align(64))]
struct BlockAlignment;

const _: () = assert!(align_of::<BlockAlignment>() == Cpu::ALIGN);

// SAFETY: `block::allocate` returns new, zeroed memory of the right alignment that does not move
// and is not bound to a thread. `block::free` frees memory in the way that matches the allocation,
// which depends only on the size. Host memory needs no ordering: a view's work ends with its use.
// Views are slices of exactly the elements requested. No method keeps a reference to its arguments,
// and no method calls a pool. An allocator's hook that `allocate` and `free` run may call a pool,
// which refuses the call (`PoolError::Reentered`).
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
        // At the end of the address space, the sum would be null, but no block is at that address.
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
        // SAFETY: the caller guarantees `length` valid elements at the block, exclusively for `'s`.
        // The block is aligned for `T` (`align_block`), and a dangling block is passed only with
        // zero bytes.
        unsafe { core::slice::from_raw_parts_mut(block.cast().as_ptr(), length) }
    }

    #[inline(always)]
    unsafe fn view_ref<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s [T] {
        // SAFETY: as in `view`, for a shared slice.
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
        // SAFETY: the block holds `bytes` bytes and nothing views it (caller).
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
            // SAFETY: the block holds `length` elements (caller).
            let place = unsafe { start.add(index) };
            // SAFETY: the address is within the block and aligned for `T`, and nothing views the
            // block (caller).
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
        // SAFETY: the block holds `source.len()` elements (caller) and is aligned for `T`. A live
        // slice cannot be part of a block without views.
        unsafe { block.cast::<T>().copy_from_nonoverlapping(from, source.len()) };
        Ok(())
    }
}

// SAFETY: a block is a pointer to host memory, valid for all of its bytes and aligned to `ALIGN`.
// The dangling block is also aligned.
unsafe impl HostBackend for Cpu {
    #[inline(always)]
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}

// SAFETY: a block is a pointer whose address is a multiple of `ALIGN`. Every method except `free`
// accepts a pointer within a block. Views are slices that store no slot.
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

// SAFETY: the barrier ran on all threads if it returns `true`.
unsafe impl SharedBackend for Cpu {
    type Memory = HostMemory<Self>;
    type Origin = ();

    fn origin((): ()) {}

    fn barrier_on_all_threads() -> bool {
        barrier_on_all_threads()
    }
}

//! Implements the wgpu backend, which allocates, frees, fills, and copies buffers for a pool, and
//! creates the pool's views.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pool_core::{Advice, Device, Element, PoolBackend, Reuse, SlotRef, Slots};

use crate::block_part::bytes_of;
use crate::error::WgpuError;
use crate::memory::{ALIGN, Allocation, Wgpu, WgpuBlock};
use crate::stream::Stream;
use crate::view::{BufferView, BufferViewMut};

// SAFETY: a block is the address of a boxed record that describes one buffer. `allocate` creates
// the record, `free` drops it, and nothing else owns the buffer. New WebGPU buffers are zeroed. The
// host cannot access the memory of these buffers. Each buffer's identity is a multiple of `ALIGN`,
// and no two buffers share a byte index. All fills, uploads, and commands that use views are
// recorded in the stream's only encoder. Commands keep their buffers alive, so wgpu destroys a
// buffer only after all commands that use it have completed. `free` and `settle` catch panics. The
// stream's lock is never held while wgpu runs. A view accesses the context only through its slot.
unsafe impl PoolBackend for Wgpu {
    type Layout = Slots;
    type Context = Stream;
    type Block = WgpuBlock;
    type View<'s, T: Element> = BufferViewMut<'s, T>;
    type ViewRef<'s, T: Element> = BufferView<'s, T>;
    type Descriptor = ();
    type Error = WgpuError;
    type ViewError = WgpuError;

    const ALIGN: usize = ALIGN;
    const DANGLING: WgpuBlock = WgpuBlock::NOTHING;

    fn device(_: &Stream) -> Device {
        Device { kind: "wgpu", ordinal: None }
    }

    fn allocate(stream: &Stream, bytes: usize, _: Advice) -> Result<WgpuBlock, WgpuError> {
        stream.allocate(bytes).map(WgpuBlock::of)
    }

    unsafe fn free(stream: &Stream, block: WgpuBlock, bytes: usize) {
        // SAFETY: the block was returned by `allocate`, and the caller guarantees that it has not
        // been freed.
        let Some(allocation) = (unsafe { block.take() }) else { return };
        // A log subscriber or a watch might panic. The panic hook has already printed the message,
        // so this method discards the panic.
        let _ = catch_unwind(AssertUnwindSafe(|| stream.free(allocation, bytes)));
    }

    fn settle(stream: &Stream) {
        let _ = catch_unwind(AssertUnwindSafe(|| stream.settle()));
    }

    #[inline(always)]
    unsafe fn view<'s, T: Element>(
        block: WgpuBlock,
        slot: SlotRef<Self>,
        length: usize,
    ) -> BufferViewMut<'s, T> {
        // SAFETY: the caller upholds this method's safety contract.
        unsafe { BufferViewMut::new(block, slot, length) }
    }

    #[inline(always)]
    unsafe fn view_ref<'s, T: Element>(
        block: WgpuBlock,
        slot: SlotRef<Self>,
        length: usize,
    ) -> BufferView<'s, T> {
        // SAFETY: the caller upholds this method's safety contract.
        unsafe { BufferView::new(block, slot, length) }
    }

    /// Does nothing, because stream order is sufficient for all work that uses a view. The pool
    /// never arms a slot of this backend.
    unsafe fn reuse(_: &Stream, _: WgpuBlock, _: Reuse) -> Result<(), WgpuError> {
        Ok(())
    }

    unsafe fn set_bytes(
        stream: &Stream,
        block: WgpuBlock,
        value: u8,
        bytes: usize,
    ) -> Result<(), WgpuError> {
        // SAFETY: the caller guarantees that the block is allocated during the call.
        unsafe { fill(stream, block, &[value], bytes) }
    }

    unsafe fn fill<T: Element>(
        stream: &Stream,
        block: WgpuBlock,
        value: T,
        length: usize,
    ) -> Result<(), WgpuError> {
        let value = [value];
        // SAFETY: the caller guarantees that the block is allocated during the call.
        unsafe { fill(stream, block, bytes_of(&value), length * size_of::<T>()) }
    }

    unsafe fn copy_from_host<T: Element>(
        stream: &Stream,
        block: WgpuBlock,
        source: &[T],
    ) -> Result<(), WgpuError> {
        // SAFETY: the caller guarantees that the block is allocated during the call.
        let Some(allocation) = (unsafe { block.allocation() }) else { return Ok(()) };
        stream.with(|recorder| recorder.upload(allocation, 0, bytes_of(source)))
    }
}

/// Fills the first `bytes` bytes of a block and the rest of the last word. No view uses the other
/// bytes of that word.
///
/// # Safety
///
/// The block must stay allocated during the call.
unsafe fn fill(
    stream: &Stream,
    block: WgpuBlock,
    element: &[u8],
    bytes: usize,
) -> Result<(), WgpuError> {
    // SAFETY: the caller guarantees that the block is allocated during the call.
    let allocation: Option<&Allocation> = unsafe { block.allocation() };
    let Some(allocation) = allocation else { return Ok(()) };
    let end = (bytes as u64).next_multiple_of(4);
    stream.with(|recorder| recorder.fill(allocation, 0, end, element))
}

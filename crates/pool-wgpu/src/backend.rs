//! The wgpu backend: allocates, frees, writes and views buffers for a pool.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pool_core::{Advice, Device, Element, PoolBackend, Reuse, SlotRef, Slots};

use crate::error::WgpuError;
use crate::memory::{ALIGN, Allocation, Wgpu, WgpuBlock};
use crate::part::bytes_of;
use crate::stream::Stream;
use crate::view::{BufferView, BufferViewMut};

// SAFETY: a block is the address of a record for one buffer. `allocate` boxes the record, `free`
// takes it, and the buffer has no other owner. WebGPU returns zeroed buffers, which the host cannot
// see. Identities are multiples of `ALIGN` and number the bytes of all buffers ever created. Fills,
// uploads and all work on views are recorded into the stream's only encoder. Commands keep their
// buffers alive, so a buffer is dropped after the commands that use it. `free` and `settle` catch
// panics. No lock of the stream is held while wgpu runs. A view keeps the context alive only
// through its slot.
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
        // SAFETY: the block came from `allocate`, and is freed once (caller).
        let Some(allocation) = (unsafe { block.take() }) else { return };
        // wgpu writes logs, and a watch is foreign code. Either may panic; the panic message has
        // already been printed.
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
        // SAFETY: the caller upholds the same contract.
        unsafe { BufferViewMut::new(block, slot, length) }
    }

    #[inline(always)]
    unsafe fn view_ref<'s, T: Element>(
        block: WgpuBlock,
        slot: SlotRef<Self>,
        length: usize,
    ) -> BufferView<'s, T> {
        // SAFETY: the caller upholds the same contract.
        unsafe { BufferView::new(block, slot, length) }
    }

    /// All work on a view runs in stream order, so no slot is ever armed.
    unsafe fn reuse(_: &Stream, _: WgpuBlock, _: Reuse) -> Result<(), WgpuError> {
        Ok(())
    }

    unsafe fn set_bytes(
        stream: &Stream,
        block: WgpuBlock,
        value: u8,
        bytes: usize,
    ) -> Result<(), WgpuError> {
        // SAFETY: the block is allocated during the call (caller).
        unsafe { fill(stream, block, &[value], bytes) }
    }

    unsafe fn fill<T: Element>(
        stream: &Stream,
        block: WgpuBlock,
        value: T,
        length: usize,
    ) -> Result<(), WgpuError> {
        let value = [value];
        // SAFETY: the block is allocated during the call (caller).
        unsafe { fill(stream, block, bytes_of(&value), length * size_of::<T>()) }
    }

    unsafe fn copy_from_host<T: Element>(
        stream: &Stream,
        block: WgpuBlock,
        source: &[T],
    ) -> Result<(), WgpuError> {
        // SAFETY: the block is allocated during the call (caller).
        let Some(allocation) = (unsafe { block.allocation() }) else { return Ok(()) };
        stream.with(|recorder| recorder.upload(allocation, 0, bytes_of(source)))
    }
}

/// Fills the first `bytes` bytes of a block, rounded up to a whole word: the rest of that word is
/// not in use.
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
    // SAFETY: the block is allocated during the call (caller).
    let allocation: Option<&Allocation> = unsafe { block.allocation() };
    let Some(allocation) = allocation else { return Ok(()) };
    let end = (bytes as u64).next_multiple_of(4);
    stream.with(|recorder| recorder.fill(allocation, 0, end, element))
}

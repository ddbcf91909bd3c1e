//! Implements the CUDA backend, which allocates, frees, fills, and copies device memory for a pool,
//! and creates the pool's views.

use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;

use pool_core::{
    Advice, Device, Element, PoolBackend, Reuse, SlotRef, Slots, StackedBackend, bytemuck,
};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;
use pool_driver::reclaim::Reclaim;

use crate::cuda::Cuda;
use crate::stream::device_stream::DeviceStream;
use crate::view::block::DeviceBlock;
use crate::view::device_view::{DeviceView, DeviceViewMut};
use crate::view::fill;
use crate::view::shape_descriptor::ShapeDescriptor;
use crate::view::transfer;

/// A guard that frees a new block if the pool's watch panics before the pool takes ownership. The
/// watch is user code and might panic. After a panic in the watch, the guard's destructor frees the
/// block.
struct BlockGuard<'a> {
    stream: &'a DeviceStream,
    address: Address,
    bytes: usize,
}

/// Allocates a block and adds its size to the number of bytes that the pool holds.
fn allocate(stream: &DeviceStream, bytes: usize) -> Result<BlockGuard<'_>, CudaError> {
    let address = stream.allocate(bytes)?;
    if let Some(holder) = stream.holder() {
        holder.allocated(bytes);
    }
    Ok(BlockGuard { stream, address, bytes })
}

impl BlockGuard<'_> {
    /// Transfers ownership of the block to the pool without freeing the block.
    fn keep(self) -> DeviceBlock {
        DeviceBlock(ManuallyDrop::new(self).address)
    }
}

impl Drop for BlockGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: the guard owns a block in this context, so no other code frees it. All work that
        // uses the block was enqueued on the pool's stream or on a stream recorded by the pool.
        self.stream.keep_pending_error(unsafe { self.stream.free(self.address) });
        if let Some(holder) = self.stream.holder() {
            holder.freed(self.bytes);
        }
    }
}

// SAFETY: `DeviceStream::allocate` returns new device memory, which CUDA aligns to at least 256
// bytes. The host cannot access device memory. Any thread may use or free this memory. `free`
// orders the deallocation after all work on the pool's stream and after all uses of the block on
// other streams. If the driver cannot order the uses of a block, `free` blocks until they have
// finished. `free` stores its errors for `take_pending_error`, retries failed frees later, and
// never panics. A view consists of only an address and a length. No method in this implementation
// retains a reference to the context or uses the pool.
unsafe impl PoolBackend for Cuda {
    type Layout = Slots;
    type Context = DeviceStream;
    type Block = DeviceBlock;
    type View<'s, T: Element> = DeviceViewMut<'s, T>;
    type ViewRef<'s, T: Element> = DeviceView<'s, T>;
    type Descriptor = ShapeDescriptor;
    type Error = CudaError;
    type ViewError = CudaError;

    const ALIGN: usize = 256;
    const DANGLING: DeviceBlock = DeviceBlock(0);

    fn device(stream: &DeviceStream) -> Device {
        Device { kind: "cuda", ordinal: Some(stream.device().ordinal()) }
    }

    fn allocate(stream: &DeviceStream, bytes: usize, _: Advice) -> Result<DeviceBlock, CudaError> {
        let Some(watch) = stream.watch() else {
            return allocate(stream, bytes).map(BlockGuard::keep);
        };
        if !watch.admit(bytes) {
            let (memory, reclaim) = (None, Reclaim::default());
            return Err(CudaError::OutOfMemory { requested: bytes, memory, reclaim });
        }
        let block = allocate(stream, bytes)?;
        watch.allocated(block.address, bytes);
        Ok(block.keep())
    }

    unsafe fn free(stream: &DeviceStream, block: DeviceBlock, bytes: usize) {
        let block = BlockGuard { stream, address: block.0, bytes };
        if let Some(watch) = stream.watch() {
            // This method must not unwind, so it discards any panic from the watch. The panic hook
            // has already printed the message.
            let call = AssertUnwindSafe(|| watch.freed(block.address, bytes));
            let _ = panic::catch_unwind(call);
        }
    }

    fn settle(stream: &DeviceStream) {
        stream.keep_pending_error(stream.settle());
    }

    #[inline(always)]
    unsafe fn view<'s, T: Element>(
        block: DeviceBlock,
        slot: SlotRef<Self>,
        length: usize,
    ) -> DeviceViewMut<'s, T> {
        // SAFETY: the caller upholds this method's safety contract.
        unsafe { DeviceViewMut::new(block, slot, length) }
    }

    #[inline(always)]
    unsafe fn view_ref<'s, T: Element>(
        block: DeviceBlock,
        slot: SlotRef<Self>,
        length: usize,
    ) -> DeviceView<'s, T> {
        // SAFETY: the caller upholds this method's safety contract.
        unsafe { DeviceView::new(block, slot, length) }
    }

    unsafe fn reuse(
        stream: &DeviceStream,
        block: DeviceBlock,
        why: Reuse,
    ) -> Result<(), CudaError> {
        match why {
            Reuse::HandOut => stream.other_streams().settle(block.0, stream.stream()),
            // Before it frees a block, the pool also waits for other streams to finish using the
            // block. If this wait fails, the pool retries the free later.
            _ => Ok(()),
        }
    }

    unsafe fn set_bytes(
        stream: &DeviceStream,
        block: DeviceBlock,
        value: u8,
        bytes: usize,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the block contains at least `bytes` bytes, and that no
        // view of the block exists. Every earlier use of the block precedes this fill in stream
        // order.
        unsafe { transfer::set_bytes(stream, block.0, value, bytes) }
    }

    unsafe fn fill<T: Element>(
        stream: &DeviceStream,
        block: DeviceBlock,
        value: T,
        length: usize,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the block has space for `length` elements, and that no
        // view of the block exists. Every earlier use of the block precedes this fill in stream
        // order.
        unsafe { fill::fill(stream, block.0, bytemuck::bytes_of(&value), length) }
    }

    unsafe fn copy_from_host<T: Element>(
        stream: &DeviceStream,
        block: DeviceBlock,
        source: &[T],
    ) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the block has space for the elements of `source`, and
        // that no view of the block exists. Every earlier use of the block precedes this copy in
        // stream order.
        unsafe { transfer::upload(stream, block.0, bytemuck::cast_slice(source)) }
    }
}

// SAFETY: CUDA aligns each allocation to at least 256 bytes. A `DeviceBlock` contains only an
// address. Each address within an allocation is a valid block that extends to the end of the
// allocation. Every method except `free` accepts any address within an allocation as a block. All
// contexts created by cudarc use unified addressing (see "Unified Virtual Address Space" in the
// CUDA guide). Device and host memory therefore share one address space, whose lower half contains
// host memory. Views call only the `pool_context`, `block_of`, and `arm_bytes` methods of their
// `SlotRef`.
unsafe impl StackedBackend for Cuda {
    #[inline]
    fn address(block: DeviceBlock) -> NonNull<u8> {
        block.pointer()
    }

    #[inline]
    fn block_at(address: NonNull<u8>) -> DeviceBlock {
        DeviceBlock(address.addr().get() as Address)
    }

    unsafe fn reuse_bytes(
        stream: &DeviceStream,
        block: DeviceBlock,
        bytes: usize,
    ) -> Result<(), CudaError> {
        stream.other_streams().settle_bytes(block.0, bytes, stream.stream())
    }
}

//! The backend: allocates, frees, writes and views device memory for a pool.

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

/// A block that its pool does not own yet, during the call of the watch. It is freed on drop,
/// because a watch is foreign code, which may panic.
struct BlockGuard<'a> {
    stream: &'a DeviceStream,
    address: Address,
    bytes: usize,
}

/// Allocates a block, and counts it.
fn allocate(stream: &DeviceStream, bytes: usize) -> Result<BlockGuard<'_>, CudaError> {
    let address = stream.allocate(bytes)?;
    if let Some(holder) = stream.holder() {
        holder.allocated(bytes);
    }
    Ok(BlockGuard { stream, address, bytes })
}

impl BlockGuard<'_> {
    /// Passes the block to the pool, without freeing it.
    fn keep(self) -> DeviceBlock {
        DeviceBlock(ManuallyDrop::new(self).address)
    }
}

impl Drop for BlockGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: the guard holds a block of this context that no other code frees, new or given up
        // by its owner. Work that uses the block is in the pool's stream, or noted.
        self.stream.keep_unanswered(unsafe { self.stream.free(self.address) });
        if let Some(holder) = self.stream.holder() {
            holder.freed(self.bytes);
        }
    }
}

// SAFETY: `DeviceStream::allocate` returns new device memory, aligned to 256 bytes or more as CUDA
// promises for every allocation. The host cannot access it, and it belongs to no thread. `free`
// enqueues the free after all work of the pool's stream, and after other streams' uses of the
// block, or waits for them. It keeps errors for `take_unanswered`, retries later, and never
// unwinds. A view is an address and a length. No method keeps the context or re-enters the pool.
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
            // The panic's message is already printed, and a free cannot unwind.
            let call = AssertUnwindSafe(|| watch.freed(block.address, bytes));
            let _ = panic::catch_unwind(call);
        }
    }

    fn settle(stream: &DeviceStream) {
        stream.keep_unanswered(stream.settle());
    }

    #[inline(always)]
    unsafe fn view<'s, T: Element>(
        block: DeviceBlock,
        slot: SlotRef<Self>,
        length: usize,
    ) -> DeviceViewMut<'s, T> {
        // SAFETY: the caller's promise.
        unsafe { DeviceViewMut::new(block, slot, length) }
    }

    #[inline(always)]
    unsafe fn view_ref<'s, T: Element>(
        block: DeviceBlock,
        slot: SlotRef<Self>,
        length: usize,
    ) -> DeviceView<'s, T> {
        // SAFETY: the caller's promise.
        unsafe { DeviceView::new(block, slot, length) }
    }

    unsafe fn reuse(
        stream: &DeviceStream,
        block: DeviceBlock,
        why: Reuse,
    ) -> Result<(), CudaError> {
        match why {
            Reuse::HandOut => stream.other_streams().settle(block.0, stream.stream()),
            // The free itself waits for the block's users, and is retried later if that fails.
            _ => Ok(()),
        }
    }

    unsafe fn set_bytes(
        stream: &DeviceStream,
        block: DeviceBlock,
        value: u8,
        bytes: usize,
    ) -> Result<(), CudaError> {
        // SAFETY: the block holds that many bytes and no view uses it (caller); its former users
        // are earlier in the pool's stream.
        unsafe { transfer::set_bytes(stream, block.0, value, bytes) }
    }

    unsafe fn fill<T: Element>(
        stream: &DeviceStream,
        block: DeviceBlock,
        value: T,
        length: usize,
    ) -> Result<(), CudaError> {
        // SAFETY: as in `set_bytes`.
        unsafe { fill::fill(stream, block.0, bytemuck::bytes_of(&value), length) }
    }

    unsafe fn copy_from_host<T: Element>(
        stream: &DeviceStream,
        block: DeviceBlock,
        source: &[T],
    ) -> Result<(), CudaError> {
        // SAFETY: as in `set_bytes`.
        unsafe { transfer::upload(stream, block.0, bytemuck::cast_slice(source)) }
    }
}

// SAFETY: CUDA aligns each allocation to 256 bytes or more. A block is an address alone, so an address within an
// allocation is a block that ends with the allocation, and every method but `free` accepts it. All contexts of cudarc
// have unified addressing (guide, "Unified Virtual Address Space"). Device and host share one range of addresses, and
// the host's user space is its lower half. Views use their reference by `pool_context`, `block_of` and `arm_bytes`.
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

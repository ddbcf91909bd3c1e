//! Frees each of a pool's blocks after all uses of the block. If a capture is active or the driver
//! refuses to free a block, the block is freed later.

use std::cell::Cell;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::calls::{self, Address};
use pool_driver::capture::is_capturing;
use pool_driver::chain::Chain;
use pool_driver::deferred_frees::{DeferredFreeKind, Resource};
use pool_driver::error::CudaError;
use pool_driver::gone::unless_gone;

use crate::stream::device::CudaDevice;
use crate::stream::other_streams::OtherStreams;
use crate::stream::shape_cells::Slab;

/// Frees a block after all of its uses on the pool's stream and on all other recorded streams.
///
/// # Safety
///
/// The pool's stream must not be captured. The block must have been allocated for a pool on this
/// stream and device, and must not have been freed. Each use of the block must have completed, have
/// been enqueued on the pool's stream, or have been recorded as another stream's use.
pub(crate) unsafe fn free_block(
    address: Address,
    other_streams: &OtherStreams,
    stream: &CudaStream,
    device: &CudaDevice,
) -> Result<(), CudaError> {
    if !other_streams.is_empty() {
        other_streams.settle(address, stream)?;
    }
    if device.has_memory_pool() {
        // SAFETY: the device has a memory pool, so the block was allocated in stream order. All
        // uses of the block precede this free in the stream.
        return unsafe { calls::free_in_order(address, stream) };
    }
    calls::synchronize(stream)?;
    // SAFETY: the block was allocated without a memory pool, in the stream's context. `settle` and
    // `synchronize` have already waited for all uses of the block to finish.
    unsafe { calls::free(address, stream.context()) }
}

/// The deferred frees of a pool's blocks. The pool defers a free if the driver refuses it or if the
/// stream is being captured. During a capture, a free would become a node in the graph.
///
/// The pool itself stores the blocks whose frees are deferred. They are not added to the process's
/// queue of deferred frees. Each free reads the pool's list of other streams, and only the pool's
/// own thread may access this list. The pool retries deferred frees whenever it allocates, frees,
/// or trims memory, and stores the errors from failed attempts. Dropping the pool adds its
/// remaining blocks to the process's queue as [`OrphanBlocks`].
#[derive(Default)]
pub(crate) struct DeferredFrees {
    waiting: Cell<Chain<Address>>,
    /// Preallocated links, one for each of the pool's blocks, which ensure that deferring a free
    /// never allocates memory.
    spares: Cell<Chain<Address>>,
}

impl DeferredFrees {
    /// Allocates the link for the pool's next block.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory.
    pub(crate) fn new_spare() -> Result<Chain<Address>, CudaError> {
        Chain::of(0)
    }

    /// Stores a newly allocated block's link.
    pub(crate) fn keep_spare(&self, spare: Chain<Address>) {
        link(&self.spares, spare);
    }

    /// Drops a freed block's link.
    pub(crate) fn drop_spare(&self) {
        drop(unlink(&self.spares));
    }

    /// Defers the free of the block at this address.
    pub(crate) fn put_off(&self, address: Address) {
        let mut spare = unlink(&self.spares);
        spare.iter_mut().for_each(|place| *place = address);
        link(&self.waiting, spare);
    }

    /// Calls `free` for each block and passes each result to `report`. A block that could not be
    /// freed stays in the list.
    pub(crate) fn free_each(
        &self,
        free: impl Fn(Address) -> Result<(), CudaError>,
        report: impl Fn(Result<(), CudaError>),
    ) {
        let mut waiting = self.waiting.take();
        while let Some(one) = waiting.pop() {
            let freed = one.iter().try_for_each(|address| free(*address));
            if freed.is_err() {
                link(&self.waiting, one);
            }
            report(freed);
        }
    }

    /// Removes all blocks from the list so that they can be freed after the pool has been dropped.
    pub(crate) fn take(&self) -> Chain<Address> {
        self.waiting.take()
    }
}

/// Adds links to a list stored in a cell. No user code can run while the list is outside the cell.
fn link(all: &Cell<Chain<Address>>, more: Chain<Address>) {
    let mut links = all.take();
    links.add(more);
    all.set(links);
}

/// Removes one link from a list stored in a cell. Returns an empty chain if the list is empty.
fn unlink(all: &Cell<Chain<Address>>) -> Chain<Address> {
    let mut links = all.take();
    let one = links.pop();
    all.set(links);
    one.unwrap_or_default()
}

/// The blocks that a dropped pool could not free, and the objects needed to free them later.
#[derive(Debug)]
pub(crate) struct OrphanBlocks {
    /// The addresses of the blocks whose frees are deferred.
    pub(crate) addresses: Chain<Address>,
    /// The blocks that store array shapes.
    pub(crate) slabs: Chain<Slab>,
    pub(crate) other_streams: OtherStreams,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) device: CudaDevice,
}

impl Resource for OrphanBlocks {
    const KIND: DeferredFreeKind = DeferredFreeKind::PoolBlocks;

    fn context(&self) -> Option<&CudaContext> {
        Some(self.device.context())
    }

    /// Frees all blocks that can be freed now and retains the remaining blocks.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        let Self { addresses, slabs, other_streams, stream, device } = self;
        if is_capturing(stream)? {
            return Err(CudaError::Capturing { operation: "free memory" });
        }
        // SAFETY: the block's pool has been dropped, so all views of the block have ended. All work
        // that uses the block was enqueued on the pool's stream or on a stream recorded by the
        // pool.
        let free = |address| unsafe { free_block(address, other_streams, stream, device) };
        let context = device.context();
        let freed = free_links(addresses, |address| unless_gone(context, free(*address)));
        freed.and(free_links(slabs, |slab| unless_gone(context, free(slab.address()))))
    }
}

/// Frees each block, and retains only the blocks that could not be freed. Returns the first error
/// if any block could not be freed.
fn free_links<T>(
    blocks: &mut Chain<T>,
    free: impl Fn(&T) -> Result<(), CudaError>,
) -> Result<(), CudaError> {
    let (mut kept, mut first) = (Chain::new(), Ok(()));
    while let Some(one) = blocks.pop() {
        let freed = one.iter().try_for_each(&free);
        if freed.is_err() {
            kept.add(one);
        }
        first = first.and(freed);
    }
    *blocks = kept;
    first
}

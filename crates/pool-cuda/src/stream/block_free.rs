//! Frees blocks of a pool after all their uses: immediately, later if a capture or the driver
//! prevents it, or when the pool is dropped.

use std::cell::Cell;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::calls::{self, Address};
use pool_driver::capture::is_capturing;
use pool_driver::chain::Chain;
use pool_driver::error::CudaError;
use pool_driver::gone::unless_gone;
use pool_driver::leftovers::{LeftoverKind, Resource};

use crate::stream::device::CudaDevice;
use crate::stream::other_streams::OtherStreams;
use crate::stream::shape_cells::Slab;

/// Frees a block after all its uses, which are the work of the pool's stream and of the other
/// streams in its notes.
///
/// # Safety
///
/// The pool's stream must not be captured. The block must have been allocated for a pool on this
/// stream of this device, and must not have been freed. All its uses must be in the stream, be
/// noted, or have ended.
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
        // SAFETY: the block was allocated in stream order (the device has a memory pool).
        // All its uses come earlier in the stream.
        return unsafe { calls::free_in_order(address, stream) };
    }
    calls::synchronize(stream)?;
    // SAFETY: the block was allocated without a memory pool, in the stream's context.
    // The lines above have waited for all its uses.
    unsafe { calls::free(address, stream.context()) }
}

/// The deferred frees of a pool's blocks. A free is deferred if the stream is captured, because it
/// would become part of the graph, or if the driver refuses it.
///
/// These blocks stay with their pool instead of joining the process's list of deferred frees. The
/// pool retries them whenever it allocates, frees or trims, because they depend on its notes of
/// other streams, which no other thread may touch. The pool keeps the errors. When the pool is
/// dropped, the blocks join the process's list as [`OrphanBlocks`].
#[derive(Default)]
pub(crate) struct DeferredFrees {
    waiting: Cell<Chain<Address>>,
    /// One link per block of the pool, so that deferring a free never allocates.
    spares: Cell<Chain<Address>>,
}

impl DeferredFrees {
    /// Allocates the link for a block that will be allocated next.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory.
    pub(crate) fn new_spare() -> Result<Chain<Address>, CudaError> {
        Chain::of(0)
    }

    /// Stores the link of a newly allocated block.
    pub(crate) fn keep_spare(&self, spare: Chain<Address>) {
        link(&self.spares, spare);
    }

    /// Drops the link of a freed block.
    pub(crate) fn drop_spare(&self) {
        drop(unlink(&self.spares));
    }

    /// Defers the free of a block.
    pub(crate) fn put_off(&self, address: Address) {
        let mut spare = unlink(&self.spares);
        spare.iter_mut().for_each(|place| *place = address);
        link(&self.waiting, spare);
    }

    /// Calls `free` for each block, keeps the blocks for which it fails, and passes each result to
    /// `report`.
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

    /// Takes all blocks, which will be freed after the pool has ended.
    pub(crate) fn take(&self) -> Chain<Address> {
        self.waiting.take()
    }
}

/// Adds links to a cell. No foreign code runs between taking the list out of the cell and putting
/// it back.
fn link(all: &Cell<Chain<Address>>, more: Chain<Address>) {
    let mut links = all.take();
    links.add(more);
    all.set(links);
}

/// Takes one link out of a cell, or returns an empty chain if the cell holds none.
fn unlink(all: &Cell<Chain<Address>>) -> Chain<Address> {
    let mut links = all.take();
    let one = links.pop();
    all.set(links);
    one.unwrap_or_default()
}

/// The blocks of a dropped pool, and the objects needed to free them.
#[derive(Debug)]
pub(crate) struct OrphanBlocks {
    /// The blocks whose frees were deferred.
    pub(crate) addresses: Chain<Address>,
    /// The blocks that contain shapes.
    pub(crate) slabs: Chain<Slab>,
    pub(crate) other_streams: OtherStreams,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) device: CudaDevice,
}

impl Resource for OrphanBlocks {
    const KIND: LeftoverKind = LeftoverKind::PoolBlocks;

    fn context(&self) -> Option<&CudaContext> {
        Some(self.device.context())
    }

    /// Frees all blocks that can be freed, and keeps the others.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        let Self { addresses, slabs, other_streams, stream, device } = self;
        if is_capturing(stream)? {
            return Err(CudaError::Capturing { operation: "free memory" });
        }
        // SAFETY: the block comes from a dropped pool, so all its views have ended.
        // All its uses are in the stream, or noted.
        let free = |address| unsafe { free_block(address, other_streams, stream, device) };
        let context = device.context();
        let freed = free_links(addresses, |address| unless_gone(context, free(*address)));
        freed.and(free_links(slabs, |slab| unless_gone(context, free(slab.address()))))
    }
}

/// Unlinks the blocks that could be freed, and returns the first error of the remaining ones.
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

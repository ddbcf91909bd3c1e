//! Frees blocks of a pool, after all their uses: at once, later if a capture or the driver prevents
//! it, and when the pool is dropped.

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

/// Frees a block after all its uses: the work of the pool's stream, and that of other noted
/// streams.
///
/// # Safety
///
/// The pool's stream must not be captured. The block must be allocated for a pool on this stream of
/// this device, and not freed. All its uses must be in the stream, noted, or done.
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
        // SAFETY: it was allocated in stream order (the device has a memory pool), and its uses
        // come before.
        return unsafe { calls::free_in_order(address, stream) };
    }
    calls::synchronize(stream)?;
    // SAFETY: it was allocated plainly, in the stream's context, and all its uses were just waited
    // for.
    unsafe { calls::free(address, stream.context()) }
}

/// The deferred frees of a pool's blocks. A free is deferred because the stream was captured, which
/// would have made it a part of the graph, or because the driver refused.
///
/// These blocks wait with their pool, and not among the deferred frees of the process. The pool
/// retries them whenever it allocates, frees or trims, with its notes of other streams, which no
/// other thread may touch. The pool keeps the errors. When the pool is dropped, they join the
/// process's list as [`OrphanBlocks`].
#[derive(Default)]
pub(crate) struct DeferredFrees {
    waiting: Cell<Chain<Address>>,
    /// A link for each block of the pool, so that its free can be deferred without an allocation.
    spares: Cell<Chain<Address>>,
}

impl DeferredFrees {
    /// Allocates a link for a block that is about to be allocated.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`] if the host has no memory.
    pub(crate) fn new_spare() -> Result<Chain<Address>, CudaError> {
        Chain::of(0)
    }

    /// Keeps the link of a block that was allocated.
    pub(crate) fn keep_spare(&self, spare: Chain<Address>) {
        link(&self.spares, spare);
    }

    /// Drops the link of a block that was freed.
    pub(crate) fn drop_spare(&self) {
        drop(unlink(&self.spares));
    }

    /// Defers the free of a block.
    pub(crate) fn put_off(&self, address: Address) {
        let mut spare = unlink(&self.spares);
        spare.iter_mut().for_each(|place| *place = address);
        link(&self.waiting, spare);
    }

    /// Frees the possible blocks, each by `free`, and keeps the others. `report` gets the result of
    /// each call.
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

    /// Takes the blocks, for a free after the end of the pool.
    pub(crate) fn take(&self) -> Chain<Address> {
        self.waiting.take()
    }
}

/// Adds links to a cell. No foreign code runs between the two calls of the cell.
fn link(all: &Cell<Chain<Address>>, more: Chain<Address>) {
    let mut links = all.take();
    links.add(more);
    all.set(links);
}

/// Takes one link out of a cell; returns an empty chain if there is none.
fn unlink(all: &Cell<Chain<Address>>) -> Chain<Address> {
    let mut links = all.take();
    let one = links.pop();
    all.set(links);
    one.unwrap_or_default()
}

/// The blocks of a dropped pool, with the objects needed to free them.
#[derive(Debug)]
pub(crate) struct OrphanBlocks {
    /// Blocks with a deferred free.
    pub(crate) addresses: Chain<Address>,
    /// Blocks that hold shapes.
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

    /// Frees the possible blocks, and keeps the others.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        let Self { addresses, slabs, other_streams, stream, device } = self;
        if is_capturing(stream)? {
            return Err(CudaError::Capturing { operation: "free memory" });
        }
        // SAFETY: a dropped pool left the block, and its views have ended. Its uses are in the
        // stream or noted.
        let free = |address| unsafe { free_block(address, other_streams, stream, device) };
        let context = device.context();
        let freed = free_links(addresses, |address| unless_gone(context, free(*address)));
        freed.and(free_links(slabs, |slab| unless_gone(context, free(slab.address()))))
    }
}

/// Unlinks the freed blocks. Returns the first error of the others.
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

//! Freeing blocks of a pool, behind all that uses them: at once, later where a capture or the driver is in the way,
//! and when the pool is gone.

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

/// Frees a block behind all that uses it: what the pool's stream holds, and other streams that were noted.
///
/// # Safety
///
/// The pool's stream is not captured. The block was allocated for a pool on this stream of this device, was not
/// freed, and all that uses it is in the stream, noted, or done.
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
        // SAFETY: allocated in order (the device has a memory pool), and its users come before.
        return unsafe { calls::free_in_order(address, stream) };
    }
    calls::synchronize(stream)?;
    // SAFETY: allocated plainly, in the stream's context, and all that uses it was just waited for.
    unsafe { calls::free(address, stream.context()) }
}

/// The blocks of a pool whose freeing was put off, because the stream was captured, which would have made the free
/// a part of the graph, or because the driver refused.
///
/// These blocks wait with their pool, not among the leftovers of the process. They are freed whenever the pool
/// allocates, frees or trims, with its notes of other streams, which no other thread may touch; and the pool keeps the
/// errors. Only when the pool is gone do they become leftovers, as [`OrphanBlocks`].
#[derive(Default)]
pub(crate) struct DeferredFrees {
    waiting: Cell<Chain<Address>>,
    /// A link for each block that the pool has, so that freeing it can be put off whatever memory the host has then.
    spares: Cell<Chain<Address>>,
}

impl DeferredFrees {
    /// A link for a block that is about to be allocated: what takes memory.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`] where the host has none.
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

    /// Puts off freeing a block.
    pub(crate) fn put_off(&self, address: Address) {
        let mut spare = unlink(&self.spares);
        spare.iter_mut().for_each(|place| *place = address);
        link(&self.waiting, spare);
    }

    /// Frees the blocks that can be freed, each one by `free`; the others wait on. `report` gets the answer of each
    /// call.
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

    /// The blocks that wait, for whoever frees them when the pool is gone.
    pub(crate) fn take(&self) -> Chain<Address> {
        self.waiting.take()
    }
}

/// Adds links to a cell. No code of others runs between the two calls of the cell.
fn link(all: &Cell<Chain<Address>>, more: Chain<Address>) {
    let mut links = all.take();
    links.add(more);
    all.set(links);
}

/// Takes one link out of a cell; an empty chain where there is none.
fn unlink(all: &Cell<Chain<Address>>) -> Chain<Address> {
    let mut links = all.take();
    let one = links.pop();
    all.set(links);
    one.unwrap_or_default()
}

/// The blocks of a pool that is gone, with what is needed to free them.
#[derive(Debug)]
pub(crate) struct OrphanBlocks {
    /// Blocks whose freeing was put off.
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

    /// Frees as many blocks as can be; the others stay.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        let Self { addresses, slabs, other_streams, stream, device } = self;
        if is_capturing(stream)? {
            return Err(CudaError::Capturing { operation: "free memory" });
        }
        // SAFETY: a pool left the block, and its views are gone with it; what uses it is in the stream or noted.
        let free = |address| unsafe { free_block(address, other_streams, stream, device) };
        let context = device.context();
        let freed = free_links(addresses, |address| unless_gone(context, free(*address)));
        freed.and(free_links(slabs, |slab| unless_gone(context, free(slab.address()))))
    }
}

/// Unlinks the blocks that can be freed; returns the first error of those that cannot.
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

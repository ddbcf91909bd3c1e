//! What a captured graph owns of the memory that its nodes name.

use std::fmt;

use pool_core::{Device, reserve};
#[cfg(feature = "cuda")]
use pool_driver::cudarc::driver::CudaContext;

use crate::arena::{ArenaShared, CudaArena};
use crate::base::block::{BlockId, GraphMemoryBlock};
use crate::base::error::GraphMemoryError;
use crate::base::range::LeasedRange;
use crate::base::sync::Arc;
use crate::pool::{CUDAGraphMemoryPool, Shared};
use crate::source::{DeviceMemory, GraphMemoryResult, MemorySource};

/// Memory that stays where it is, and nobody else's, for as long as this value lives: blocks of a
/// [`CUDAGraphMemoryPool`], or a [`CudaArena`].
///
/// A captured graph holds its leases below its executable: fields are dropped in order, and the memory
/// must go last. The pool or arena may be dropped before; its memory then goes with the last lease.
/// There is no `Clone`: each graph has leases of its own.
#[must_use = "the memory may go as soon as its lease is dropped"]
pub struct Lease<M: MemorySource = DeviceMemory> {
    held: LeasedMemory<M>,
}

enum LeasedMemory<M: MemorySource> {
    Blocks { shared: Arc<Shared<M>>, blocks: Vec<GraphMemoryBlock> },
    Arena { shared: Arc<ArenaShared<M>>, generation: u64 },
}

impl<M: MemorySource> CUDAGraphMemoryPool<M> {
    /// Leases blocks to a captured graph: as long as the lease lives, they are neither returned nor
    /// handed out nor freed, whatever happens to the pool.
    ///
    /// A block may have any number of leases.
    ///
    /// # Errors
    ///
    /// If one of the blocks is another pool's, or was returned or reset away before; then none is
    /// leased. Where the host has no memory for the lease, and after [`dispose`](Self::dispose).
    pub fn lease(&self, blocks: &[BlockId]) -> GraphMemoryResult<Lease<M>, M> {
        let mut leased = reserve::list(blocks.len())?;
        self.shared().book.lock().lease(blocks, &mut leased)?;
        let shared = Arc::clone(self.shared());
        Ok(Lease { held: LeasedMemory::Blocks { shared, blocks: leased } })
    }
}

impl<M: MemorySource> CudaArena<M> {
    /// What a graph that was captured with this arena holds: the buffer stays until the last lease goes,
    /// also when the arena is dropped.
    pub fn lease(&self) -> Lease<M> {
        let shared = Arc::clone(self.shared());
        Lease { held: LeasedMemory::Arena { generation: shared.generation(), shared } }
    }
}

impl<M: MemorySource> Lease<M> {
    /// Where the memory is.
    #[must_use]
    pub fn device(&self) -> Device {
        match &self.held {
            LeasedMemory::Blocks { shared, .. } => shared.source.device(),
            LeasedMemory::Arena { shared, .. } => shared.device(),
        }
    }

    /// The blocks that are leased, as they were then; no block where an arena is leased.
    #[must_use]
    pub fn blocks(&self) -> &[GraphMemoryBlock] {
        match &self.held {
            LeasedMemory::Blocks { blocks, .. } => blocks,
            LeasedMemory::Arena { .. } => &[],
        }
    }

    /// Every range of addresses that the lease holds.
    pub fn ranges(&self) -> impl Iterator<Item = LeasedRange> + '_ {
        let of_block =
            |block: &GraphMemoryBlock| LeasedRange { address: block.address, bytes: block.size };
        let of_arena = match &self.held {
            LeasedMemory::Blocks { .. } => None,
            LeasedMemory::Arena { shared, .. } => Some(shared.range()),
        };
        self.blocks().iter().map(of_block).chain(of_arena)
    }

    /// Whether all of `[address, address + bytes)` is in one range of the lease.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.ranges().any(|range| range.contains(address, bytes))
    }

    /// Bytes of all ranges; a block that was leased twice counts twice.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ranges().fold(0, |bytes, range| bytes.saturating_add(range.bytes))
    }

    /// Whether a graph that was captured into this memory may be replayed still.
    ///
    /// Blocks of a pool are the lease's alone, so they always may. An arena may have been reset since,
    /// and its bytes handed out again.
    ///
    /// # Errors
    ///
    /// If the arena was reset since the lease was made.
    pub fn check(&self) -> GraphMemoryResult<(), M> {
        let LeasedMemory::Arena { shared, generation } = &self.held else { return Ok(()) };
        let current = shared.generation();
        if current == *generation {
            return Ok(());
        }
        Err(GraphMemoryError::StaleLease { leased: *generation, current })
    }
}

#[cfg(feature = "cuda")]
impl Lease<DeviceMemory> {
    /// The context of the leased blocks; none where an arena is leased.
    pub(crate) fn context(&self) -> Option<&CudaContext> {
        match &self.held {
            LeasedMemory::Blocks { shared, .. } => Some(shared.source.context().as_ref()),
            LeasedMemory::Arena { .. } => None,
        }
    }
}

impl<M: MemorySource> Drop for Lease<M> {
    fn drop(&mut self) {
        if let LeasedMemory::Blocks { shared, blocks } = &self.held {
            shared.end_lease(blocks);
        }
    }
}

/// Shows where the memory is, and its ranges.
impl<M: MemorySource> fmt::Debug for Lease<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<LeasedRange> = self.ranges().collect();
        f.debug_struct("Lease")
            .field("device", &self.device())
            .field("ranges", &ranges)
            .finish_non_exhaustive()
    }
}

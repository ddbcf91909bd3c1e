//! A captured graph's hold on the memory of its nodes.

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

/// Memory that stays in place without another owner for as long as this value lives: blocks of a
/// [`CUDAGraphMemoryPool`], or a [`CudaArena`].
///
/// A captured graph declares its leases after its executable graph: fields are dropped in order,
/// and the memory must be released last. The pool or arena may be dropped before; its memory is
/// then freed with the last lease. There is no `Clone`: each graph has its own leases.
#[must_use = "the memory may be freed as soon as its lease is dropped"]
pub struct Lease<M: MemorySource = DeviceMemory> {
    held: LeasedMemory<M>,
}

enum LeasedMemory<M: MemorySource> {
    Blocks { shared: Arc<Shared<M>>, blocks: Vec<GraphMemoryBlock> },
    Arena { shared: Arc<ArenaShared<M>>, generation: u64 },
}

impl<M: MemorySource> CUDAGraphMemoryPool<M> {
    /// Leases blocks to a captured graph: while the lease lives, they are neither returned nor
    /// reused nor freed, even if the pool is dropped.
    ///
    /// A block may have any number of leases.
    ///
    /// # Errors
    ///
    /// Fails if one of the blocks is another pool's, or was returned or reset before; then none is
    /// leased. It also fails if the host has no memory for the lease, and after
    /// [`dispose`](Self::dispose).
    pub fn lease(&self, blocks: &[BlockId]) -> GraphMemoryResult<Lease<M>, M> {
        let mut leased = reserve::list(blocks.len())?;
        self.shared().book.lock().lease(blocks, &mut leased)?;
        let shared = Arc::clone(self.shared());
        Ok(Lease { held: LeasedMemory::Blocks { shared, blocks: leased } })
    }
}

impl<M: MemorySource> CudaArena<M> {
    /// Leases the buffer to a graph captured with this arena: it stays until the last lease is
    /// dropped, even if the arena is dropped before.
    pub fn lease(&self) -> Lease<M> {
        let shared = Arc::clone(self.shared());
        Lease { held: LeasedMemory::Arena { generation: shared.generation(), shared } }
    }
}

impl<M: MemorySource> Lease<M> {
    /// Returns the device of the memory.
    #[must_use]
    pub fn device(&self) -> Device {
        match &self.held {
            LeasedMemory::Blocks { shared, .. } => shared.source.device(),
            LeasedMemory::Arena { shared, .. } => shared.device(),
        }
    }

    /// Returns the leased blocks, as they were then; empty for a leased arena.
    #[must_use]
    pub fn blocks(&self) -> &[GraphMemoryBlock] {
        match &self.held {
            LeasedMemory::Blocks { blocks, .. } => blocks,
            LeasedMemory::Arena { .. } => &[],
        }
    }

    /// Returns every range of addresses that the lease holds.
    pub fn ranges(&self) -> impl Iterator<Item = LeasedRange> + '_ {
        let of_block =
            |block: &GraphMemoryBlock| LeasedRange { address: block.address, bytes: block.size };
        let of_arena = match &self.held {
            LeasedMemory::Blocks { .. } => None,
            LeasedMemory::Arena { shared, .. } => Some(shared.range()),
        };
        self.blocks().iter().map(of_block).chain(of_arena)
    }

    /// Returns `true` if all of `[address, address + bytes)` is in one range of the lease.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.ranges().any(|range| range.contains(address, bytes))
    }

    /// Returns the bytes of all ranges; a block that was leased twice counts twice.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ranges().fold(0, |bytes, range| bytes.saturating_add(range.bytes))
    }

    /// Checks that a graph captured with this memory may still be replayed.
    ///
    /// Blocks of a pool are the lease's alone, so they always may. An arena may have been reset
    /// since, and its bytes reused.
    ///
    /// # Errors
    ///
    /// Fails if the arena was reset since the lease was made.
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
    /// Returns the context of the leased blocks; `None` for a leased arena.
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

/// Shows the device of the memory, and its ranges.
impl<M: MemorySource> fmt::Debug for Lease<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<LeasedRange> = self.ranges().collect();
        f.debug_struct("Lease")
            .field("device", &self.device())
            .field("ranges", &ranges)
            .finish_non_exhaustive()
    }
}

//! Leases that keep a captured graph's memory alive.

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

/// A lease on blocks of a [`CUDAGraphMemoryPool`] or on a whole [`CudaArena`]. Until the lease is
/// dropped, the leased memory stays at its address and is not reused.
///
/// A type that owns a captured graph should declare its leases after its executable graph. Rust
/// drops fields in declaration order, so the memory is then released after the executable graph. If
/// the pool or arena is dropped before its leases, the memory is freed when the last lease is
/// dropped. `Lease` does not implement `Clone`, because each graph owns its own leases.
#[must_use = "the memory may be freed as soon as its lease is dropped"]
pub struct Lease<M: MemorySource = DeviceMemory> {
    held: LeasedMemory<M>,
}

enum LeasedMemory<M: MemorySource> {
    Blocks { shared: Arc<Shared<M>>, blocks: Vec<GraphMemoryBlock> },
    Arena { shared: Arc<ArenaShared<M>>, generation: u64 },
}

impl<M: MemorySource> CUDAGraphMemoryPool<M> {
    /// Leases blocks to a captured graph. Until the lease is dropped, the blocks cannot be
    /// returned, reused, or freed, even if the pool is dropped.
    ///
    /// A block may have any number of leases.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the blocks belongs to another pool, has already been returned, or
    /// has been freed by a reset. If the call fails, no block is leased. The call also fails if the
    /// host cannot allocate memory for the lease, or if the pool has been [disposed
    /// of](Self::dispose).
    pub fn lease(&self, blocks: &[BlockId]) -> GraphMemoryResult<Lease<M>, M> {
        let mut leased = reserve::list(blocks.len())?;
        self.shared().ledger.lock().lease(blocks, &mut leased)?;
        let shared = Arc::clone(self.shared());
        Ok(Lease { held: LeasedMemory::Blocks { shared, blocks: leased } })
    }
}

impl<M: MemorySource> CudaArena<M> {
    /// Leases the arena's buffer to a graph that was captured with this arena. The buffer is not
    /// freed until the last lease has been dropped, even if the arena is dropped earlier.
    pub fn lease(&self) -> Lease<M> {
        let shared = Arc::clone(self.shared());
        Lease { held: LeasedMemory::Arena { generation: shared.generation(), shared } }
    }
}

impl<M: MemorySource> Lease<M> {
    /// Returns the device that holds the memory.
    #[must_use]
    pub fn device(&self) -> Device {
        match &self.held {
            LeasedMemory::Blocks { shared, .. } => shared.source.device(),
            LeasedMemory::Arena { shared, .. } => shared.device(),
        }
    }

    /// Returns descriptions of the leased blocks as they were when the lease was created. If the
    /// lease holds an arena, the slice is empty.
    #[must_use]
    pub fn blocks(&self) -> &[GraphMemoryBlock] {
        match &self.held {
            LeasedMemory::Blocks { blocks, .. } => blocks,
            LeasedMemory::Arena { .. } => &[],
        }
    }

    /// Returns every address range that the lease keeps alive.
    pub fn ranges(&self) -> impl Iterator<Item = LeasedRange> + '_ {
        let of_block =
            |block: &GraphMemoryBlock| LeasedRange { address: block.address, bytes: block.size };
        let of_arena = match &self.held {
            LeasedMemory::Blocks { .. } => None,
            LeasedMemory::Arena { shared, .. } => Some(shared.range()),
        };
        self.blocks().iter().map(of_block).chain(of_arena)
    }

    /// Returns `true` if one of the lease's ranges contains the whole range `[address, address +
    /// bytes)`.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.ranges().any(|range| range.contains(address, bytes))
    }

    /// Returns the total size of all leased ranges in bytes. A block that was leased twice is
    /// counted twice.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ranges().fold(0, |bytes, range| bytes.saturating_add(range.bytes))
    }

    /// Checks that a graph captured with this memory may still be replayed.
    ///
    /// If the lease holds a pool's blocks, this check always succeeds because leased blocks cannot
    /// be reused. If the lease holds an arena, the check fails after a reset because the arena
    /// might then reuse the leased bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the arena has been reset since the lease was created.
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
    /// Returns the CUDA context of the leased blocks, or `None` if the lease holds an arena.
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

/// Formats the memory's device and the leased address ranges.
impl<M: MemorySource> fmt::Debug for Lease<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<LeasedRange> = self.ranges().collect();
        f.debug_struct("Lease")
            .field("device", &self.device())
            .field("ranges", &ranges)
            .finish_non_exhaustive()
    }
}

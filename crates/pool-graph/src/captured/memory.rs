//! What the nodes of a graph name, held for as long as it may run.

use std::sync::Arc;

use super::registry::{give_arena_back, take_arena};
use crate::arena::CudaArena;
use crate::block::GraphMemoryBlock;
use crate::capture::CaptureError;
use crate::device::DeviceMemory;
use crate::lease::Lease;

/// Leases, and the arena, which only graphs of one stream have together.
#[derive(Debug)]
pub(crate) struct GraphMemory {
    /// Of the arena first, then of blocks.
    pub(crate) leases: Vec<Lease>,
    pub(crate) arena: Arc<OwnArena>,
}

impl GraphMemory {
    pub(crate) fn new(arena: Arc<OwnArena>, blocks: Vec<Lease>) -> Self {
        let mut leases = vec![arena.arena().lease()];
        leases.extend(blocks);
        Self { leases, arena }
    }

    /// Whether nobody was given any of it since.
    pub(crate) fn check(&self) -> Result<(), CaptureError> {
        Ok(self.leases.iter().try_for_each(Lease::check)?)
    }

    /// Whether a block is leased: what the graph's state is made of.
    pub(crate) fn holds_block(&self, block: &GraphMemoryBlock) -> bool {
        lease_of(&self.leases, block).is_some()
    }
}

/// The lease of a block, by its name: a block value that is out of date may have an address in another
/// block that is leased, and would be a second name for its bytes.
pub(crate) fn lease_of<'l>(leases: &'l [Lease], block: &GraphMemoryBlock) -> Option<&'l Lease> {
    leases.iter().find(|lease| lease.blocks().iter().any(|held| held.id() == block.id()))
}

/// An arena that a session, and then its graph, has: who else captures with it runs on the same stream.
#[derive(Debug)]
pub(crate) struct OwnArena {
    arena: CudaArena,
    address: u64,
}

impl OwnArena {
    /// Where the arena begins, if somebody has it.
    pub(crate) fn new(arena: CudaArena<DeviceMemory>) -> Result<Self, u64> {
        let lease = arena.lease();
        let address = lease.ranges().next().map_or(0, |range| range.address);
        if take_arena(address) { Ok(Self { arena, address }) } else { Err(address) }
    }

    pub(crate) fn arena(&self) -> &CudaArena {
        &self.arena
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for OwnArena {
    fn drop(&mut self) {
        give_arena_back(self.address);
    }
}

//! What the nodes of a graph name, held for as long as it may run.

use std::sync::Arc;

use super::handles::HostBuffer;
use super::registry::{give_arena_back, take_arena};
use super::sharing::Shares;
use crate::arena::CudaArena;
use crate::block::GraphMemoryBlock;
use crate::device::DeviceMemory;
use crate::lease::Lease;

/// Host buffers, leases, and the arena, which only graphs of one stream have together.
#[derive(Debug)]
pub(crate) struct GraphMemory {
    /// The capture that `host` is from.
    pub(crate) capture: u64,
    pub(crate) host: Vec<parking_lot::Mutex<Option<HostBuffer>>>,
    /// What the graph does with its blocks.
    #[expect(dead_code, reason = "it is there to be dropped with the memory")]
    pub(crate) shares: Shares,
    /// Of the arena first, then of blocks.
    pub(crate) leases: Vec<Lease>,
    pub(crate) arena: Arc<OwnArena>,
}

impl GraphMemory {
    pub(crate) fn new(
        capture: u64,
        host: Vec<Option<HostBuffer>>,
        shares: Shares,
        leases: Vec<Lease>,
        arena: Arc<OwnArena>,
    ) -> Self {
        let host = host.into_iter().map(parking_lot::Mutex::new).collect();
        Self { capture, host, shares, leases, arena }
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

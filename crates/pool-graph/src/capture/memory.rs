//! What the nodes of a graph name, held for as long as it may run.

use std::sync::Arc;

use pool_cuda::cudarc::driver::CudaContext;

use super::error::CaptureError;
use super::registry::{give_arena_back, take_arena};
use crate::arena::{ArenaMark, ArenaPolicy, CudaArena};
use crate::base::block::GraphMemoryBlock;
use crate::lease::Lease;
use crate::source::DeviceMemory;

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

    /// Checks that a block of this context is leased, and has as many bytes.
    pub(crate) fn check_block(
        &self,
        block: &GraphMemoryBlock,
        bytes: u64,
        own: &CudaContext,
    ) -> Result<(), CaptureError> {
        check_block(&self.leases, block, bytes, own)
    }
}

/// Checks that some lease holds a block, by its name: a block value that is out of date may have an address
/// in another block that is leased, and would be a second name for its bytes. One of another device may be
/// held, too, but nothing on this context's streams names it.
pub(crate) fn check_block(
    leases: &[Lease],
    block: &GraphMemoryBlock,
    bytes: u64,
    own: &CudaContext,
) -> Result<(), CaptureError> {
    let holds = |lease: &&Lease| lease.blocks().iter().any(|held| held.id() == block.id());
    let Some(lease) = leases.iter().find(holds).filter(|_| bytes <= block.size()) else {
        return Err(CaptureError::NotLeased { address: block.device_pointer(), bytes });
    };
    let other = lease.context().filter(|other| other.cu_ctx() != own.cu_ctx());
    other.map_or(Ok(()), |other| {
        let (session, other) = (own.ordinal(), other.ordinal());
        Err(CaptureError::WrongContext { session, other })
    })
}

/// An arena that a session, and then its graph, has: who else captures with it runs on the same stream.
#[derive(Debug)]
pub(crate) struct OwnArena {
    arena: CudaArena,
    address: u64,
    /// How it stood when it was given away. Others may have captured with what lived then, by hand.
    given: Option<ArenaMark>,
}

impl OwnArena {
    pub(crate) fn new(arena: CudaArena<DeviceMemory>) -> Result<Self, CaptureError> {
        let lease = arena.lease();
        let address = lease.ranges().next().map_or(0, |range| range.address);
        if !take_arena(address)? {
            return Err(CaptureError::ArenaInUse { address });
        }
        let mut own = Self { arena, address, given: None };
        own.arena.give_away(true);
        // From here on nobody else takes or ends regions.
        own.given = Some(own.arena.mark()?);
        Ok(own)
    }

    /// Where a session begins whose graph runs on the stream of this arena's graphs: behind what is not theirs.
    pub(crate) fn mark_anew(&self, policy: ArenaPolicy) -> Result<ArenaMark, CaptureError> {
        let given = self.given.as_ref().ok_or(CaptureError::Spoiled)?;
        Ok(self.arena.mark_anew(given, policy)?)
    }

    /// How many of its bytes are not its graphs'.
    pub(crate) fn used_before(&self) -> u64 {
        self.given.as_ref().map_or(0, |given| self.arena.used_before(given))
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
        if let Some(given) = &mut self.given {
            self.arena.come_back(given);
        }
        self.arena.give_away(false);
        give_arena_back(self.address);
    }
}

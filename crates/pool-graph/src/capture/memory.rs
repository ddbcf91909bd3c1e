//! What the nodes of a graph name, held for as long as it may run.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaContext;

use super::error::CaptureError;
use super::registry::{give_arena_back, take_arena};
use crate::arena::{ArenaMark, ArenaPolicy, CudaArena};
use crate::base::block::GraphMemoryBlock;
use crate::lease::Lease;
use crate::source::DeviceMemory;

/// Leases, and the arena, which only graphs of one stream have together.
#[derive(Debug)]
pub(crate) struct GraphMemory {
    /// The lease of the arena first, then those of blocks.
    pub(crate) leases: Vec<Lease>,
    pub(crate) arena: Arc<OwnArena>,
}

impl GraphMemory {
    pub(crate) fn new(arena: Arc<OwnArena>, blocks: Vec<Lease>) -> Self {
        let mut leases = vec![arena.arena().lease()];
        leases.extend(blocks);
        Self { leases, arena }
    }

    /// Checks that nobody was given any of the memory since it was leased.
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
        return Err(CaptureError::NotLeased { address: block.address(), bytes });
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
    /// How the arena stood when it was given away. Others may have captured with what lived then, by hand.
    given: ArenaMark,
    // Below the mark: the arena is as it stood then before others may have it.
    claim: ArenaClaim,
}

/// An arena that was given away, until this is dropped: nobody else takes or ends regions.
#[derive(Debug)]
struct ArenaClaim {
    arena: CudaArena,
    address: u64,
}

impl OwnArena {
    pub(crate) fn new(arena: CudaArena<DeviceMemory>) -> Result<Self, CaptureError> {
        let claim = ArenaClaim::new(arena)?;
        Ok(Self { given: claim.arena.mark()?, claim })
    }

    /// Where a session begins whose graph runs on the stream of this arena's graphs: behind what is not theirs.
    pub(crate) fn mark_anew(&self, policy: ArenaPolicy) -> Result<ArenaMark, CaptureError> {
        Ok(self.claim.arena.mark_anew(&self.given, policy)?)
    }

    /// How many bytes of the arena belong to none of its graphs.
    pub(crate) fn used_before(&self) -> u64 {
        self.claim.arena.used_before(&self.given)
    }

    pub(crate) fn arena(&self) -> &CudaArena {
        &self.claim.arena
    }

    pub(crate) fn address(&self) -> u64 {
        self.claim.address
    }
}

impl Drop for OwnArena {
    fn drop(&mut self) {
        self.claim.arena.come_back(&mut self.given);
    }
}

impl ArenaClaim {
    fn new(arena: CudaArena<DeviceMemory>) -> Result<Self, CaptureError> {
        let address = arena.shared().range().address;
        if !take_arena(address)? {
            return Err(CaptureError::ArenaInUse { address });
        }
        arena.give_away(true);
        Ok(Self { arena, address })
    }
}

impl Drop for ArenaClaim {
    fn drop(&mut self) {
        self.arena.give_away(false);
        give_arena_back(self.address);
    }
}

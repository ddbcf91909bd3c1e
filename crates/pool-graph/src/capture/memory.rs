//! The memory of a graph's nodes, held for as long as the graph may run.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaContext;

use super::error::CaptureError;
use super::registry::{give_arena_back, take_arena};
use crate::arena::{ArenaMark, ArenaPolicy, CudaArena};
use crate::base::block::GraphMemoryBlock;
use crate::lease::Lease;
use crate::source::DeviceMemory;

/// Leases, and the arena, which only graphs of one stream share.
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

    /// Checks that none of the memory was reused since it was leased.
    pub(crate) fn check(&self) -> Result<(), CaptureError> {
        Ok(self.leases.iter().try_for_each(Lease::check)?)
    }

    /// Checks that a block of this context is leased, and has at least `bytes` bytes.
    pub(crate) fn check_block(
        &self,
        block: &GraphMemoryBlock,
        bytes: u64,
        own: &CudaContext,
    ) -> Result<(), CaptureError> {
        check_block(&self.leases, block, bytes, own)
    }
}

/// Checks that some lease holds a block, by its name: a stale block value may have an address in
/// another leased block, and would be a second name for its bytes. A block of another device may be
/// held, too, but no work on this context's streams uses it.
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

/// An arena of a session, and then of its graph: other sessions with it run on the same stream.
#[derive(Debug)]
pub(crate) struct OwnArena {
    /// The arena's state before the session. Other captures, made without a session, may use the
    /// regions that were live then.
    given: ArenaMark,
    // It is dropped after the mark: the arena gets its earlier state before other code may have it.
    claim: ArenaClaim,
}

/// The claim on an arena, until this is dropped: no other code allocates or ends regions.
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

    /// Returns the start of another session whose graph runs on the stream of this arena's graphs:
    /// after the bytes that are not theirs.
    pub(crate) fn mark_anew(&self, policy: ArenaPolicy) -> Result<ArenaMark, CaptureError> {
        Ok(self.claim.arena.mark_anew(&self.given, policy)?)
    }

    /// Returns the bytes of the arena that belong to none of its graphs.
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

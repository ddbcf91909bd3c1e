//! The memory of a graph's nodes, held for as long as the graph may run.

use std::mem;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pool_driver::cudarc::driver::CudaContext;

use super::error::CaptureError;
use super::owned_memory::{OwnedMemory, OwnedName, OwnedSlice, OwnedSliceMut, find_owned};
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
    pub(crate) owned: Vec<OwnedMemory>,
    pub(crate) arena: Arc<OwnArena>,
}

/// The memory that a session keeps besides an arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept<'k> {
    pub(crate) leases: &'k [Lease],
    pub(crate) owned: &'k [OwnedMemory],
}

impl GraphMemory {
    pub(crate) fn new(arena: Arc<OwnArena>, blocks: Vec<Lease>, owned: Vec<OwnedMemory>) -> Self {
        let mut leases = vec![arena.arena().lease()];
        leases.extend(blocks);
        Self { leases, owned, arena }
    }

    pub(crate) fn kept(&self) -> Kept<'_> {
        Kept { leases: &self.leases, owned: &self.owned }
    }

    /// Returns `true` if the graph keeps all memory of a range.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.leases.iter().any(|lease| lease.contains(address, bytes))
            || self.owned.iter().any(|memory| memory.name.range.contains(address, bytes))
    }

    /// Returns the address of memory of this context that the graph keeps and that has these bytes.
    pub(crate) fn address_of(
        &self,
        kept: KeptPlace,
        bytes: u64,
        own: &CudaContext,
    ) -> Result<u64, CaptureError> {
        match kept {
            KeptPlace::Block(block) => {
                self.check_block(&block, bytes, own)?;
                Ok(block.address())
            }
            KeptPlace::Owned(name) => {
                find_owned(&self.owned, &name)?;
                let address = name.range.address;
                if bytes <= name.range.bytes {
                    return Ok(address);
                }
                Err(CaptureError::NotOwned { address, bytes })
            }
        }
    }

    /// Checks that none of the memory was reused since it was leased, and that it is not lent now.
    pub(crate) fn check(&self) -> Result<(), CaptureError> {
        drop(self.begin_run()?);
        Ok(())
    }

    /// Does the same as [`check`](Self::check). The memory is not lent while the returned guard lives.
    pub(crate) fn begin_run(&self) -> Result<MutexGuard<'_, bool>, CaptureError> {
        self.leases.iter().try_for_each(Lease::check)?;
        let lent = self.arena.lent.lock();
        if *lent {
            return Err(CaptureError::Lent { address: self.arena.address() });
        }
        Ok(lent)
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

/// Memory that a graph keeps and can read for the caller: a block of a pool, an [`OwnedSlice`], or an
/// [`OwnedSliceMut`].
pub trait KeptMemory: sealed::KeptMemory {}

/// Memory that a graph keeps and can write for the caller: a block of a pool, or an [`OwnedSliceMut`].
pub trait KeptMemoryMut: KeptMemory {}

/// The name of memory that a graph keeps.
#[derive(Clone, Copy, Debug)]
pub enum KeptPlace {
    Block(GraphMemoryBlock),
    Owned(OwnedName),
}

mod sealed {
    use super::KeptPlace;

    pub trait KeptMemory {
        fn place(&self) -> KeptPlace;
    }
}

impl KeptMemory for GraphMemoryBlock {}
impl KeptMemoryMut for GraphMemoryBlock {}

impl sealed::KeptMemory for GraphMemoryBlock {
    fn place(&self) -> KeptPlace {
        KeptPlace::Block(*self)
    }
}

impl<T> KeptMemory for OwnedSlice<T> {}

impl<T> sealed::KeptMemory for OwnedSlice<T> {
    fn place(&self) -> KeptPlace {
        KeptPlace::Owned(self.name)
    }
}

impl<T> KeptMemory for OwnedSliceMut<T> {}
impl<T> KeptMemoryMut for OwnedSliceMut<T> {}

impl<T> sealed::KeptMemory for OwnedSliceMut<T> {
    fn place(&self) -> KeptPlace {
        KeptPlace::Owned(self.name)
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
    /// `true` while a scope between replays has the memory. The lock is held to read it, and until a launch has
    /// returned.
    lent: Mutex<bool>,
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
        Ok(Self { given: claim.arena.mark()?, lent: Mutex::new(false), claim })
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

    /// Lends the memory to a scope between replays.
    pub(crate) fn lend(self: &Arc<Self>) -> Result<ArenaLoan, CaptureError> {
        if mem::replace(&mut *self.lent.lock(), true) {
            return Err(CaptureError::Lent { address: self.address() });
        }
        Ok(ArenaLoan(Arc::clone(self)))
    }

    pub(crate) fn arena(&self) -> &CudaArena {
        &self.claim.arena
    }

    pub(crate) fn address(&self) -> u64 {
        self.claim.address
    }
}

/// A loan of an arena's memory, until it is dropped.
#[derive(Debug)]
pub(crate) struct ArenaLoan(Arc<OwnArena>);

impl Drop for ArenaLoan {
    fn drop(&mut self) {
        *self.0.lent.lock() = false;
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

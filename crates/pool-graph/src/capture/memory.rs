//! The memory that a graph's nodes use and that must outlive every run of the graph.

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

/// The memory that a graph's nodes use. The memory includes leased blocks, owned memory, and an
/// arena that is shared only by graphs on the same stream.
#[derive(Debug)]
pub(crate) struct GraphMemory {
    /// The lease on the arena, followed by the leases on blocks.
    pub(crate) leases: Vec<Lease>,
    pub(crate) owned: Vec<OwnedMemory>,
    pub(crate) arena: Arc<OwnArena>,
}

/// The memory that a session retains, except for the arena.
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

    /// Returns `true` if the graph retains every byte of the range.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.leases.iter().any(|lease| lease.contains(address, bytes))
            || self.owned.iter().any(|memory| memory.name.range.contains(address, bytes))
    }

    /// Returns the address of memory that the graph retains. Returns an error if the memory is too
    /// small or belongs to another context.
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

    /// Checks that no leased memory has been reused since it was leased, and that no scope is
    /// borrowing the arena.
    pub(crate) fn check(&self) -> Result<(), CaptureError> {
        drop(self.begin_run()?);
        Ok(())
    }

    /// Performs the same checks as [`check`](Self::check) and returns a guard. No scope can borrow
    /// the arena until the guard is dropped.
    pub(crate) fn begin_run(&self) -> Result<MutexGuard<'_, bool>, CaptureError> {
        self.leases.iter().try_for_each(Lease::check)?;
        let lent = self.arena.lent.lock();
        if *lent {
            return Err(CaptureError::Lent { address: self.arena.address() });
        }
        Ok(lent)
    }

    /// Checks that the block belongs to this context, is leased, and contains at least `bytes`
    /// bytes.
    pub(crate) fn check_block(
        &self,
        block: &GraphMemoryBlock,
        bytes: u64,
        own: &CudaContext,
    ) -> Result<(), CaptureError> {
        check_block(&self.leases, block, bytes, own)
    }
}

/// Memory that a graph retains and that [`CapturedGraph::read`](crate::CapturedGraph::read)
/// accepts. Pool blocks, [`OwnedSlice`], and [`OwnedSliceMut`] implement this trait.
pub trait KeptMemory: sealed::KeptMemory {}

/// Memory that a graph retains and that [`CapturedGraph::write`](crate::CapturedGraph::write)
/// accepts. Pool blocks and [`OwnedSliceMut`] implement this trait.
pub trait KeptMemoryMut: KeptMemory {}

/// An identifier for memory that a graph retains.
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

/// Compares block IDs to check that a lease contains this block. Comparing addresses is not
/// sufficient, because the address of a stale `GraphMemoryBlock` might lie within another leased
/// block. A block on another device may also be leased, but work on this context's streams cannot
/// use it.
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

/// An arena that belongs first to a session and later to the session's graphs. All other sessions
/// that use this arena run on the same stream.
#[derive(Debug)]
pub(crate) struct OwnArena {
    /// The arena's state before the session began. Captures outside the session may still use the
    /// regions that were live when the session began.
    given: ArenaMark,
    /// `true` while a scope is borrowing the arena's memory between replays. The lock is usually
    /// held only to read or change this flag. A launch holds the lock until the driver call
    /// returns.
    lent: Mutex<bool>,
    // The claim must be dropped after the arena's earlier state has been restored. Otherwise, other
    // code could observe the session's state.
    claim: ArenaClaim,
}

/// A claim on an arena. Until the claim is dropped, no other code can allocate or deallocate the
/// arena's regions.
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

    /// Returns the mark at which another session that shares the arena starts to allocate. That
    /// session's graph runs on the same stream as the arena's other graphs. The mark lies after the
    /// bytes at the start of the arena that belong to none of these graphs.
    pub(crate) fn mark_anew(&self, policy: ArenaPolicy) -> Result<ArenaMark, CaptureError> {
        Ok(self.claim.arena.mark_anew(&self.given, policy)?)
    }

    /// Returns the number of bytes in the arena that do not belong to any of its graphs.
    pub(crate) fn used_before(&self) -> u64 {
        self.claim.arena.used_before(&self.given)
    }

    /// Lends the arena's memory to a scope that runs between replays. Returns an error if another
    /// scope is already borrowing the memory.
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

/// A loan of the arena's memory to a scope. Dropping this value ends the loan.
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

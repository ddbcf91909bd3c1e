//! The state shared by a pool and its leases: the locked ledger and the source of the pool's
//! memory.

use pool_core::reserve::{NoHostMemory, lock_reserved};

use crate::base::block::GraphMemoryBlock;
use crate::base::sync::{Condvar, Mutex, MutexGuard, SourceCall};
use crate::ledger::{BlockLedger, LeavingPieces};
use crate::source::MemorySource;

/// The state shared by a pool and its leases.
pub(crate) struct Shared<M: MemorySource> {
    pub(crate) source: M,
    pub(crate) ledger: Mutex<BlockLedger>,
    /// The condition variable that wakes waiting threads after each change to the ledger.
    pub(crate) changed: Condvar,
}

impl<M: MemorySource> Shared<M> {
    /// Ends a lease and frees all memory that only this lease kept alive.
    pub(crate) fn end_lease(&self, blocks: &[GraphMemoryBlock]) {
        let idle = self.ledger.lock().end_lease(blocks);
        self.give_back(idle);
    }

    /// Locks the ledger and ensures that it has enough host memory for an allocation. If `growth`
    /// is given, the ledger also has enough memory to record a new chunk of `growth` bytes.
    pub(crate) fn ledger_with_capacity(
        &self,
        growth: Option<u64>,
    ) -> Result<MutexGuard<'_, BlockLedger>, NoHostMemory> {
        lock_reserved(|| self.ledger.lock(), |ledger| ledger, growth)
    }

    /// Hands the released pieces back to the source one at a time and returns the number of freed
    /// bytes.
    pub(crate) fn give_back(&self, mut leaving: LeavingPieces) -> u64 {
        if leaving.pieces == 0 {
            return 0;
        }
        let mut freed_bytes = 0;
        let _call = SourceCall::begin();
        let mut next = self.ledger.lock().next_leaving(&mut leaving);
        while let Some(piece) = next {
            // SAFETY: the ledger releases each range exactly once, as a whole, and only after the
            // last block in the range has been returned. The code that returned the block
            // guarantees that no work still uses it. A captured graph that uses the range holds a
            // lease on it. The ledger does not release a range that contains leased blocks.
            let is_free = unsafe { self.source.free(piece.address, piece.bytes) };
            freed_bytes += if is_free { piece.bytes } else { 0 };
            let mut ledger = self.ledger.lock();
            ledger.gave_back(piece);
            next = ledger.next_leaving(&mut leaving);
        }
        self.changed.notify_all();
        freed_bytes
    }
}

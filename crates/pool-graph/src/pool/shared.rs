//! The state that a pool shares with its leases: the locked book and the pool's memory source.

use pool_core::reserve::{NoHostMemory, lock_reserved};

use crate::base::block::GraphMemoryBlock;
use crate::base::sync::{Condvar, Mutex, MutexGuard, SourceCall};
use crate::book::{Book, LeavingPieces};
use crate::source::MemorySource;

/// The state that a pool shares with its leases.
pub(crate) struct Shared<M: MemorySource> {
    pub(crate) source: M,
    pub(crate) book: Mutex<Book>,
    /// The condition variable that wakes waiting threads after each change to the book.
    pub(crate) changed: Condvar,
}

impl<M: MemorySource> Shared<M> {
    /// Ends a lease and frees all memory that only this lease kept alive.
    pub(crate) fn end_lease(&self, blocks: &[GraphMemoryBlock]) {
        let idle = self.book.lock().end_lease(blocks);
        self.give_back(idle);
    }

    /// Locks the book and ensures that it has enough host memory for an allocation. If `growth` is
    /// given, the book also has memory for the record of a new chunk of `growth` bytes.
    pub(crate) fn book_with_room(
        &self,
        growth: Option<u64>,
    ) -> Result<MutexGuard<'_, Book>, NoHostMemory> {
        lock_reserved(|| self.book.lock(), |book| book, growth)
    }

    /// Returns the released pieces to the source one at a time, and returns the number of freed
    /// bytes.
    pub(crate) fn give_back(&self, mut leaving: LeavingPieces) -> u64 {
        if leaving.pieces == 0 {
            return 0;
        }
        let mut freed_bytes = 0;
        let _call = SourceCall::begin();
        let mut next = self.book.lock().next_leaving(&mut leaving);
        while let Some(piece) = next {
            // SAFETY: the book releases each range exactly once, as a whole, and only after the
            // last block in the range has been returned. Code that returns a block guarantees that
            // no work uses it anymore. A captured graph that uses the range holds a lease on it.
            // The book does not release a range with leased blocks.
            let is_free = unsafe { self.source.free(piece.address, piece.bytes) };
            freed_bytes += if is_free { piece.bytes } else { 0 };
            let mut book = self.book.lock();
            book.gave_back(piece);
            next = book.next_leaving(&mut leaving);
        }
        self.changed.notify_all();
        freed_bytes
    }
}

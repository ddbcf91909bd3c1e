//! The books of a pool behind their lock, with the source that they account for: a pool and its leases have them
//! together.

use pool_core::reserve::{NoHostMemory, lock_reserved};

use crate::base::block::GraphMemoryBlock;
use crate::base::sync::{Condvar, Mutex, MutexGuard, SourceCall};
use crate::book::{Book, LeavingPieces};
use crate::source::MemorySource;

/// What a pool and its leases have together.
pub(crate) struct Shared<M: MemorySource> {
    pub(crate) source: M,
    pub(crate) book: Mutex<Book>,
    /// Tells threads that wait for memory that some has come or gone.
    pub(crate) changed: Condvar,
}

impl<M: MemorySource> Shared<M> {
    /// Ends a lease; frees what waited for it.
    pub(crate) fn end_lease(&self, blocks: &[GraphMemoryBlock]) {
        let idle = self.book.lock().end_lease(blocks);
        self.give_back(idle);
    }

    /// The book, locked, with room for an allocation, and for a new chunk of so many bytes.
    pub(crate) fn book_with_room(
        &self,
        growth: Option<u64>,
    ) -> Result<MutexGuard<'_, Book>, NoHostMemory> {
        lock_reserved(|| self.book.lock(), |book| book, growth)
    }

    /// Gives pieces that the book has let go back to the source, one by one; returns how many bytes are free now.
    pub(crate) fn give_back(&self, mut leaving: LeavingPieces) -> u64 {
        if leaving.pieces == 0 {
            return 0;
        }
        let mut freed_bytes = 0;
        let _call = SourceCall::begin();
        let mut next = self.book.lock().next_leaving(&mut leaving);
        while let Some(piece) = next {
            // SAFETY: the book lets go what the source gave, once, as it was given, and only where no
            // block is in it: whoever returned the last one says that nothing uses it, and a captured
            // graph that does holds a lease, which is a block.
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

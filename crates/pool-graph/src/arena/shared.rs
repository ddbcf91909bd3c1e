//! The buffer of an arena with its books: the arena and its leases have them together.

use pool_core::Device;

use super::book::ArenaBook;
use crate::base::range::LeasedRange;
use crate::base::sync::Mutex;
use crate::source::MemorySource;

/// What an arena and its leases have together; frees the buffer with the last of them.
pub(crate) struct ArenaShared<M: MemorySource> {
    pub(super) source: M,
    pub(super) range: LeasedRange,
    pub(super) book: Mutex<ArenaBook>,
}

impl<M: MemorySource> ArenaShared<M> {
    pub(crate) fn device(&self) -> Device {
        self.source.device()
    }

    pub(crate) fn range(&self) -> LeasedRange {
        self.range
    }

    pub(crate) fn generation(&self) -> u64 {
        self.book.lock().resets()
    }
}

impl<M: MemorySource> Drop for ArenaShared<M> {
    fn drop(&mut self) {
        // SAFETY: the source gave this range, and it is freed here alone. The arena and every lease are
        // gone: no graph has it, and whoever allocated from the arena says that nothing else uses it.
        unsafe { self.source.free(self.range.address, self.range.bytes) };
    }
}

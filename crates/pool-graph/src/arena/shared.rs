//! The buffer of an arena with its state, shared by the arena and its leases.

use pool_core::Device;

use super::book::ArenaBook;
use crate::base::range::LeasedRange;
use crate::base::sync::Mutex;
use crate::source::MemorySource;

/// The shared part of an arena and its leases; the last of them frees the buffer.
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
        // SAFETY: the source returned this range, and it is freed only here. The arena and every
        // lease are dropped: no graph has it. The code that allocated from the arena promises that
        // no other work uses it.
        unsafe { self.source.free(self.range.address, self.range.bytes) };
    }
}

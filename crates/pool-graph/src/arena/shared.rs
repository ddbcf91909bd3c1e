//! The buffer and state that an arena shares with its leases.

use pool_core::Device;

use super::ledger::ArenaLedger;
use crate::base::range::LeasedRange;
use crate::base::sync::Mutex;
use crate::source::MemorySource;

/// The state that an arena shares with its leases. The buffer is freed when the arena and all its
/// leases have been dropped.
pub(crate) struct ArenaShared<M: MemorySource> {
    pub(super) source: M,
    pub(super) range: LeasedRange,
    pub(super) ledger: Mutex<ArenaLedger>,
}

impl<M: MemorySource> ArenaShared<M> {
    pub(crate) fn device(&self) -> Device {
        self.source.device()
    }

    pub(crate) fn range(&self) -> LeasedRange {
        self.range
    }

    pub(crate) fn generation(&self) -> u64 {
        self.ledger.lock().resets()
    }
}

impl<M: MemorySource> Drop for ArenaShared<M> {
    fn drop(&mut self) {
        // SAFETY: the source returned this range, and only this destructor frees it. The arena and
        // all its leases have been dropped, so no graph can use the range. Code that allocates from
        // the arena guarantees that no work uses the range after this destructor runs.
        unsafe { self.source.free(self.range.address, self.range.bytes) };
    }
}

//! The counts that the model expects for one pool. The tests compare these counts with the pool's
//! statistics and the backend's counts.

use pool_core::PoolStats;

use super::program::Setting;
use crate::ledger::BlockCounts;

/// The expected counts for one pool.
#[derive(Debug)]
pub(super) struct Account {
    /// The number of slots that are currently handed out.
    pub(super) active: usize,
    /// The largest number of slots that were handed out or reserved at the same time.
    high_water: usize,
    /// An upper bound on `high_water`. The exact number is unknown because the account does not
    /// record every slot that a vector reserves.
    high_water_at_most: usize,
    /// The total number of slots that have been handed out so far.
    pub(super) acquires: u64,
    pub(super) setting: Setting,
    /// The largest number of bytes that the pool may hold. The number is either the pool's limit or
    /// the number of bytes that the pool held when the limit was last set, whichever is larger.
    allowed: usize,
    /// The largest value of `allowed` since the pool was created or cleared.
    most_allowed: usize,
    /// Counts of the blocks that the backend had already allocated when the pool was created. All
    /// blocks allocated since then belong to the pool.
    before: Option<BlockCounts>,
    /// The number of acquires whose shape was found in the shape cache.
    pub(super) shaped: u64,
    has_slots: bool,
}

impl Account {
    /// Creates a new pool's account.
    pub(super) fn open(setting: Setting, held: Option<BlockCounts>, has_slots: bool) -> Self {
        let allowed = setting.limit();
        Self {
            active: 0,
            high_water: 0,
            high_water_at_most: 0,
            acquires: 0,
            setting,
            allowed,
            most_allowed: allowed,
            before: held,
            shaped: 0,
            has_slots,
        }
    }

    /// Records that the pool handed out the given number of slots.
    pub(super) fn took(&mut self, slots: usize) {
        self.active += slots;
        self.acquires += slots as u64;
        self.high_water = self.high_water.max(self.active);
    }

    /// Records that the pool reserved the given number of slots without handing them out.
    pub(super) fn reserved(&mut self, slots: usize) {
        self.high_water = self.high_water.max(self.active + slots);
    }

    /// Records that the pool might have reserved the given number of slots. See
    /// [`reserved`](Self::reserved).
    pub(super) fn may_have_reserved(&mut self, slots: usize) {
        self.high_water_at_most = self.high_water_at_most.max(self.active + slots);
    }

    /// Records that the pool was reconfigured while it held `reserved` bytes.
    pub(super) fn configured(&mut self, setting: Setting, reserved: usize) {
        self.setting = setting;
        self.allowed = setting.limit().max(reserved);
        self.most_allowed = self.most_allowed.max(self.allowed);
    }

    /// Records that the pool was cleared.
    pub(super) fn cleared(&mut self) {
        self.active = 0;
        self.high_water = 0;
        self.high_water_at_most = 0;
        self.most_allowed = self.allowed;
    }

    /// Records that another pool was created, made this number of allocations, and was dropped.
    pub(super) fn was_beside(&mut self, allocations: usize) {
        if let Some(before) = &mut self.before {
            before.allocations += allocations;
        }
    }

    /// Returns the number of allocations that the pool has made, according to the backend.
    pub(super) fn allocations(&self, held: Option<BlockCounts>) -> usize {
        held.zip(self.before).map_or(0, |(held, before)| held.allocations - before.allocations)
    }

    /// Compares the pool's slot counts with the expected counts.
    fn check_slots(&mut self, stats: &PoolStats) {
        assert_eq!(stats.active_slots, self.active, "active slots");
        let high_water = self.high_water..=self.high_water_at_most.max(self.high_water);
        assert!(high_water.contains(&stats.high_water_slots), "high water: {stats:?}");
        (self.high_water, self.high_water_at_most) = (stats.high_water_slots, 0);
    }

    /// Compares all available counts with the expected counts.
    pub(super) fn check(&mut self, stats: &PoolStats, held: Option<BlockCounts>) {
        if self.has_slots {
            self.check_slots(stats);
        } else {
            assert_eq!(stats.high_water_slots, 0, "slots of a layout without slots");
        }
        assert_eq!(stats.byte_limit, self.setting.limit(), "limit");
        assert!(stats.reserved_bytes <= self.allowed, "the pool holds more than its limit");
        assert!(stats.reserved_bytes <= stats.peak_reserved_bytes, "the peak is below the present");
        assert!(stats.peak_reserved_bytes <= self.most_allowed, "the peak is above the limit");
        assert_eq!(stats.leaked_bytes, 0, "leaked bytes");
        assert_eq!(stats.shape_hits + stats.shape_misses, self.shaped, "uses of the shape cache");
        let (Some(held), Some(before)) = (held, self.before) else {
            return;
        };
        assert_eq!(stats.reserved_bytes, held.bytes - before.bytes, "bytes that the pool holds");
        assert_eq!(stats.growths, self.allocations(Some(held)) as u64, "growths");
        // While a block is growing, both the old and the new block exist. The peak includes both
        // blocks.
        assert!(
            held.peak_bytes - before.bytes <= self.allowed,
            "the limit was exceeded for a time"
        );
    }

    /// Checks that only active slots have blocks.
    pub(super) fn check_nothing_idle(&self, held: Option<BlockCounts>) {
        // A chunk does not belong to any slot. For pools with chunks, the caller also checks that a
        // second call to `trim` frees nothing.
        if !self.has_slots {
            return;
        }
        if let (Some(held), Some(before)) = (held, self.before) {
            assert!(held.blocks - before.blocks <= self.active, "an idle slot still has a block");
        }
    }
}

//! The numbers that the model expects of one pool. They are compared with its statistics and with
//! the backend's counts.

use pool_core::PoolStats;

use super::program::Setting;
use crate::ledger::BlockCounts;

/// The numbers that one pool should have.
#[derive(Debug)]
pub(super) struct Account {
    /// Slots that are handed out.
    pub(super) active: usize,
    /// The most slots that were handed out or reserved at once.
    high_water: usize,
    /// The upper bound of that number: the account does not see every slot that a vector reserves.
    high_water_at_most: usize,
    /// The number of slots that were ever handed out.
    pub(super) acquires: u64,
    pub(super) setting: Setting,
    /// The most bytes that the pool may hold: its limit, or the bytes that it held when the limit was lowered.
    allowed: usize,
    /// The largest of these since the pool was made or cleared.
    most_allowed: usize,
    /// The blocks that the backend held when the pool was made; later ones are this pool's.
    before: Option<BlockCounts>,
    /// Acquires whose shape went through the shape cache.
    pub(super) shaped: u64,
    has_slots: bool,
}

impl Account {
    /// Opens the account of a new pool.
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

    /// Notes that `slots` more slots were handed out.
    pub(super) fn took(&mut self, slots: usize) {
        self.active += slots;
        self.acquires += slots as u64;
        self.high_water = self.high_water.max(self.active);
    }

    /// Notes that this number of further slots was reserved but not handed out.
    pub(super) fn reserved(&mut self, slots: usize) {
        self.high_water = self.high_water.max(self.active + slots);
    }

    /// Notes that slots may have been reserved, as [`reserved`](Self::reserved).
    pub(super) fn may_have_reserved(&mut self, slots: usize) {
        self.high_water_at_most = self.high_water_at_most.max(self.active + slots);
    }

    /// Notes that the pool was given another setting while it held `reserved` bytes.
    pub(super) fn configured(&mut self, setting: Setting, reserved: usize) {
        self.setting = setting;
        self.allowed = setting.limit().max(reserved);
        self.most_allowed = self.most_allowed.max(self.allowed);
    }

    /// Notes that the pool was cleared.
    pub(super) fn cleared(&mut self) {
        self.active = 0;
        self.high_water = 0;
        self.high_water_at_most = 0;
        self.most_allowed = self.allowed;
    }

    /// Notes that another pool, which made this number of allocations, was open in between and is
    /// gone.
    pub(super) fn was_beside(&mut self, allocations: usize) {
        if let Some(before) = &mut self.before {
            before.allocations += allocations;
        }
    }

    /// Returns the number of the pool's allocations, as the backend counts them.
    pub(super) fn allocations(&self, held: Option<BlockCounts>) -> usize {
        held.zip(self.before).map_or(0, |(held, before)| held.allocations - before.allocations)
    }

    /// Compares the numbers of slots.
    fn check_slots(&mut self, stats: &PoolStats) {
        assert_eq!(stats.active_slots, self.active, "active slots");
        let high_water = self.high_water..=self.high_water_at_most.max(self.high_water);
        assert!(high_water.contains(&stats.high_water_slots), "high water: {stats:?}");
        (self.high_water, self.high_water_at_most) = (stats.high_water_slots, 0);
    }

    /// Compares everything that can be compared.
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
        // This includes the middle of a growth, when the old block and the new one both exist.
        assert!(
            held.peak_bytes - before.bytes <= self.allowed,
            "the limit was exceeded for a time"
        );
    }

    /// Checks that only the blocks of active slots are held.
    pub(super) fn check_nothing_idle(&self, held: Option<BlockCounts>) {
        // A chunk belongs to no slot. The caller checks that a second trim finds nothing.
        if !self.has_slots {
            return;
        }
        if let (Some(held), Some(before)) = (held, self.before) {
            assert!(held.blocks - before.blocks <= self.active, "an idle slot still has a block");
        }
    }
}

//! Arena bookkeeping that computes offsets and checks limits without accessing the arena's memory.
//! The caller must reserve host memory for a region's record before each allocation.

use super::live_regions::LiveRegions;
use super::plan::Divergence;
use super::policy::ArenaPolicy;
use super::region::{ArenaRegion, Deallocation};
use super::stats::ArenaStats;
use crate::base::error::GraphMemoryError;
use crate::base::request::GRANULE;
use crate::base::shortage::ArenaShortage;

/// An arena's state: its capacity and policy, the offset of the next region, and the live regions.
#[derive(Debug)]
pub(super) struct ArenaLedger {
    base: u64,
    capacity: u64,
    policy: ArenaPolicy,
    /// The offset of the first planned byte or, if there is no plan, of the first region. Code
    /// outside the session uses the bytes below this offset.
    floor: u64,
    /// The offset of the next region that has no planned offset.
    cursor: u64,
    live: LiveRegions,
    /// The number of allocations since the last reset.
    allocations: u64,
    /// `true` if an allocation differed from the plan, in which case all later allocations are
    /// placed after the planned bytes.
    off_plan: bool,
    /// `true` if the arena has rejected a capture that forks into several streams.
    refused: bool,
    /// `true` while a capture session uses the arena.
    given_away: bool,
    high_water: u64,
    sum: u64,
    live_bytes: u64,
    peak: u64,
    foreign: u64,
    rewinds: u64,
    resets: u64,
}

impl ArenaLedger {
    /// Creates the state of an arena whose buffer starts at `base`. `base` must be a multiple of
    /// 256, and `base + capacity` must not overflow.
    pub(super) fn new(base: u64, capacity: u64, policy: ArenaPolicy) -> Self {
        let mut ledger = Self {
            base,
            capacity,
            policy,
            floor: 0,
            cursor: 0,
            live: LiveRegions::default(),
            allocations: 0,
            off_plan: false,
            refused: false,
            given_away: false,
            high_water: 0,
            sum: 0,
            live_bytes: 0,
            peak: 0,
            foreign: 0,
            rewinds: 0,
            resets: 0,
        };
        ledger.begin();
        ledger
    }

    pub(super) fn allocate<E>(
        &mut self,
        size: u64,
        alignment: u64,
    ) -> Result<ArenaRegion, GraphMemoryError<E>> {
        if !alignment.is_power_of_two() {
            return Err(GraphMemoryError::BadAlignment { alignment });
        }
        if self.refused {
            return Err(GraphMemoryError::ForkedCapture { rewinds: self.rewinds });
        }
        if let Some(offset) = self.planned(size, alignment)? {
            return Ok(self.hand_out(offset, size, size));
        }
        let (offset, bytes) = self.bump(size, alignment).ok_or_else(|| self.exhausted(size))?;
        self.cursor = offset + bytes;
        Ok(self.hand_out(offset, bytes, size))
    }

    /// Deallocates the newest live region that begins at `address`.
    pub(super) fn deallocate(&mut self, address: u64) -> Deallocation {
        let offset = address.checked_sub(self.base);
        let Some(bytes) = offset.and_then(|offset| self.live.end(offset)) else {
            return self.ignore();
        };
        self.live_bytes -= bytes;
        if self.is_linear() {
            self.rewind();
        }
        Deallocation::Region { bytes }
    }

    /// Counts a deallocation whose region is unknown or belongs to another owner.
    pub(super) fn ignore(&mut self) -> Deallocation {
        self.foreign += 1;
        Deallocation::Foreign
    }

    #[cfg(feature = "cuda")]
    pub(super) fn give_away(&mut self, given: bool) {
        self.given_away = given;
    }

    pub(super) fn is_given_away(&self) -> bool {
        self.given_away
    }

    /// Records that the capture forks. Returns an error if the arena's policy does not support
    /// forks.
    pub(super) fn forked<E>(&mut self) -> Result<(), GraphMemoryError<E>> {
        if !self.is_linear() {
            return Ok(());
        }
        self.refused = true;
        Err(GraphMemoryError::ForkedCapture { rewinds: self.rewinds })
    }

    /// Deallocates all regions and invalidates all captures that use them.
    pub(super) fn reset(&mut self) {
        self.resets += 1;
        self.floor = 0;
        self.begin();
    }

    /// Copies the state, including its regions, into `room`. If `room` is too small, returns the
    /// required capacity as an error.
    #[cfg(feature = "cuda")]
    pub(super) fn copy(&self, room: &mut LiveRegions) -> Result<Self, usize> {
        if !self.live.copy_to(room) {
            return Err(self.live.needs());
        }
        let Self { base, capacity, floor, cursor, allocations, off_plan, refused, .. } = *self;
        let Self { given_away, high_water, sum, live_bytes, peak, foreign, rewinds, .. } = *self;
        Ok(Self {
            base,
            capacity,
            policy: self.policy.clone(),
            floor,
            cursor,
            live: std::mem::take(room),
            allocations,
            off_plan,
            refused,
            given_away,
            high_water,
            sum,
            live_bytes,
            peak,
            foreign,
            rewinds,
            resets: self.resets,
        })
    }

    /// Returns a copy of this state with a different policy and no regions. New regions are
    /// allocated at or above offset `floor`.
    #[cfg(feature = "cuda")]
    pub(super) fn anew(mut self, policy: ArenaPolicy, floor: u64) -> Self {
        (self.policy, self.floor) = (policy, floor);
        self.begin();
        self
    }

    /// Returns the number of bytes in use, or 0 if the arena has been reset since this state was
    /// copied. A planned arena uses no bytes before its first allocation.
    #[cfg(feature = "cuda")]
    pub(super) fn used(&self, resets: u64) -> u64 {
        if self.allocations == 0 || self.resets != resets { 0 } else { self.cursor }
    }

    /// Restores an earlier state, unless the arena has been reset since that state was copied. The
    /// caller should then drop `earlier`, whose state is no longer needed.
    #[cfg(feature = "cuda")]
    pub(super) fn put_back(&mut self, earlier: &mut Self) {
        if earlier.resets == self.resets {
            (earlier.foreign, earlier.given_away) = (self.foreign, self.given_away);
            std::mem::swap(self, earlier);
        }
    }

    /// Restores the state that the arena had before the session began. If the arena was reset
    /// during the session, only the policy is restored, and the arena contains no regions. The
    /// caller should then drop `given`, whose state is no longer needed.
    #[cfg(feature = "cuda")]
    pub(super) fn come_back(&mut self, given: &mut Self) {
        if given.resets == self.resets {
            return self.put_back(given);
        }
        std::mem::swap(&mut self.policy, &mut given.policy);
        self.floor = 0;
        self.begin();
    }

    /// Returns the list of live regions. The caller must reserve capacity in this list before the
    /// next allocation.
    pub(super) fn live_mut(&mut self) -> &mut LiveRegions {
        &mut self.live
    }

    pub(super) fn is_linear(&self) -> bool {
        matches!(self.policy, ArenaPolicy::Linear)
    }

    pub(super) fn resets(&self) -> u64 {
        self.resets
    }

    pub(super) fn stats(&self) -> ArenaStats {
        ArenaStats {
            capacity_bytes: self.capacity,
            used_bytes: self.cursor,
            remaining_bytes: self.capacity - self.cursor,
            high_water_bytes: self.high_water,
            sum_bytes: self.sum,
            live_bytes: self.live_bytes,
            peak_live_bytes: self.peak,
            live_regions: self.live.count(),
            allocations: self.allocations,
            foreign_deallocations: self.foreign,
            rewinds: self.rewinds,
            resets: self.resets,
            followed_plan: matches!(self.policy, ArenaPolicy::Planned(_)) && !self.off_plan,
        }
    }

    fn begin(&mut self) {
        self.live.clear();
        // Allocations that are not in the plan are placed after the planned bytes.
        self.cursor = match &self.policy {
            ArenaPolicy::Planned(plan) => rounded(plan.peak())
                .and_then(|peak| peak.checked_add(self.floor))
                .unwrap_or(self.capacity),
            ArenaPolicy::Monotone | ArenaPolicy::Linear => self.floor,
        };
        (self.allocations, self.off_plan, self.refused) = (0, false, false);
        (self.high_water, self.sum, self.live_bytes, self.peak) = (0, 0, 0, 0);
        self.rewinds = 0;
    }

    /// Returns the planned offset of this allocation. Returns `None` if the arena has no plan, or
    /// if an earlier allocation differed from the plan.
    fn planned<E>(
        &mut self,
        size: u64,
        alignment: u64,
    ) -> Result<Option<u64>, GraphMemoryError<E>> {
        let ArenaPolicy::Planned(plan) = &self.policy else { return Ok(None) };
        if self.off_plan {
            return Ok(None);
        }
        let allocation = usize::try_from(self.allocations).unwrap_or(usize::MAX);
        let planned = plan.get(allocation);
        let is_aligned = |address: u64| {
            address.checked_next_multiple_of(alignment.max(GRANULE)) == Some(address)
        };
        let follows = |&(offset, bytes): &(u64, u64)| {
            bytes == size && is_aligned(self.base + self.floor + offset)
        };
        if let Some((offset, _)) = planned.filter(follows) {
            return Ok(Some(self.floor + offset));
        }
        match plan.divergence() {
            Divergence::Refuse => Err(GraphMemoryError::PlanDiverged {
                allocation,
                planned: planned.map(|(_, bytes)| bytes),
                requested: size,
            }),
            Divergence::FreshBytes => {
                self.off_plan = true;
                Ok(None)
            }
        }
    }

    /// Returns the offset and size of the next region, or `None` if the region does not fit into
    /// the arena.
    fn bump(&self, size: u64, alignment: u64) -> Option<(u64, u64)> {
        let bytes = rounded(size.max(1))?;
        let address = self.base.checked_add(self.cursor)?;
        let aligned = address.checked_next_multiple_of(alignment.max(GRANULE))?;
        let offset = aligned - self.base;
        (offset.checked_add(bytes)? <= self.capacity).then_some((offset, bytes))
    }

    fn exhausted<E>(&self, requested: u64) -> GraphMemoryError<E> {
        let (used, capacity) = (self.cursor, self.capacity);
        let shortage = match self.policy {
            ArenaPolicy::Monotone => ArenaShortage::Monotone,
            ArenaPolicy::Linear => ArenaShortage::Linear,
            ArenaPolicy::Planned(_) => ArenaShortage::NotInPlan,
        };
        GraphMemoryError::ArenaExhausted { requested, used, capacity, shortage }
    }

    fn hand_out(&mut self, offset: u64, bytes: u64, size: u64) -> ArenaRegion {
        self.live.add(offset, bytes);
        self.allocations += 1;
        self.sum = self.sum.saturating_add(bytes);
        self.live_bytes = self.live_bytes.saturating_add(bytes);
        self.peak = self.peak.max(self.live_bytes);
        self.high_water = self.high_water.max(offset + bytes);
        ArenaRegion { address: self.base + offset, size, offset, resets: self.resets }
    }

    /// Moves the next region's offset back to the end of the last live region. Regions are
    /// allocated at increasing offsets, so the last one in the list also has the highest offset.
    fn rewind(&mut self) {
        let end = self.live.end_of_last().max(self.floor);
        if end < self.cursor {
            self.cursor = end;
            self.rewinds += 1;
        }
    }
}

/// Rounds a number of bytes up to a multiple of the granule.
fn rounded(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(GRANULE)
}

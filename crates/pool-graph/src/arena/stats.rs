//! Statistics of an arena, as plain numbers and as a printed table.

use std::fmt;

use crate::base::bytes::{Bytes, row};

/// The statistics of a [`CudaArena`](crate::CudaArena). They cover the time since the last reset,
/// unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// The size of the arena's buffer in bytes.
    pub capacity_bytes: u64,
    /// The number of bytes before the start of the next bumped region.
    pub used_bytes: u64,
    /// The number of bytes after the used bytes.
    pub remaining_bytes: u64,
    /// The end of the highest allocated region.
    pub high_water_bytes: u64,
    /// The sum of the sizes of all allocated regions: the capacity that an arena without reuse
    /// needs.
    pub sum_bytes: u64,
    /// The size of the regions that have not been deallocated, in bytes.
    pub live_bytes: u64,
    /// The highest value of `live_bytes`: the minimum capacity.
    pub peak_live_bytes: u64,
    /// The number of regions that have not been deallocated.
    pub live_regions: u64,
    /// The number of allocated regions.
    pub allocations: u64,
    /// The number of deallocations of addresses without a live region, over the arena's lifetime.
    pub foreign_deallocations: u64,
    /// The number of rewinds of a linear arena.
    pub rewinds: u64,
    /// The number of resets over the arena's lifetime.
    pub resets: u64,
    /// `true` if the arena has a plan, and every allocation was in the plan.
    pub followed_plan: bool,
}

impl fmt::Display for ArenaStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "graph memory arena")?;
        row(f, "capacity", Bytes(self.capacity_bytes))?;
        row(f, "used", Bytes(self.used_bytes))?;
        row(f, "remaining", Bytes(self.remaining_bytes))?;
        row(f, "high water", Bytes(self.high_water_bytes))?;
        row(f, "sum", Bytes(self.sum_bytes))?;
        row(f, "live", Bytes(self.live_bytes))?;
        row(f, "peak live", Bytes(self.peak_live_bytes))?;
        row(f, "live regions", self.live_regions)?;
        row(f, "allocations", self.allocations)?;
        row(f, "foreign returns", self.foreign_deallocations)?;
        row(f, "rewinds", self.rewinds)?;
        row(f, "resets", self.resets)?;
        row(f, "followed the plan", if self.followed_plan { "yes" } else { "no" })
    }
}

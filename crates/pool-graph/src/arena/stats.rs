//! An arena's statistics, which can be read as fields or printed as a table.

use std::fmt;

use crate::base::bytes::{Bytes, row};

/// The statistics of a [`CudaArena`](crate::CudaArena). Each statistic covers the time since the
/// last reset, unless its documentation states otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// The size of the arena's buffer in bytes.
    pub capacity_bytes: u64,
    /// The offset in bytes of the next region that has no planned offset.
    pub used_bytes: u64,
    /// The number of unused bytes at the end of the arena.
    pub remaining_bytes: u64,
    /// The highest end offset of any allocated region, in bytes.
    pub high_water_bytes: u64,
    /// The total size of all allocated regions in bytes, including regions that have been
    /// deallocated. An arena that never reuses bytes needs at least this capacity.
    pub sum_bytes: u64,
    /// The total size in bytes of the regions that have not been deallocated.
    pub live_bytes: u64,
    /// The highest value that `live_bytes` has reached. To serve these allocations, an arena needs
    /// at least this capacity.
    pub peak_live_bytes: u64,
    /// The number of regions that have not been deallocated.
    pub live_regions: u64,
    /// The number of regions allocated, including those that have been deallocated.
    pub allocations: u64,
    /// The number of deallocation calls during the arena's lifetime that did not match a live
    /// region.
    pub foreign_deallocations: u64,
    /// The number of times that a linear arena has moved its offset back to reuse bytes.
    pub rewinds: u64,
    /// The number of times that the arena has been reset during its lifetime.
    pub resets: u64,
    /// `true` if the arena has a plan and every allocation has matched it.
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

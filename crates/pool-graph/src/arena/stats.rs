//! What an arena holds and handed out, as plain numbers and as a table for people.

use std::fmt;

use crate::base::bytes::{Bytes, row};

/// The numbers of one [`CudaArena`](crate::CudaArena), since its last reset where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// Bytes of the arena's one buffer.
    pub capacity_bytes: u64,
    /// Bytes up to where the next bumped region would begin.
    pub used_bytes: u64,
    /// Bytes behind the used ones.
    pub remaining_bytes: u64,
    /// The end of the highest region that was handed out.
    pub high_water_bytes: u64,
    /// Bytes of all regions that were handed out, together: what an arena must hold that never reuses.
    pub sum_bytes: u64,
    /// Bytes of regions that were not deallocated.
    pub live_bytes: u64,
    /// The most bytes that were live at one time: what an arena must hold at least.
    pub peak_live_bytes: u64,
    /// Regions that were not deallocated.
    pub live_regions: u64,
    /// How many regions were handed out.
    pub allocations: u64,
    /// Deallocations of addresses where no live region begins, ever.
    pub foreign_deallocations: u64,
    /// How often a linear arena took bytes back.
    pub rewinds: u64,
    /// How often the arena was reset, ever.
    pub resets: u64,
    /// Whether there is a plan, and every allocation was in it.
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
        row(f, "live at most", Bytes(self.peak_live_bytes))?;
        row(f, "live regions", self.live_regions)?;
        row(f, "allocations", self.allocations)?;
        row(f, "foreign returns", self.foreign_deallocations)?;
        row(f, "rewinds", self.rewinds)?;
        row(f, "resets", self.resets)?;
        row(f, "followed the plan", if self.followed_plan { "yes" } else { "no" })
    }
}

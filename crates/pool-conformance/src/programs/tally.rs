//! Counts of events in random programs, so that a test can verify that the programs reach the rare
//! cases.

use std::ops::AddAssign;

use super::host_tally::HostTally;

/// A count of each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Programs run.
    pub programs: u64,
    /// Slots handed out.
    pub acquires: u64,
    /// Acquires served by the hot path.
    pub hot_acquires: u64,
    /// Slots beyond the first slot table.
    pub beyond_first_table: u64,
    /// Acquires refused because of the byte limit.
    pub over_limit: u64,
    /// Acquires that failed because the backend refused an allocation.
    pub out_of_memory: u64,
    /// Panics that left at least one scope.
    pub panics: u64,
    /// Trims and compactions that freed memory.
    pub releases: u64,
    /// Shapes of dynamic rank found in the shape cache.
    pub shape_hits: u64,
    /// Handles refused as stale.
    pub stale_handles: u64,
    /// The acquire methods that only host scopes provide. All counts are zero if the backend is not
    /// a host backend.
    pub host: HostTally,
}

impl Tally {
    /// Returns every count with its name, except the counts of the host's methods.
    #[must_use]
    pub fn numbers(&self) -> [(&'static str, u64); 10] {
        [
            ("programs", self.programs),
            ("acquires", self.acquires),
            ("hot acquires", self.hot_acquires),
            ("beyond the first table", self.beyond_first_table),
            ("over the limit", self.over_limit),
            ("out of memory", self.out_of_memory),
            ("panics", self.panics),
            ("releases", self.releases),
            ("shape hits", self.shape_hits),
            ("stale handles", self.stale_handles),
        ]
    }

    /// Returns the names of the events that never happened, except events of the host's methods.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        self.numbers().into_iter().filter(|&(_, count)| count == 0).map(|(name, _)| name).collect()
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.programs += other.programs;
        self.acquires += other.acquires;
        self.hot_acquires += other.hot_acquires;
        self.beyond_first_table += other.beyond_first_table;
        self.over_limit += other.over_limit;
        self.out_of_memory += other.out_of_memory;
        self.panics += other.panics;
        self.releases += other.releases;
        self.shape_hits += other.shape_hits;
        self.stale_handles += other.stale_handles;
        self.host += other.host;
    }
}

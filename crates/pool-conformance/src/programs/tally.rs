//! Counts of events in random programs. A test uses these counts to verify that the programs reach
//! rare cases.

use std::ops::AddAssign;

use super::host_tally::HostTally;

/// The number of times that each event happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of programs that have run.
    pub programs: u64,
    /// The number of slots that were handed out.
    pub acquires: u64,
    /// The number of acquires that the hot path served.
    pub hot_acquires: u64,
    /// The number of slots that were handed out from slot tables other than the first.
    pub beyond_first_table: u64,
    /// The number of acquires that were refused because of the byte limit.
    pub over_limit: u64,
    /// The number of acquires that failed because the backend refused an allocation.
    pub out_of_memory: u64,
    /// The number of panics that unwound out of at least one scope.
    pub panics: u64,
    /// The number of trims and compactions that freed memory.
    pub releases: u64,
    /// The number of shapes of dynamic rank that were found in the shape cache.
    pub shape_hits: u64,
    /// The number of handles that were refused as stale.
    pub stale_handles: u64,
    /// The counts for the acquire methods that are available only in host backends' scopes. For
    /// other backends, all counts for these methods are zero.
    pub host: HostTally,
}

impl Tally {
    /// Returns every count along with its name, except for the counts in `host`.
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

    /// Returns the names of all events that never happened, except for the events in `host`.
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

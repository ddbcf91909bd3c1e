//! Simulators of allocators with known rules: the bytes that they would have held for the same requests. They use
//! addresses alone, and no memory.
//!
//! Each simulator is for one device. It gets the number of each buffer that is allocated and freed. It returns the
//! buffer's address, or [`Full`] if the rules find no room within the capacity.

mod bump;
mod caching;
mod expandable;
mod free_list;
mod rmm_arena;
mod rmm_pool;
mod simulator;
mod slots;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use simulator::{Full, Simulator};

/// The allocator that a simulator follows.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Allocator {
    /// An arena: bytes after the last live buffer, which are freed only from the top.
    Bump,
    /// This project's pool: the i-th live buffer of a stream has the i-th block, which grows.
    Slots,
    /// RMM's pool: coalescing best fit, a list for each stream.
    Pool,
    /// RMM's arenas: superblocks of 1 MiB or more, an arena for each stream, address-ordered first fit.
    Arena,
    /// PyTorch's caching allocator: segments of 2 MiB, 20 MiB or more, which are split.
    Caching,
    /// PyTorch's caching allocator with expandable segments: pages of 2 or 20 MiB, which are mapped behind each other.
    Expandable,
    /// This planner: offsets that are found once all lifetimes are known.
    Planned,
}

impl Allocator {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Bump,
        Self::Slots,
        Self::Pool,
        Self::Arena,
        Self::Caching,
        Self::Expandable,
        Self::Planned,
    ];

    /// The name as it stands on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bump => "bump",
            Self::Slots => "slots",
            Self::Pool => "pool",
            Self::Arena => "arena",
            Self::Caching => "caching",
            Self::Expandable => "expandable",
            Self::Planned => "planned",
        }
    }

    /// Makes a simulator for a device with `capacity` bytes of memory. Returns `None` for the planner, which needs all
    /// buffers at once. RMM's pool begins with `initial` bytes, and its arena has exactly these.
    pub(crate) fn simulator(self, capacity: u64, initial: u64) -> Option<Box<dyn Simulator>> {
        Some(match self {
            Self::Bump => Box::new(bump::Bump::new(capacity)),
            Self::Slots => Box::new(slots::Slots::new(capacity)),
            Self::Pool => Box::new(rmm_pool::RmmPool::new(capacity, initial)),
            Self::Arena => Box::new(rmm_arena::RmmArena::new(capacity, initial)),
            Self::Caching => Box::new(caching::Caching::new(capacity)),
            Self::Expandable => Box::new(expandable::Expandable::new(capacity)),
            Self::Planned => return None,
        })
    }
}

//! Simulates how much memory allocators with known rules would have held for the same requests. The
//! simulators only compute addresses, and allocate no memory.
//!
//! Each simulator simulates one device. A simulator receives the number of each buffer that is
//! allocated or freed. For an allocation, it returns the address of the buffer, or [`Full`] if
//! there is no room within the capacity under the allocator's rules.

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

/// The allocator whose rules a simulator follows.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Allocator {
    /// An arena: buffers are placed after the last live buffer, and only the top is reclaimed.
    Bump,
    /// This project's pool: the i-th live buffer of a stream is stored in the i-th block, which
    /// grows.
    Slots,
    /// RMM's pool: coalescing best fit, with a free list for each stream.
    Pool,
    /// RMM's arenas: superblocks of 1 MiB or more, an arena for each stream, and address-ordered
    /// first fit.
    Arena,
    /// PyTorch's caching allocator: segments of 2 MiB, 20 MiB or more, which are split.
    Caching,
    /// PyTorch's caching allocator with expandable segments: pages of 2 or 20 MiB, which are mapped
    /// one after the other.
    Expandable,
    /// This planner: offsets that are computed once all lifetimes are known.
    Planned,
}

impl Allocator {
    /// All allocators, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Bump,
        Self::Slots,
        Self::Pool,
        Self::Arena,
        Self::Caching,
        Self::Expandable,
        Self::Planned,
    ];

    /// Returns the name of the allocator on the command line.
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

    /// Creates a simulator for a device with `capacity` bytes of memory. Returns `None` for the
    /// planner, which needs all buffers in advance. `initial` is the initial size of RMM's pool,
    /// and the size of RMM's arena.
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

//! What allocators of known rules would have held for the same requests: no memory, addresses alone.
//!
//! Each simulator stands for one device. It is told the number of each buffer that is allocated and freed, and answers
//! with the buffer's address, or with [`Full`] where the rules find no room within the capacity.

mod bump;
mod caching;
mod free_list;
mod rmm_pool;
mod slots;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

use clap::ValueEnum;
use serde::Serialize;

/// The alignment of CUDA's allocations, to which all simulators but PyTorch's round sizes up.
const ALIGNMENT: u64 = 256;

/// The allocator that a simulator follows.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Allocator {
    /// An arena: bytes after the last live buffer, which come back from the top alone.
    Bump,
    /// This project's pool: the i-th live buffer of a stream has the i-th block, which grows.
    Slots,
    /// RMM's pool: coalescing best fit, a list for each stream.
    Pool,
    /// PyTorch's caching allocator: segments of 2 MiB, 20 MiB or more, which are split.
    Caching,
    /// This planner: offsets that are found once all lifetimes are known.
    Planned,
}

impl Allocator {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 5] =
        [Self::Bump, Self::Slots, Self::Pool, Self::Caching, Self::Planned];

    /// The name as it stands on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bump => "bump",
            Self::Slots => "slots",
            Self::Pool => "pool",
            Self::Caching => "caching",
            Self::Planned => "planned",
        }
    }

    /// A simulator, with so many bytes of memory on the device; none for the planner, which sees all buffers at once.
    pub(crate) fn simulator(self, capacity: u64) -> Option<Box<dyn Simulator>> {
        Some(match self {
            Self::Bump => Box::new(bump::Bump::new(capacity)),
            Self::Slots => Box::new(slots::Slots::new(capacity)),
            Self::Pool => Box::new(rmm_pool::RmmPool::new(capacity)),
            Self::Caching => Box::new(caching::Caching::new(capacity)),
            Self::Planned => return None,
        })
    }
}

/// There is no room for a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Full;

/// An allocator without memory.
pub(crate) trait Simulator: std::fmt::Debug {
    /// The address of a new buffer.
    ///
    /// # Errors
    /// If the rules find no room within the capacity; then nothing has changed but what is cached.
    fn allocate(&mut self, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full>;

    /// Frees a buffer on a stream; one that is not there is ignored.
    fn free(&mut self, buffer: u64, stream: u64);

    /// The bytes that the allocator has taken from the device.
    fn held(&self) -> u64;
}

/// `bytes` rounded up to a multiple of a power of two.
fn round_up(bytes: u64, alignment: u64) -> Result<u64, Full> {
    bytes.checked_next_multiple_of(alignment).ok_or(Full)
}

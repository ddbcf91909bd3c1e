//! The policies by which an arena reuses bytes.

use super::plan::ArenaPlan;

/// The policy by which an arena reuses bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaPolicy {
    /// Never reuse bytes. This is correct for every capture. The arena must be as large as the sum
    /// of the capture's allocations.
    #[default]
    Monotone,
    /// Reuse bytes that are deallocated at the top of the arena. This is correct in a capture on
    /// one stream, because the graph runs in the order of the calls. It is not correct in a capture
    /// that forks, and [`forked`](crate::CudaArena::forked) then fails.
    Linear,
    /// Follow a plan that was computed from the graph's own order.
    Planned(ArenaPlan),
}

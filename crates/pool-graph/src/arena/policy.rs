//! Policies for the reuse of an arena's bytes.

use super::plan::ArenaPlan;

/// The policy for the reuse of an arena's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaPolicy {
    /// Never reuse: correct for every capture. The arena must hold the sum of the capture's
    /// allocations.
    #[default]
    Monotone,
    /// Reuse bytes that are deallocated at the top. In a capture on one stream the order of the
    /// calls is the order in which the graph runs, so that is correct. In a capture that forks it
    /// is not, and [`forked`](crate::CudaArena::forked) refuses.
    Linear,
    /// Follow a plan, which was made from the graph's own order.
    Planned(ArenaPlan),
}

//! The policies that determine when an arena reuses bytes.

use super::plan::ArenaPlan;

/// The policy that determines whether and when an arena reuses bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaPolicy {
    /// The arena never reuses bytes. This policy is correct for every capture, but the arena must
    /// have space for all of the capture's allocations at once.
    #[default]
    Monotone,
    /// The last region's bytes can be reused as soon as that region is deallocated. This policy is
    /// correct for a capture on a single stream, because the graph executes its nodes in the order
    /// of the captured calls. This policy is not correct for a capture that forks into several
    /// streams, so [`forked`](crate::CudaArena::forked) returns an error.
    Linear,
    /// The arena follows a plan computed from the order of the graph's nodes.
    Planned(ArenaPlan),
}

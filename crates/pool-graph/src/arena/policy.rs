//! When an arena hands out bytes a second time.

use super::plan::ArenaPlan;

/// When an arena hands out bytes a second time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaPolicy {
    /// Never: right for every capture. The arena must hold the sum of what the capture allocates.
    #[default]
    Monotone,
    /// What is deallocated at the top goes to whoever allocates next. In a capture on one stream the
    /// order of the calls is the order in which the graph runs, so that is right; in one that forks it
    /// is not, and [`forked`](crate::CudaArena::forked) refuses.
    Linear,
    /// As a plan says, which was made from the order that the graph really has.
    Planned(ArenaPlan),
}

//! A plan for several memories, and the certificate for its cost.

use crate::memory::{Placement, Price};
use crate::plan::as_float;

/// A plan, which consists of each buffer's memory and offset.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MemoryPlan {
    /// The memory and offset of each buffer, in the problem's order.
    pub placements: Vec<Placement>,
    /// A plan's cost, and a lower bound on the cost of every plan.
    pub certificate: MemoryCertificate,
}

/// The plan's cost, along with a lower bound on the cost of every plan.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MemoryCertificate {
    /// Each memory's peak, which is the offset just past its highest used byte.
    pub peaks: Vec<u64>,
    /// The plan's cost, which is the total cost of all memories' bytes and all buffers' traffic.
    pub cost: u64,
    /// The lower bound on the cost, computed from `prices`.
    pub bound: u64,
    /// The prices that prove the bound. Prices of 0 are omitted from the list.
    pub prices: Vec<Price>,
    /// The lower bound on the cost proved by an exhaustive search. The value is always at least
    /// `bound`.
    ///
    /// Unlike `bound`, `searched_bound` can be verified only by repeating the search.
    pub searched_bound: u64,
}

impl MemoryCertificate {
    /// Returns the cost divided by `searched_bound`, the best known lower bound. The plan is
    /// provably optimal if the result is 1.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.cost == self.bound { 1.0 } else { as_float(self.cost) / as_float(self.bound) }
    }

    /// Returns `true` if the prices or an exhaustive search prove that no plan costs less.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.cost == self.searched_bound
    }
}

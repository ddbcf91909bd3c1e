//! A plan for several memories, and the certificate of its cost.

use crate::memory::{Placement, Price};
use crate::plan::as_float;

/// The memory and offset of each buffer of a problem.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MemoryPlan {
    /// The placement of each buffer, in the problem's order.
    pub placements: Vec<Placement>,
    /// The cost of the plan, and the bound.
    pub certificate: MemoryCertificate,
}

/// The cost of a plan, and a lower bound of the cost of all plans.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MemoryCertificate {
    /// The end of the highest byte in each memory, in bytes.
    pub peaks: Vec<u64>,
    /// The cost of the bytes held in each memory, and of the traffic of each buffer.
    pub cost: u64,
    /// The lower bound of the cost that `prices` prove.
    pub bound: u64,
    /// The prices that prove the bound; those that are 0 are left out.
    pub prices: Vec<Price>,
    /// The lower bound of the cost by exhaustive search; at least `bound`.
    ///
    /// Unlike `bound`, this number cannot be checked without repeating the search.
    pub searched_bound: u64,
}

impl MemoryCertificate {
    /// Returns the cost divided by the bound; 1 is provably optimal.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.cost == self.bound { 1.0 } else { as_float(self.cost) / as_float(self.bound) }
    }

    /// Returns `true` if no plan costs less, by the bound or by exhaustive search.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.cost == self.searched_bound
    }
}

//! A plan: the offsets, and a certificate of their quality.

use crate::heuristic::GreedyHeuristic;

/// Offsets for all buffers of a problem.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Plan {
    /// The offset of each buffer, in the problem's order.
    pub offsets: Vec<u64>,
    /// The quality of the plan.
    pub certificate: Certificate,
    /// The reason why the planner returned.
    pub stopped: StopReason,
    /// The proof that the plan is optimal, or an estimate of whether a proof is within reach.
    pub proof: Proof,
    /// The textbook heuristics that were not tried, because the budget ran out first or the plan
    /// was already good enough. Their plans may be better. The list is empty if no plan can be
    /// better.
    pub untried: Vec<GreedyHeuristic>,
}

/// The reason why the planner returned a plan.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StopReason {
    /// No plan has a lower peak.
    Optimal,
    /// The peak is within the tolerance or the capacity.
    GoodEnough,
    /// All the rounds that [`Options::rounds`](crate::Options::rounds) allows have been run.
    Rounds,
    /// The budget is spent.
    Budget,
    /// [`Monitor::cancel`](crate::Monitor::cancel) was called.
    Cancelled,
}

/// The proof that a plan is optimal, or an estimate of whether a proof is within reach.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Proof {
    /// The peak equals the bound. Anyone can verify this with the witness.
    Witness,
    /// An exhaustive search found no lower peak. Verifying this requires another search.
    Search,
    /// There is no proof yet. For more than half of similar problems, ten times the budget proved a
    /// plan optimal.
    Likely,
    /// There is no proof yet. For fewer than half of similar problems, ten times the budget proved
    /// a plan optimal.
    Unlikely,
}

/// The peak of a plan, and a lower bound on the peak of any plan.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Certificate {
    /// The end of the highest byte, which is the required size of the arena.
    pub peak: u64,
    /// The exact lower bound (see [`Bound`](crate::Bound)). For a graph, the bound may be lower if
    /// computing the exact one takes more than half of the budget.
    pub bound: u64,
    /// The indices of the buffers that prove the bound.
    pub witness: Vec<usize>,
    /// The peak below which an exhaustive search found no plan. It is at least `bound`.
    ///
    /// Unlike `bound`, this number can only be verified by repeating the search.
    pub searched_bound: u64,
}

impl Certificate {
    /// Returns the peak divided by [`searched_bound`](Self::searched_bound), the best known bound.
    /// The plan is provably optimal if the result is 1.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.is_optimal() { 1.0 } else { as_float(self.peak) / as_float(self.searched_bound) }
    }

    /// Returns `true` if the bound or an exhaustive search proves that no plan has a lower peak.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.peak == self.searched_bound
    }
}

/// Converts bytes to a float, for ratios.
#[expect(clippy::cast_precision_loss, reason = "ratios are for people")]
pub(crate) fn as_float(bytes: u64) -> f64 {
    bytes as f64
}

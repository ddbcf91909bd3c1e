//! A plan: offsets, and a certificate of their quality.

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
    /// The proof that the plan is optimal, or the prospect of one.
    pub proof: Proof,
    /// The textbook heuristics that were not tried, because the budget ended first or the plan was
    /// good enough without them. Their plans may be better. Empty if no plan can be better.
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
    /// The peak is within the tolerance, or within the capacity.
    GoodEnough,
    /// The search made all rounds that [`Options::rounds`](crate::Options::rounds) allows.
    Rounds,
    /// The budget was spent.
    Budget,
    /// [`Monitor::cancel`](crate::Monitor::cancel) was called.
    Cancelled,
}

/// The proof that a plan is optimal, or the prospect of one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Proof {
    /// The peak is the bound, which the witness proves.
    Witness,
    /// An exhaustive search found no lower peak. Only another search can check that.
    Search,
    /// There is none yet. With ten times the time, more than half of similar problems had an optimal plan and its
    /// proof.
    Likely,
    /// There is none yet. With ten times the time, less than half of similar problems had an optimal plan and its
    /// proof.
    Unlikely,
}

/// A plan's peak, and the bound below which no plan exists.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Certificate {
    /// The end of the highest byte: the required size of the arena.
    pub peak: u64,
    /// The exact lower bound (see [`Bound`](crate::Bound)). For a graph, it may be a lower one, if
    /// the exact one takes more than half of the budget.
    pub bound: u64,
    /// Indices of the buffers that prove the bound.
    pub witness: Vec<usize>,
    /// The peak below which an exhaustive search found no plan; at least `bound`.
    ///
    /// Unlike `bound`, this number cannot be checked without repeating the search.
    pub searched_bound: u64,
}

impl Certificate {
    /// Returns the peak over [`searched_bound`](Self::searched_bound), the best known bound; 1 is
    /// provably optimal.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.is_optimal() { 1.0 } else { as_float(self.peak) / as_float(self.searched_bound) }
    }

    /// Returns `true` if no plan has a lower peak, by the bound or by exhaustive search.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.peak == self.searched_bound
    }
}

/// Returns bytes as a float, for ratios.
#[expect(clippy::cast_precision_loss, reason = "ratios are for people")]
pub(crate) fn as_float(bytes: u64) -> f64 {
    bytes as f64
}

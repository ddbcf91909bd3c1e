//! A plan. A plan consists of offsets and a certificate that proves their quality.

use crate::heuristic::GreedyHeuristic;

/// The offsets of all buffers in a problem.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Plan {
    /// The offset of each buffer, in the problem's order.
    pub offsets: Vec<u64>,
    /// The certificate for the plan's quality.
    pub certificate: Certificate,
    /// The condition that caused the planner to stop.
    pub stopped: StopReason,
    /// The proof that the plan is optimal, or an estimate of whether one can be found.
    pub proof: Proof,
    /// The textbook heuristics that were not tried, either because the budget ran out or because
    /// the plan was already good enough. An untried heuristic might compute a better plan than this
    /// one. The list is empty if no other plan can be better.
    pub untried: Vec<GreedyHeuristic>,
}

/// The condition that caused the planner to stop.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StopReason {
    /// No plan has a lower peak.
    Optimal,
    /// The peak is within the tolerance or the capacity.
    GoodEnough,
    /// The search ran all of the rounds permitted by [`Options::rounds`](crate::Options::rounds).
    Rounds,
    /// The budget ran out.
    Budget,
    /// [`Monitor::cancel`](crate::Monitor::cancel) was called.
    Cancelled,
}

/// The proof that a plan is optimal, or an estimate of whether one can be found.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Proof {
    /// The peak equals the lower bound. The certificate's witness proves that the peak equals the
    /// bound. The witness is easy to verify.
    Witness,
    /// An exhaustive search found no plan with a lower peak. Verifying this proof requires another
    /// exhaustive search.
    Search,
    /// There is no proof yet, but finding one is likely. With ten times the budget, the planner
    /// solved more than half of all similar problems optimally.
    Likely,
    /// There is no proof yet, and finding one is unlikely. With ten times the budget, the planner
    /// solved fewer than half of all similar problems optimally.
    Unlikely,
}

/// The peak of a plan, and a lower bound on the peak of every plan.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Certificate {
    /// The offset just past the highest byte that the plan uses. An arena that uses the plan needs
    /// this many bytes.
    pub peak: u64,
    /// The exact lower bound (see [`Bound`](crate::Bound)). For a graph, the stated bound may be
    /// lower than the exact bound. The exact bound is not computed if the computation would take
    /// more than half of the budget.
    pub bound: u64,
    /// The indices of the buffers that prove the lower bound.
    pub witness: Vec<usize>,
    /// A lower bound on the peak, in bytes, proved by an exhaustive search. The number is always at
    /// least `bound`.
    ///
    /// Unlike `bound`, `searched_bound` can be verified only by repeating the search.
    pub searched_bound: u64,
}

impl Certificate {
    /// Returns the peak divided by [`searched_bound`](Self::searched_bound), the best known lower
    /// bound. The plan is provably optimal if the result is 1.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.is_optimal() { 1.0 } else { as_float(self.peak) / as_float(self.searched_bound) }
    }

    /// Returns `true` if the lower bound or an exhaustive search proves that no plan has a lower
    /// peak.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.peak == self.searched_bound
    }
}

/// Converts a byte count to a floating-point number for computing a ratio.
#[expect(clippy::cast_precision_loss, reason = "ratios are for people")]
pub(crate) fn as_float(bytes: u64) -> f64 {
    bytes as f64
}

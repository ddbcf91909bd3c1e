//! The best plan that a portfolio has found so far.

use crate::greedy::Order;

/// The best plan so far, and the best known lower bound on the peak.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) offsets: Vec<u64>,
    pub(super) peak: u64,
    /// The order and the rule that a greedy placer uses to compute this plan, or a plan that is not
    /// much worse.
    pub(super) order: Order,
    /// A lower bound on the peak of every plan for the problem.
    pub(super) least: u64,
}

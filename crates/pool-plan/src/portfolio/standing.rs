//! The best plan found so far by a portfolio.

use crate::greedy::Order;

/// The best plan so far, and the best known lower bound on the peak.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) offsets: Vec<u64>,
    pub(super) peak: u64,
    /// The order and rule with which a greedy placer computes this plan or a plan that is only
    /// slightly worse.
    pub(super) order: Order,
    /// A lower bound on the peak of every plan for the problem.
    pub(super) least: u64,
}

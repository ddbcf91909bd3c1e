//! The best plan that a portfolio has found so far.

use crate::greedy::Order;

/// The best plan so far, and the known bound on better plans.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) offsets: Vec<u64>,
    pub(super) peak: u64,
    /// The order and fit from which a greedy placer computes this plan, or one that is not much
    /// worse.
    pub(super) order: Order,
    /// A peak below which no plan exists.
    pub(super) least: u64,
}

//! The best plan that a portfolio has so far.

use crate::greedy::Order;

/// The best plan so far, and what is known of better ones.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) offsets: Vec<u64>,
    pub(super) peak: u64,
    /// The order and fit that a greedy placer makes it from, or one not much worse.
    pub(super) order: Order,
    /// A peak that no plan is below.
    pub(super) least: u64,
}

//! The common interface of the greedy placers, which place items one by one.

use super::orders::Order;
use crate::work::Watch;

/// The outcome of an attempt to place all items.
#[derive(Debug)]
pub(crate) enum Placement {
    /// All items were placed.
    Done {
        /// The offset of each item.
        offsets: Vec<u64>,
        /// The offset just past the highest occupied byte.
        peak: u64,
    },
    /// The placer stopped because the plan's peak reached the given limit.
    Higher,
    /// The placer stopped because the plan is no longer needed.
    Stopped,
}

/// A greedy placer, which places items one by one.
pub(crate) trait Placer {
    /// Places the items with fixed offsets, then all other items in `order`. The placer stops early
    /// if the peak reaches `limit` or if `watch` stops the computation.
    fn place_while(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement;
}

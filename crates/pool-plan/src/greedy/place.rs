//! The interface of the greedy placers, which place items in an order.

use super::orders::Order;
use crate::work::Watch;

/// The outcome of placing items in an order.
#[derive(Debug)]
pub(crate) enum Placement {
    /// All items are placed.
    Done {
        /// The offset of each item.
        offsets: Vec<u64>,
        /// The end of the highest byte.
        peak: u64,
    },
    /// The plan reached the peak that it had to stay below, so it was abandoned.
    Higher,
    /// The plan was no longer needed before it was done.
    Stopped,
}

/// Places items in an order.
pub(crate) trait Place {
    /// Places the items in `order`, those with fixed offsets before all others, as long as the peak
    /// stays below `limit` and `watch` continues.
    fn place_while(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement;
}

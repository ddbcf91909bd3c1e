//! The interface of the greedy placers, which place items one by one.

use super::orders::Order;
use crate::work::Watch;

/// The outcome of placing items one by one.
#[derive(Debug)]
pub(crate) enum Placement {
    /// All items were placed.
    Done {
        /// The offset of each item.
        offsets: Vec<u64>,
        /// The end of the highest byte.
        peak: u64,
    },
    /// The plan was abandoned because it reached the peak that it had to stay below.
    Higher,
    /// The plan was abandoned because it was no longer needed.
    Stopped,
}

/// Places items one by one.
pub(crate) trait Place {
    /// Places the items in `order`, except that items with fixed offsets are placed first. Stops if
    /// the peak reaches `limit` or if `watch` ends.
    fn place_while(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement;
}

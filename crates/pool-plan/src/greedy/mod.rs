//! Greedy plans: take the items in some order and put each into a free range among those that may
//! not share with it.

mod by_conflicts;
mod by_time;
mod orders;
mod ranges;
mod time_tree;

pub(crate) use by_conflicts::ConflictPlacer;
pub(crate) use by_time::TimelinePlacer;
pub(crate) use orders::{Measures, Order, orders};
pub(crate) use ranges::Fit;

/// Items placed between two questions whether the plan is still needed.
const ITEMS_UNWATCHED: usize = 64;

/// Places items one after the other.
pub(crate) trait Place {
    /// The offsets that come of placing the items in `order`, those with fixed offsets before all
    /// others; nothing, if that is no longer needed before it is done.
    fn place_while(
        &mut self,
        order: &[u32],
        choice: Fit,
        is_needed: impl Fn() -> bool,
    ) -> Option<Vec<u64>>;
}

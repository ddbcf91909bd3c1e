//! The interface of the greedy placers, which place items one after the other.

use super::ranges::Fit;

/// Items placed between two questions whether the plan is still needed.
pub(super) const ITEMS_UNWATCHED: usize = 64;

/// Places items one after the other.
pub(crate) trait Place {
    /// The offsets that come of placing the items in `order`, those with fixed offsets before all
    /// others; `None`, if the plan is no longer needed before it is done.
    fn place_while(
        &mut self,
        order: &[u32],
        choice: Fit,
        is_needed: impl Fn() -> bool,
    ) -> Option<Vec<u64>>;
}

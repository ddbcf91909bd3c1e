//! A hill-climbing local search, which TVM's USMP planner also uses. The search selects an item
//! that reaches the peak, moves it to an earlier position in a greedy order, and places all items
//! again. The search keeps the new order unless it raises the peak.

use crate::greedy::{Order, Placement, Placer};
use crate::item::Item;
use crate::random::Random;
use crate::work::{Limit, Watch};

/// A plan, and the order that a greedy placer used to compute it.
#[derive(Debug)]
pub(super) struct ImprovedPlan {
    pub(super) offsets: Vec<u64>,
    pub(super) peak: u64,
    pub(super) order: Order,
}

/// Makes up to `attempts` changes to `order` and returns the best plan, or the first plan that
/// meets `target`. Returns `None` if the time was too short to compute the first plan.
pub(super) fn improve(
    items: &[Item],
    placer: &mut impl Placer,
    order: &Order,
    target: u64,
    attempts: usize,
    random: &mut Random,
    limit: Limit<'_>,
) -> Option<ImprovedPlan> {
    let mut order = order.clone();
    let is_needed = || !limit.is_reached();
    let watch = Watch::new(&is_needed);
    let first = placer.place_while(&order, u64::MAX, &watch);
    let Placement::Done { mut offsets, peak: mut current } = first else { return None };
    // A change may leave the order unsorted by start, so placers that require a sorted order must
    // not be used afterward.
    (order.is_by_start, order.is_rough) = (false, false);
    for _ in 0..attempts {
        if current <= target || !watch.count(4 * items.len()) {
            break;
        }
        let undo = order.items.clone();
        change(items, &offsets, current, &mut order.items, random);
        match placer.place_while(&order, current + 1, &watch) {
            Placement::Done { offsets: changed, peak } => (current, offsets) = (peak, changed),
            Placement::Higher => order.items = undo,
            Placement::Stopped => {
                order.items = undo;
                break;
            }
        }
    }
    Some(ImprovedPlan { offsets, peak: current, order })
}

/// Moves one item to an earlier position. In most cases, the item is one that reaches the peak.
/// With a probability of 1/4, the item is selected at random from all items.
// Uncounted: the loop needs no counter because `improve` counts the items before each change.
fn change(items: &[Item], offsets: &[u64], peak: u64, order: &mut [u32], random: &mut Random) {
    let reaches = |&position: &usize| {
        let item = order[position] as usize;
        offsets[item] + items[item].size == peak
    };
    let reaching: Vec<usize> = (0..order.len()).filter(reaches).collect();
    let Some(&(mut moved)) = reaching.get(random.below(reaching.len().max(1))) else { return };
    if random.below(4) == 0 {
        moved = random.below(order.len());
    }
    if moved > 0 {
        // Half of the moves are short, and the others may cover any distance.
        let reach = if random.below(2) == 0 { moved } else { moved.min(16) };
        let earlier = moved - 1 - random.below(reach);
        order[earlier..=moved].rotate_right(1);
    }
}

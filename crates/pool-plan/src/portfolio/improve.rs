//! A hill-climbing local search, similar to that of TVM's USMP planner. The search selects items
//! that determine the peak, changes their positions in a greedy order, and places all items again.
//! The search keeps the new order unless it raises the peak.

use crate::adjacency::indices;
use crate::greedy::{Order, Placement, Placer};
use crate::item::Item;
use crate::random::Random;
use crate::work::Watch;

/// The maximum number of a chain's items below which further items are searched for.
const MOST_CHAINED: usize = 64;

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
    watch: &Watch<'_>,
) -> Option<ImprovedPlan> {
    let mut order = order.clone();
    let first = placer.place_while(&order, u64::MAX, watch);
    let Placement::Done { mut offsets, peak: mut current } = first else { return None };
    // A change may leave the order unsorted by start, so placers that require a sorted order must
    // not be used afterward.
    (order.is_by_start, order.is_rough) = (false, false);
    let mut chain = peak_chain(items, &offsets, current, watch);
    for _ in 0..attempts {
        if current <= target || !watch.count(4 * items.len()) {
            break;
        }
        let undo = order.items.clone();
        change(&chain, &mut order.items, random);
        match placer.place_while(&order, current + 1, watch) {
            Placement::Done { offsets: changed, peak } => {
                (current, offsets) = (peak, changed);
                chain = peak_chain(items, &offsets, current, watch);
            }
            Placement::Higher => order.items = undo,
            Placement::Stopped => {
                order.items = undo;
                break;
            }
        }
    }
    Some(ImprovedPlan { offsets, peak: current, order })
}

/// Returns up to about [`MOST_CHAINED`] items that determine the peak: the items that reach it, and
/// items directly below those in the list. In a lower plan, at least one of them has another
/// offset. Items that never share a time may be listed, too, which does no harm.
fn peak_chain(items: &[Item], offsets: &[u64], peak: u64, watch: &Watch<'_>) -> Vec<u32> {
    let top = |item: usize| offsets[item] + items[item].size;
    let mut chain: Vec<u32> =
        indices(items.len()).filter(|&item| top(item as usize) == peak).collect();
    let mut is_listed = vec![false; items.len()];
    chain.iter().for_each(|&item| is_listed[item as usize] = true);
    let mut next = 0;
    while next < chain.len().min(MOST_CHAINED) && watch.count(items.len()) {
        let one = chain[next] as usize;
        next += 1;
        let (offset, alignment) = (offsets[one], items[one].alignment);
        let is_below = |item: usize| {
            let end = top(item);
            end <= offset && offset - end < alignment && !is_listed[item]
        };
        let below: Vec<u32> =
            indices(items.len()).filter(|&item| is_below(item as usize)).collect();
        below.iter().for_each(|&item| is_listed[item as usize] = true);
        chain.extend(below);
    }
    chain
}

/// Changes the positions of one or two items in an order. Most of these items are in the chain. In
/// three quarters of the cases, two items swap their positions. Otherwise, one item moves to an
/// earlier position.
fn change(chain: &[u32], order: &mut [u32], random: &mut Random) {
    if chain.is_empty() {
        return;
    }
    let kind = random.below(8);
    let one = if kind == 0 { random.below(order.len()) } else { chained(chain, order, random) };
    if kind < 6 {
        let is_chained = kind < 4;
        let other =
            if is_chained { chained(chain, order, random) } else { random.below(order.len()) };
        order.swap(one, other);
    } else if one > 0 {
        // Half of the moves are short, and the others may cover any distance.
        let reach = if random.below(2) == 0 { one } else { one.min(16) };
        let earlier = one - 1 - random.below(reach);
        order[earlier..=one].rotate_right(1);
    }
}

/// Returns the position of a random item of the chain.
// Uncounted: the loop needs no counter because `improve` counts the items before each change.
fn chained(chain: &[u32], order: &[u32], random: &mut Random) -> usize {
    let item = chain[random.below(chain.len())];
    order.iter().position(|&other| other == item).unwrap_or(0)
}

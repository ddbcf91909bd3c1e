//! Local search: move an item that reaches the peak to an earlier place in a greedy order, place
//! anew, and keep the order if the peak is no higher (hill climbing, as in TVM's USMP).

use super::limit::Limit;
use crate::greedy::{Order, Place};
use crate::item::{Item, peak};
use crate::random::Random;

/// A plan and the order that a greedy placer makes it from.
#[derive(Debug)]
pub(super) struct ImprovedPlan {
    pub(super) offsets: Vec<u64>,
    pub(super) peak: u64,
    pub(super) order: Order,
}

/// The best plan of `attempts` changes to `order`, or the first that meets `target`; none if there was no
/// time for the first one.
pub(super) fn improve(
    items: &[Item],
    placer: &mut impl Place,
    order: &Order,
    target: u64,
    attempts: usize,
    random: &mut Random,
    limit: Limit<'_>,
) -> Option<ImprovedPlan> {
    let mut order = order.clone();
    let is_needed = || !limit.is_reached();
    let mut offsets = placer.place_while(&order.items, order.fit, is_needed)?;
    let mut current = peak(items, &offsets);
    for _ in 0..attempts {
        if current <= target {
            break;
        }
        let undo = order.items.clone();
        change(items, &offsets, current, &mut order.items, random);
        let Some(changed) = placer.place_while(&order.items, order.fit, is_needed) else {
            order.items = undo;
            break;
        };
        let reached = peak(items, &changed);
        if reached <= current {
            (current, offsets) = (reached, changed);
        } else {
            order.items = undo;
        }
    }
    Some(ImprovedPlan { offsets, peak: current, order })
}

/// Moves one item that reaches the peak, and sometimes any other, to an earlier place.
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
        // Half of the moves are short ones.
        let reach = if random.below(2) == 0 { moved } else { moved.min(16) };
        let earlier = moved - 1 - random.below(reach);
        order[earlier..=moved].rotate_right(1);
    }
}

//! A greedy placer that handles a timeline's buffers in order of their starts. The placer serves
//! requests in the order in which they arrive, like an online allocator.
//!
//! Every buffer that has already been placed starts no later than the new buffer. A new buffer can
//! therefore overlap only buffers that are live at its start. The placer therefore needs to track
//! the free ranges at only one point in time. Placers for other orders must track the free ranges
//! at all times. Placing by start is the fastest planning method, provided that gaps count as live
//! and fixed offsets count as occupied at all times. A plan that is computed in order of start may
//! use more memory than necessary.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::orders::Order;
use super::placer::Placement;
use crate::adjacency::index;
use crate::heuristic::GreedyFit;
use crate::item::Item;
use crate::timeline::Timeline;
use crate::work::Watch;

/// The fixed cost of placing an item, expressed as a number of loop passes. The cost of searching
/// the free ranges is added to the fixed cost.
const PASSES_BESIDE: usize = 32;

/// Places a timeline's items in `order`, which must be sorted by the items' starts. An item counts
/// as live during its gaps, and the addresses of a fixed item count as occupied at all times. If
/// any item has a gap or a fixed offset, `order` must be marked as rough. All other conditions of
/// [`Placer::place_while`](super::placer::Placer::place_while) also apply to `place_by_start`.
pub(super) fn place_by_start(
    timeline: &Timeline,
    order: &Order,
    limit: u64,
    watch: &Watch<'_>,
) -> Placement {
    let mut offsets: Vec<u64> = timeline.items.iter().map(|item| item.fixed.unwrap_or(0)).collect();
    let mut live: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut free = FreeRanges::beside(timeline.items.iter().filter_map(fixed_range));
    let ends = timeline.items.iter().filter_map(|item| Some(item.fixed? + item.size));
    let mut peak = ends.max().unwrap_or(0);
    for &item in by_first_section(timeline, order).iter() {
        let position = item as usize;
        let (now, end) = hull(timeline, position);
        while let Some(&Reverse((_, dead))) = live.peek().filter(|Reverse(next)| next.0 <= now) {
            live.pop();
            let start = offsets[dead as usize];
            free.give_back(start, start + timeline.items[dead as usize].size);
        }
        let one = timeline.items[position];
        if one.size == 0 || one.fixed.is_some() {
            continue;
        }
        if !watch.count(PASSES_BESIDE + free.looked_at(order.fit)) {
            return Placement::Stopped;
        }
        let offset = free.take(one.size, one.alignment, order.fit);
        offsets[position] = offset;
        peak = peak.max(offset + one.size);
        if peak >= limit {
            return Placement::Higher;
        }
        live.push(Reverse((end, index(position))));
    }
    if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
}

/// Sorts an order's items by the first section in which each item is live. If an item's lifetime
/// starts with a gap, its first section is later than the start of its lifetime.
// Uncounted: the loop needs no counter because the function sorts the items only once. This
// function runs before the planner computes its first plan.
fn by_first_section<'a>(timeline: &Timeline, order: &'a Order) -> Cow<'a, [u32]> {
    let first = |&item: &u32| hull(timeline, item as usize).0;
    if !order.is_rough {
        return Cow::Borrowed(&order.items);
    }
    let mut items = order.items.clone();
    items.sort_by_key(first);
    Cow::Owned(items)
}

/// Returns the range from the first to the last section in which an item is live.
fn hull(timeline: &Timeline, item: usize) -> (u32, u32) {
    let spans = timeline.spans(item);
    (spans[0].0, spans[spans.len() - 1].1)
}

/// Returns the address range of an item with a fixed offset.
fn fixed_range(item: &Item) -> Option<(u64, u64)> {
    item.fixed.map(|offset| (offset, offset + item.size)).filter(|_| item.size > 0)
}

/// The address ranges that are free at a given time.
#[derive(Debug, Default)]
struct FreeRanges {
    /// The free ranges below `top`. No two of these ranges touch each other. The keys are the
    /// ranges' starts, and the values are their ends.
    ends: BTreeMap<u64, u64>,
    /// The free ranges below `top`, stored as (size, start) pairs.
    by_size: BTreeSet<(u64, u64)>,
    /// The lowest address above all occupied addresses.
    top: u64,
}

impl FreeRanges {
    /// Returns the ranges that are free when only the given ranges are occupied. The given ranges
    /// are never freed.
    // Uncounted: the loop needs no counter because the function sorts the ranges only once. This
    // function runs before the planner computes its first plan.
    fn beside(never: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut never: Vec<(u64, u64)> = never.collect();
        never.sort_unstable();
        let mut free = Self::default();
        for (start, end) in never {
            free.insert(free.top, start);
            free.top = free.top.max(end);
        }
        free
    }

    /// Returns the maximum number of free ranges that `find` checks under a given rule when no
    /// alignment requires padding.
    fn looked_at(&self, fit: GreedyFit) -> usize {
        if fit == GreedyFit::First { self.ends.len() } else { 0 }
    }

    /// Marks `size` bytes of a free range as occupied.
    // Uncounted: the loop needs no counter because the function reads only ranges that `looked_at`
    // has counted.
    fn take(&mut self, size: u64, alignment: u64, fit: GreedyFit) -> u64 {
        let Some((start, end)) = self.find(size, alignment, fit) else {
            let offset = self.top.next_multiple_of(alignment);
            self.insert(self.top, offset);
            self.top = offset + size;
            return offset;
        };
        self.remove(start, end);
        let offset = start.next_multiple_of(alignment);
        self.insert(start, offset);
        self.insert(offset + size, end);
        offset
    }

    /// Returns the free range below `top` that the rule selects for `size` bytes, or `None` if
    /// there is no such range.
    // Uncounted: the loop needs no counter because the function reads only ranges that `looked_at`
    // has counted.
    fn find(&self, size: u64, alignment: u64, fit: GreedyFit) -> Option<(u64, u64)> {
        let fits = |&(start, end): &(u64, u64)| start.next_multiple_of(alignment) + size <= end;
        match fit {
            GreedyFit::First => self.ends.iter().map(|(&start, &end)| (start, end)).find(fits),
            GreedyFit::Best => {
                let larger = self.by_size.range((size, 0)..);
                larger.map(|&(room, start)| (start, start + room)).find(fits)
            }
        }
    }

    /// Frees the address range `[start, end)`.
    fn give_back(&mut self, mut start: u64, mut end: u64) {
        let below = self.ends.range(..start).next_back();
        if let Some((below, touching)) = below.map(|(&one, &other)| (one, other)) {
            if touching == start {
                self.remove(below, touching);
                start = below;
            }
        }
        if let Some(&above) = self.ends.get(&end) {
            self.remove(end, above);
            end = above;
        }
        if end == self.top {
            self.top = start;
        } else {
            self.insert(start, end);
        }
    }

    fn insert(&mut self, start: u64, end: u64) {
        if start < end {
            self.ends.insert(start, end);
            self.by_size.insert((end - start, start));
        }
    }

    fn remove(&mut self, start: u64, end: u64) {
        self.ends.remove(&start);
        self.by_size.remove(&(end - start, start));
    }
}

#[cfg(test)]
mod tests {
    use super::place_by_start;
    use crate::buffer::{Buffer, Gap};
    use crate::greedy::{Order, Placement, Placer, TimelinePlacer};
    use crate::heuristic::GreedyFit;
    use crate::interval::IntervalProblem;
    use crate::overlaps::LazyOverlaps;
    use crate::random::Random;
    use crate::timeline::Timeline;
    use crate::work::Watch;

    fn offsets(placement: Placement) -> Vec<u64> {
        match placement {
            Placement::Done { offsets, .. } => offsets,
            other => panic!("not placed: {other:?}"),
        }
    }

    #[test]
    fn places_as_the_tree_of_all_times_does() {
        for seed in 0..300 {
            let mut random = Random::new(seed, 0, 0);
            let buffers = (0..1 + random.below(60)).map(|number| {
                let lower = i64::try_from(random.below(40)).unwrap_or(0);
                let upper = lower + 1 + i64::try_from(random.below(12)).unwrap_or(0);
                let mut buffer = Buffer::new(number.to_string(), lower, upper, random.next() % 20);
                buffer.alignment = 1 << random.below(4);
                buffer
            });
            let problem = IntervalProblem::new(buffers.collect()).expect("valid");
            let timeline = Timeline::new(&problem);
            let overlaps = LazyOverlaps::new(&timeline);
            let watch = Watch::new(&|| true);
            let mut items: Vec<u32> = (0..).take(timeline.items.len()).collect();
            items.sort_by_key(|&item| problem.buffers()[item as usize].lower);
            for fit in [GreedyFit::First, GreedyFit::Best] {
                let mut order =
                    Order { items: items.clone(), fit, is_by_start: true, is_rough: false };
                let swept = offsets(place_by_start(&timeline, &order, u64::MAX, &watch));
                order.is_by_start = false;
                for total_degree in [0, u64::MAX] {
                    let mut placer = TimelinePlacer::new(&timeline, &overlaps, total_degree);
                    let placed = offsets(placer.place_while(&order, u64::MAX, &watch));
                    assert_eq!(swept, placed, "seed {seed}, {fit:?}, degree {total_degree}");
                }
            }
        }
    }

    #[test]
    fn a_rough_plan_is_a_plan() {
        let mut checked = 0;
        for seed in 0..2_000 {
            let mut random = Random::new(seed, 0, 0);
            let mut number = |most| i64::try_from(random.below(most)).unwrap_or(0);
            let buffers = (0..1 + number(30)).map(|id| {
                let lower = number(20);
                let length = 1 + number(9);
                let size = u64::try_from(number(9)).unwrap_or(0);
                let mut buffer = Buffer::new(id.to_string(), lower, lower + length, size);
                if length > 2 && number(2) == 0 {
                    let first = lower + number(2);
                    buffer.gaps = vec![Gap { lower: first, upper: first + 1 + number(2) }];
                }
                if number(12) == 0 {
                    buffer.offset = Some(u64::try_from(number(40)).unwrap_or(0));
                }
                buffer
            });
            // This test skips problems whose fixed offsets collide.
            let Ok(problem) = IntervalProblem::new(buffers.collect()) else { continue };
            checked += 1;
            let timeline = Timeline::new(&problem);
            let overlaps = LazyOverlaps::new(&timeline);
            let watch = Watch::new(&|| true);
            let mut items: Vec<u32> = (0..).take(timeline.items.len()).collect();
            items.sort_by_key(|&item| problem.buffers()[item as usize].lower);
            for fit in [GreedyFit::First, GreedyFit::Best] {
                let items = items.clone();
                let order = Order { items, fit, is_by_start: true, is_rough: true };
                let mut placer = TimelinePlacer::new(&timeline, &overlaps, 0);
                let placement = placer.place_while(&order, u64::MAX, &watch);
                let Placement::Done { offsets, peak } = placement else {
                    panic!("seed {seed}: {placement:?}");
                };
                assert_eq!(problem.validate(&offsets), Ok(peak), "seed {seed}");
            }
        }
        assert!(checked > 1_000, "only {checked} problems");
    }
}

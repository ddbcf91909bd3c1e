//! Places the buffers of a timeline in the order of their starts, as an allocator would that serves requests
//! as they come.
//!
//! Buffers that are placed before began before, so that a buffer can only meet those that are live when it
//! begins: the free ranges of one time are all that is kept, where other orders need those of all times.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::place::{ITEMS_UNWATCHED, Placement};
use crate::adjacency::index;
use crate::heuristic::GreedyFit;
use crate::timeline::Timeline;

/// Places the items of a timeline without fixed offsets and gaps in `order`, none of which begins before one
/// that comes earlier. The conditions are those of [`Place::place_while`](super::place::Place::place_while).
pub(super) fn place_by_start(
    timeline: &Timeline,
    order: &[u32],
    fit: GreedyFit,
    limit: u64,
    is_needed: impl Fn() -> bool,
) -> Placement {
    let mut offsets = vec![0; timeline.items.len()];
    let mut live: BinaryHeap<Reverse<(usize, u32)>> = BinaryHeap::new();
    let (mut free, mut peak) = (FreeRanges::default(), 0);
    for (number, &item) in order.iter().enumerate() {
        if number % ITEMS_UNWATCHED == 0 && !is_needed() {
            return Placement::Stopped;
        }
        let position = item as usize;
        let (now, end) = timeline.spans(position)[0];
        while let Some(&Reverse((_, dead))) = live.peek().filter(|Reverse(next)| next.0 <= now) {
            live.pop();
            let start = offsets[dead as usize];
            free.give_back(start, start + timeline.items[dead as usize].size);
        }
        let one = timeline.items[position];
        if one.size == 0 {
            continue;
        }
        let offset = free.take(one.size, one.alignment, fit);
        offsets[position] = offset;
        peak = peak.max(offset + one.size);
        if peak >= limit {
            return Placement::Higher;
        }
        live.push(Reverse((end, index(position))));
    }
    Placement::Done { offsets, peak }
}

/// The addresses that are free at one time.
#[derive(Debug, Default)]
struct FreeRanges {
    /// Free ranges below `top`, of which no two touch: the end of each by its start.
    ends: BTreeMap<u64, u64>,
    /// The same ranges as (size, start).
    by_size: BTreeSet<(u64, u64)>,
    /// The first of the addresses above all occupied ones.
    top: u64,
}

impl FreeRanges {
    /// Takes `size` bytes out of a free range.
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

    /// The free range that the rule takes for `size` bytes, if there is one below the top.
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

    /// Frees the addresses `[start, end)`.
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
    use crate::buffer::Buffer;
    use crate::greedy::{Order, Place, Placement, TimelinePlacer};
    use crate::heuristic::GreedyFit;
    use crate::interval::IntervalProblem;
    use crate::random::Random;
    use crate::timeline::Timeline;

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
            let mut items: Vec<u32> = (0..).take(timeline.items.len()).collect();
            items.sort_by_key(|&item| problem.buffers()[item as usize].lower);
            for fit in [GreedyFit::First, GreedyFit::Best] {
                let swept = place_by_start(&timeline, &items, fit, u64::MAX, || true);
                let order = Order { items: items.clone(), fit, is_by_start: false };
                let placed = TimelinePlacer::new(&timeline).place_while(&order, u64::MAX, || true);
                assert_eq!(offsets(swept), offsets(placed), "seed {seed}, {fit:?}");
            }
        }
    }
}

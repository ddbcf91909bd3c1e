//! A greedy placer that handles a timeline's buffers in a given order.

use super::by_neighbours::NeighbourPlacer;
use super::by_start::place_by_start;
use super::orders::Order;
use super::placer::{Placement, Placer};
use super::ranges::fit;
use super::span_list::SpanList;
use super::time_tree::TimeTree;
use super::union::Union;
use crate::heuristic::GreedyFit;
use crate::overlaps::LazyOverlaps;
use crate::timeline::Timeline;
use crate::work::Watch;

/// The maximum average number of neighbors per buffer up to which placing by neighbors is faster
/// than using a time tree.
const FEW_NEIGHBOURS: u64 = 1_024;

/// The minimum ratio of buffers to the average number of neighbors per buffer for placing by
/// neighbors. If the ratio is lower, scanning a list of all placed spans is faster.
const PAIRS_A_NEIGHBOUR: u64 = 8;

/// The fixed cost of placing an item, expressed as a number of loop passes. The cost of searching
/// the tree or the list is added to the fixed cost.
const PASSES_BESIDE: usize = 32;

/// The maximum number of items for which a list is used from the beginning instead of a tree.
const FEW_ITEMS: usize = 512;

/// The number of items that are placed before the placer checks again whether the tree is slower
/// than a list.
const ITEMS_A_LOOK: usize = 64;

/// The time of one loop pass of a query of the tree, expressed as a number of comparisons with spans
/// in the list.
const COMPARISONS_A_PASS: u64 = 2;

/// A greedy placer that handles one timeline and reuses its memory for each plan.
#[derive(Debug)]
pub(crate) struct TimelinePlacer<'a> {
    timeline: &'a Timeline,
    overlaps: &'a LazyOverlaps<'a>,
    /// `true` if each item has few neighbors, both in total and compared to the number of items.
    is_sparse: bool,
    /// The placer for sparse timelines. The placer is created when an order first requires it.
    neighbours: Option<NeighbourPlacer<'a>>,
    /// The addresses that are currently occupied. The tree is created when an order first requires
    /// it.
    tree: Option<TimeTree>,
    occupied: Union,
    /// The placed spans of the current plan, or `None` as long as the tree is faster than a list.
    list: Option<SpanList>,
}

impl<'a> TimelinePlacer<'a> {
    /// Creates a placer for `timeline`. `total_degree` is the sum of all items' neighbor counts.
    pub(crate) fn new(
        timeline: &'a Timeline,
        overlaps: &'a LazyOverlaps<'a>,
        total_degree: u64,
    ) -> Self {
        let count = timeline.items.len() as u64;
        let is_sparse = total_degree <= count * FEW_NEIGHBOURS.min(count / PAIRS_A_NEIGHBOUR);
        let occupied = Union::default();
        let (neighbours, tree, list) = (None, None, None);
        Self { timeline, overlaps, is_sparse, neighbours, tree, occupied, list }
    }

    /// Places items by querying a time tree, and then by scanning a list of all placed spans once
    /// the list is faster. See [`Placer::place_while`].
    ///
    /// If long-lived items are placed first, the tree merges their addresses, and a query reads only
    /// a few ranges. In other orders, a query may read more ranges than there are placed spans.
    fn place_by_tree(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement {
        let timeline = self.timeline;
        self.clear();
        let (mut offsets, mut peak) = (vec![0; timeline.items.len()], 0);
        for (index, item) in timeline.items.iter().enumerate() {
            if let Some(offset) = item.fixed {
                offsets[index] = offset;
                peak = peak.max(offset + item.size);
                self.occupy(index, offset);
            }
        }
        let mut passes = 0;
        for (number, &index) in order.items.iter().enumerate() {
            if peak >= limit {
                return Placement::Higher;
            }
            if number % ITEMS_A_LOOK == 0
                && self.list.is_none()
                && is_list_faster(timeline, number, std::mem::take(&mut passes))
            {
                if !watch.count(timeline.items.len()) {
                    return Placement::Stopped;
                }
                self.list = Some(listed(timeline, &order.items[..number], &offsets));
            }
            let index = index as usize;
            let item = timeline.items[index];
            if item.fixed.is_some() || item.size == 0 {
                continue;
            }
            let (offset, looked) = self.room(index, order.fit);
            if !watch.count(looked + PASSES_BESIDE) {
                return Placement::Stopped;
            }
            passes += looked;
            offsets[index] = offset;
            peak = peak.max(offset + item.size);
            self.occupy(index, offset);
        }
        if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
    }

    /// Removes the spans of an earlier plan. If there are only a few items, a list is used at once.
    fn clear(&mut self) {
        self.list = (self.timeline.items.len() <= FEW_ITEMS).then(SpanList::new);
        if self.list.is_none() {
            let sections = self.timeline.sections;
            self.tree.get_or_insert_with(|| TimeTree::new(sections)).clear();
        }
    }

    /// Returns the offset of a free range for an item, and the number of loop passes of the search.
    // Uncounted: the loop needs no counter because `place_by_tree` counts the returned number of
    // passes.
    fn room(&mut self, index: usize, rule: GreedyFit) -> (u64, usize) {
        let (item, spans) = (self.timeline.items[index], self.timeline.spans(index));
        if let Some(list) = &self.list {
            return list.room(item, spans, rule);
        }
        let mut passes = 0;
        self.occupied.clear();
        if let Some(tree) = &self.tree {
            passes += tree.depth();
            spans.iter().for_each(|&span| tree.occupied(span, &mut self.occupied));
        }
        passes += self.occupied.passes();
        (fit(self.occupied.ranges(), item.size, item.alignment, rule), passes)
    }

    /// Records the addresses of a placed item.
    // Uncounted: the loop needs no counter because the function reads the spans of only one item.
    // The preceding query has already counted these spans.
    fn occupy(&mut self, index: usize, offset: u64) {
        let (size, spans) = (self.timeline.items[index].size, self.timeline.spans(index));
        match (&mut self.list, &mut self.tree) {
            _ if size == 0 => {}
            (Some(list), _) => list.occupy(spans, offset, offset + size),
            (None, Some(tree)) => {
                spans.iter().for_each(|&span| tree.occupy(span, offset, offset + size));
            }
            (None, None) => {}
        }
    }
}

/// Returns `true` if placing the remaining items by scanning a list is probably faster than by
/// querying the tree. `number` is the number of items that have been placed. `passes` is the number
/// of loop passes of the queries for the last [`ITEMS_A_LOOK`] items.
///
/// The list's length grows with each placed item. The function assumes that queries of the tree do
/// not become slower.
fn is_list_faster(timeline: &Timeline, number: usize, passes: usize) -> bool {
    let (count, spans) = (timeline.items.len() as u64, timeline.span_count() as u64);
    // Each of the item's spans is compared with each listed span.
    let listed = (number as u64 + count) * spans / count / 2;
    let comparisons = (ITEMS_A_LOOK as u64 * listed).saturating_mul(spans) / count;
    COMPARISONS_A_PASS * passes as u64 > comparisons
}

/// Returns a list of the placed spans. `order` contains the placed items. Items with a fixed offset
/// are placed even if `order` does not contain them.
// Uncounted: the loop needs no counter because `place_by_tree` counts the items before.
fn listed(timeline: &Timeline, order: &[u32], offsets: &[u64]) -> SpanList {
    let mut list = SpanList::new();
    let fixed = (0..offsets.len()).filter(|&index| timeline.items[index].fixed.is_some());
    let placed = order.iter().map(|&index| index as usize);
    let placed = placed.filter(|&index| timeline.items[index].fixed.is_none());
    for index in fixed.chain(placed).filter(|&index| timeline.items[index].size > 0) {
        let (start, size) = (offsets[index], timeline.items[index].size);
        list.occupy(timeline.spans(index), start, start + size);
    }
    list
}

impl Placer for TimelinePlacer<'_> {
    fn place_while(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement {
        let timeline = self.timeline;
        if order.is_rough || order.is_by_start && timeline.is_plain() {
            return place_by_start(timeline, order, limit, watch);
        }
        if !self.is_sparse {
            return self.place_by_tree(order, limit, watch);
        }
        let placer = self
            .neighbours
            .get_or_insert_with(|| NeighbourPlacer::new(timeline, self.overlaps.get()));
        placer.place(order, limit, watch)
    }
}

#[cfg(test)]
mod tests {
    use super::{Placement, Placer, TimelinePlacer, is_list_faster, listed};
    use crate::buffer::{Buffer, Gap};
    use crate::greedy::Order;
    use crate::heuristic::GreedyFit;
    use crate::interval::IntervalProblem;
    use crate::overlaps::LazyOverlaps;
    use crate::random::Random;
    use crate::timeline::Timeline;
    use crate::work::Watch;

    /// Returns a problem with gaps, alignments, and a few fixed offsets, or `None` if the fixed
    /// offsets collide. Lifetimes are `longest` or shorter.
    fn problem(count: usize, longest: usize, random: &mut Random) -> Option<IntervalProblem> {
        let span = 4 + random.below(2 * count);
        let buffers = (0..count).map(|number| {
            let one = random.below(span);
            let other =
                if longest < span { one + random.below(longest) } else { random.below(span) };
            let time = |time: usize| i64::try_from(time).unwrap_or(0);
            let (lower, upper) = (time(one.min(other)), time(one.max(other) + 1));
            let mut buffer = Buffer::new(number.to_string(), lower, upper, random.next() % 30);
            buffer.alignment = 1 << random.below(4);
            if upper - lower > 3 && random.below(6) == 0 {
                buffer.gaps = vec![Gap { lower: lower + 1, upper: upper - 1 }];
            }
            if random.below(3 * count) == 0 {
                buffer.offset = Some(8 * (random.next() % 50));
            }
            buffer
        });
        IntervalProblem::new(buffers.collect()).ok()
    }

    #[test]
    fn the_list_and_the_tree_place_alike() {
        let (mut switched, mut stayed) = (0, 0);
        let (cases, most) = if cfg!(miri) { (2, 40) } else { (200, 1_200) };
        for seed in 0..cases {
            let mut random = Random::new(seed, 0, 0);
            let count = 2 + random.below(most);
            // The tree is slow only if lifetimes are long.
            let longest = if seed % 2 == 0 { usize::MAX } else { 6 };
            let Some(problem) = problem(count, longest, &mut random) else { continue };
            let timeline = Timeline::new(&problem);
            let overlaps = LazyOverlaps::new(&timeline);
            let watch = Watch::new(&|| true);
            let mut items: Vec<u32> = (0..).take(count).collect();
            items.sort_by_cached_key(|_| random.next());
            for fit in [GreedyFit::First, GreedyFit::Best] {
                let items = items.clone();
                let order = Order { items, fit, is_by_start: false, is_rough: false };
                let mut plans = Vec::new();
                // By neighbors, and by the tree or the list.
                for total_degree in [0, u64::MAX] {
                    let mut placer = TimelinePlacer::new(&timeline, &overlaps, total_degree);
                    let placement = placer.place_while(&order, u64::MAX, &watch);
                    let Placement::Done { offsets, peak } = placement else {
                        panic!("seed {seed}: {placement:?}");
                    };
                    assert_eq!(problem.validate(&offsets), Ok(peak), "seed {seed}, {fit:?}");
                    plans.push(offsets);
                }
                assert_eq!(plans[0], plans[1], "seed {seed}, {fit:?}, {count} items");
                let mut placer = TimelinePlacer::new(&timeline, &overlaps, u64::MAX);
                placer.place_by_tree(&order, u64::MAX, &watch);
                if placer.list.is_some() { switched += 1 } else { stayed += 1 }
            }
        }
        let enough = if cfg!(miri) { 0 } else { 20 };
        assert!(switched >= enough && stayed >= enough, "{switched} by the list, {stayed} not");
    }

    #[test]
    fn a_list_contains_all_placed_spans() {
        let buffer = |name: &str, offset| Buffer { offset, ..Buffer::new(name, 0, 4, 8) };
        let mut gapped = buffer("c", None);
        gapped.gaps = vec![Gap { lower: 1, upper: 3 }];
        let late = Buffer::new("d", 1, 3, 8);
        let buffers = vec![buffer("a", Some(0)), buffer("b", None), gapped, late];
        let problem = IntervalProblem::new(buffers).expect("valid");
        let timeline = Timeline::new(&problem);
        let list = listed(&timeline, &[0, 1, 2], &[0, 8, 16, 0]);
        let room = |size, spans: &[(u32, u32)]| {
            let item = crate::item::Item { size, alignment: 1, fixed: None };
            list.room(item, spans, GreedyFit::First).0
        };
        // The gap of `c` is free from offset 16.
        assert_eq!(room(8, &[timeline.spans(1)[0]]), 24);
        assert_eq!(room(8, &[(1, 2)]), 16);
    }

    #[test]
    fn a_list_is_used_if_the_tree_reads_more() {
        let buffers = (0..1_000).map(|_| Buffer::unnamed(0, 1, 1)).collect();
        let timeline = Timeline::new(&IntervalProblem::new(buffers).expect("valid"));
        // After 500 items, a list of 750 spans is compared with each of 64 items.
        assert!(!is_list_faster(&timeline, 500, 64 * 750 / 2));
        assert!(is_list_faster(&timeline, 500, 64 * 750 / 2 + 1));
    }
}

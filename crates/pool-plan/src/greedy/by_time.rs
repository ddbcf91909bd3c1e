//! A greedy placer that handles a timeline's buffers in a given order.

use super::by_neighbours::NeighbourPlacer;
use super::by_start::place_by_start;
use super::orders::Order;
use super::placer::{Placement, Placer};
use super::ranges::fit;
use super::time_tree::TimeTree;
use super::union::Union;
use crate::overlaps::LazyOverlaps;
use crate::timeline::Timeline;
use crate::work::Watch;

/// The maximum average number of neighbors per buffer up to which placing by neighbors is faster
/// than using a time tree.
const FEW_NEIGHBOURS: u64 = 1_024;

/// A greedy placer that handles one timeline and reuses its memory for each plan.
#[derive(Debug)]
pub(crate) struct TimelinePlacer<'a> {
    timeline: &'a Timeline,
    overlaps: &'a LazyOverlaps<'a>,
    is_sparse: bool,
    /// The placer for sparse timelines. The placer is created when an order first requires it.
    neighbours: Option<NeighbourPlacer<'a>>,
    /// The addresses that are currently occupied. The tree is created when an order first requires
    /// it.
    tree: Option<TimeTree>,
    occupied: Union,
}

impl<'a> TimelinePlacer<'a> {
    /// Creates a placer for `timeline`. `total_degree` is the sum of all items' neighbor counts.
    pub(crate) fn new(
        timeline: &'a Timeline,
        overlaps: &'a LazyOverlaps<'a>,
        total_degree: u64,
    ) -> Self {
        let is_sparse = total_degree <= timeline.items.len() as u64 * FEW_NEIGHBOURS;
        let occupied = Union::default();
        Self { timeline, overlaps, is_sparse, neighbours: None, tree: None, occupied }
    }

    /// Places items by querying a time tree. See [`Placer::place_while`].
    fn place_by_tree(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement {
        let timeline = self.timeline;
        let tree = self.tree.get_or_insert_with(|| TimeTree::new(timeline.sections));
        tree.clear();
        let (mut offsets, mut peak) = (vec![0; timeline.items.len()], 0);
        for (index, item) in timeline.items.iter().enumerate() {
            if let Some(offset) = item.fixed {
                offsets[index] = offset;
                peak = peak.max(offset + item.size);
                occupy(tree, timeline, index, offset);
            }
        }
        for &index in &order.items {
            if peak >= limit {
                return Placement::Higher;
            }
            let index = index as usize;
            let item = timeline.items[index];
            if item.fixed.is_some() || item.size == 0 {
                continue;
            }
            self.occupied.clear();
            for &span in timeline.spans(index) {
                tree.occupied(span, &mut self.occupied);
            }
            let ranges = self.occupied.ranges();
            if !watch.count(tree.depth() + 2 * ranges.len()) {
                return Placement::Stopped;
            }
            let offset = fit(ranges, item.size, item.alignment, order.fit);
            offsets[index] = offset;
            peak = peak.max(offset + item.size);
            occupy(tree, timeline, index, offset);
        }
        if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
    }
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

// Uncounted: the loop needs no counter because the function reads the spans of only one item. The
// preceding query has already counted these spans.
fn occupy(tree: &mut TimeTree, timeline: &Timeline, index: usize, offset: u64) {
    let size = timeline.items[index].size;
    if size == 0 {
        return;
    }
    for &span in timeline.spans(index) {
        tree.occupy(span, offset, offset + size);
    }
}

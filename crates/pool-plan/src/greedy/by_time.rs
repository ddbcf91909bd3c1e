//! Places the buffers of a timeline in a given order.

use super::by_start::place_by_start;
use super::orders::Order;
use super::place::{ITEMS_UNWATCHED, Place, Placement};
use super::ranges::fit;
use super::time_tree::TimeTree;
use super::union::Union;
use crate::timeline::Timeline;

/// Makes greedy plans of one timeline, and keeps its memory between them.
#[derive(Debug)]
pub(crate) struct TimelinePlacer<'a> {
    timeline: &'a Timeline,
    /// The addresses occupied so far; made for the first order that needs it.
    tree: Option<TimeTree>,
    occupied: Union,
}

impl<'a> TimelinePlacer<'a> {
    /// A placer for `timeline`.
    pub(crate) fn new(timeline: &'a Timeline) -> Self {
        Self { timeline, tree: None, occupied: Union::default() }
    }
}

impl Place for TimelinePlacer<'_> {
    fn place_while(
        &mut self,
        order: &Order,
        limit: u64,
        is_needed: impl Fn() -> bool,
    ) -> Placement {
        let timeline = self.timeline;
        if order.is_rough || order.is_by_start && timeline.is_plain() {
            return place_by_start(timeline, order, limit, is_needed);
        }
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
        for (number, &index) in order.items.iter().enumerate() {
            if number % ITEMS_UNWATCHED == 0 && !is_needed() {
                return Placement::Stopped;
            }
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
            let offset = fit(self.occupied.ranges(), item.size, item.alignment, order.fit);
            offsets[index] = offset;
            peak = peak.max(offset + item.size);
            occupy(tree, timeline, index, offset);
        }
        if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
    }
}

fn occupy(tree: &mut TimeTree, timeline: &Timeline, index: usize, offset: u64) {
    let size = timeline.items[index].size;
    if size == 0 {
        return;
    }
    for &span in timeline.spans(index) {
        tree.occupy(span, offset, offset + size);
    }
}

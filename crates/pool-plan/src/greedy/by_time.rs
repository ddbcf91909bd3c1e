//! Places the buffers of a timeline in a given order.

use super::place::{ITEMS_UNWATCHED, Place};
use super::ranges::{Fit, fit};
use super::time_tree::TimeTree;
use crate::timeline::Timeline;

/// Makes greedy plans of one timeline, and keeps its memory between them.
#[derive(Debug)]
pub(crate) struct TimelinePlacer<'a> {
    timeline: &'a Timeline,
    tree: TimeTree,
    occupied: Vec<(u64, u64)>,
}

impl<'a> TimelinePlacer<'a> {
    /// A placer for `timeline`.
    pub(crate) fn new(timeline: &'a Timeline) -> Self {
        Self { timeline, tree: TimeTree::new(timeline.sections), occupied: Vec::new() }
    }

    fn occupy(&mut self, index: usize, offset: u64) {
        let size = self.timeline.items[index].size;
        if size == 0 {
            return;
        }
        for &span in self.timeline.spans(index) {
            self.tree.occupy(span, offset, offset + size);
        }
    }
}

impl Place for TimelinePlacer<'_> {
    fn place_while(
        &mut self,
        order: &[u32],
        choice: Fit,
        is_needed: impl Fn() -> bool,
    ) -> Option<Vec<u64>> {
        let timeline = self.timeline;
        self.tree.clear();
        let mut offsets = vec![0; timeline.items.len()];
        for (index, item) in timeline.items.iter().enumerate() {
            if let Some(offset) = item.fixed {
                offsets[index] = offset;
                self.occupy(index, offset);
            }
        }
        for (number, &index) in order.iter().enumerate() {
            if number % ITEMS_UNWATCHED == 0 && !is_needed() {
                return None;
            }
            let index = index as usize;
            let item = timeline.items[index];
            if item.fixed.is_some() || item.size == 0 {
                continue;
            }
            self.occupied.clear();
            for &span in timeline.spans(index) {
                self.tree.occupied(span, &mut self.occupied);
            }
            offsets[index] = fit(&mut self.occupied, item.size, item.alignment, choice);
            self.occupy(index, offsets[index]);
        }
        Some(offsets)
    }
}

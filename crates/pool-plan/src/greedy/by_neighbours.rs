//! A placer for timelines in which each buffer overlaps only a few others.
//!
//! The spans that overlap a buffer's span are stored next to each other, and so are their
//! addresses. The placer collects and sorts the addresses of all neighbors, and then searches for a
//! free range between them. If few buffers are live at the same time, placing by neighbors is
//! faster than placing with a time tree. If many buffers are live at the same time, placing with a
//! time tree is faster.

use super::orders::Order;
use super::placer::Placement;
use super::ranges::fit;
use crate::overlaps::Overlaps;
use crate::timeline::Timeline;
use crate::work::Watch;

/// The fixed cost of placing an item, expressed as a number of loop passes. The cost of reading the
/// item's neighbors is added to the fixed cost.
const PASSES_BESIDE: usize = 32;

/// A greedy placer for a timeline in which each buffer overlaps only a few others. The placer
/// reuses its memory for each plan.
#[derive(Debug)]
pub(super) struct NeighbourPlacer<'a> {
    timeline: &'a Timeline,
    overlaps: &'a Overlaps<'a>,
    /// The address range of each span's item, in the order of `overlaps`. Before an item is placed,
    /// the address range of each of its spans is empty.
    placed: Vec<(u64, u64)>,
    occupied: Vec<(u64, u64)>,
}

impl<'a> NeighbourPlacer<'a> {
    /// Creates a placer for a timeline.
    pub(super) fn new(timeline: &'a Timeline, overlaps: &'a Overlaps<'a>) -> Self {
        Self { timeline, overlaps, placed: Vec::new(), occupied: Vec::new() }
    }

    /// Places the items. See [`Placer::place_while`](super::placer::Placer::place_while).
    pub(super) fn place(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement {
        let timeline = self.timeline;
        let (mut offsets, mut peak) = (vec![0; timeline.items.len()], 0);
        self.placed.clear();
        self.placed.resize(self.overlaps.len(), (0, 0));
        for (index, item) in timeline.items.iter().enumerate() {
            if let Some(offset) = item.fixed {
                offsets[index] = offset;
                peak = peak.max(offset + item.size);
                self.note(index, offset);
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
            if !watch.count(self.gather(index) + PASSES_BESIDE) {
                return Placement::Stopped;
            }
            self.occupied.sort_unstable();
            let offset = fit(&self.occupied, item.size, item.alignment, order.fit);
            offsets[index] = offset;
            peak = peak.max(offset + item.size);
            self.note(index, offset);
        }
        if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
    }

    /// Collects the addresses of an item's placed neighbors. Returns the number of entries read.
    fn gather(&mut self, index: usize) -> usize {
        let Self { timeline, overlaps, placed, occupied } = self;
        occupied.clear();
        let mut looked = 0;
        for &span in timeline.spans(index) {
            let beginning = &placed[overlaps.beginning(span)];
            looked += beginning.len();
            occupied.extend(beginning.iter().filter(|range| range.1 > range.0));
            looked += overlaps.lasting(span.0, |place| {
                let range = placed[place];
                if range.1 > range.0 {
                    occupied.push(range);
                }
            });
        }
        looked
    }

    /// Records an item's addresses for each of its spans.
    // Uncounted: the loop needs no counter because the function reads the spans of only one item.
    // The `gather` method has already counted these spans.
    fn note(&mut self, index: usize, offset: u64) {
        let size = self.timeline.items[index].size;
        if size > 0 {
            let places = self.overlaps.places(index).iter();
            places.for_each(|&span| self.placed[span as usize] = (offset, offset + size));
        }
    }
}

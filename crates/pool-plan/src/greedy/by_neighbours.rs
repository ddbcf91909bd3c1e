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
    occupied: Gathered,
}

/// The address ranges gathered for one item.
#[derive(Debug, Default)]
struct Gathered {
    ranges: Vec<(u64, u64)>,
    /// The number of gathered ranges at the beginning of `ranges`.
    count: usize,
}

impl Gathered {
    /// Adds a range unless it is empty. The compiler emits no branch that depends on the range.
    /// About half of an item's neighbors are placed, so such a branch would often be mispredicted.
    #[inline]
    fn add(&mut self, range: (u64, u64)) {
        if self.count == self.ranges.len() {
            self.ranges.push(range);
        } else {
            self.ranges[self.count] = range;
        }
        self.count += usize::from(range.1 > range.0);
    }

    /// Returns the gathered ranges, sorted by start.
    // Uncounted: the loop needs no counter because `place` counts the gathered ranges.
    fn sorted(&mut self) -> &[(u64, u64)] {
        let ranges = &mut self.ranges[..self.count];
        ranges.sort_unstable_by_key(|range| range.0);
        ranges
    }
}

impl<'a> NeighbourPlacer<'a> {
    /// Creates a placer for a timeline.
    pub(super) fn new(timeline: &'a Timeline, overlaps: &'a Overlaps<'a>) -> Self {
        Self { timeline, overlaps, placed: Vec::new(), occupied: Gathered::default() }
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
            let offset = fit(self.occupied.sorted(), item.size, item.alignment, order.fit);
            offsets[index] = offset;
            peak = peak.max(offset + item.size);
            self.note(index, offset);
        }
        if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
    }

    /// Collects the addresses of an item's placed neighbors. Returns the number of entries read.
    fn gather(&mut self, index: usize) -> usize {
        let Self { timeline, overlaps, placed, occupied } = self;
        occupied.count = 0;
        let mut looked = 0;
        for &span in timeline.spans(index) {
            let beginning = &placed[overlaps.beginning(span)];
            looked += beginning.len();
            beginning.iter().for_each(|&range| occupied.add(range));
            looked += overlaps.lasting(span.0, |place| occupied.add(placed[place]));
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

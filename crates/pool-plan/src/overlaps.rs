//! Finds overlapping spans in a timeline on demand.
//!
//! The spans are sorted by their first sections. Spans that begin within another span are adjacent
//! in the sorted list. To find earlier spans that are still live, a query reads the latest end in
//! each block of spans. A query reads memory sequentially. The data structure needs only 16 bytes
//! per span.

use std::ops::Range;
use std::sync::OnceLock;

use crate::adjacency::index;
use crate::timeline::Timeline;

/// The number of spans in a block, which is also the number of blocks in each block one level
/// higher.
const BLOCK: usize = 16;

/// A timeline's spans, sorted by their first sections.
#[derive(Debug)]
pub(crate) struct Overlaps<'a> {
    timeline: &'a Timeline,
    /// For each section, the first span that begins in that section or a later one. The list's last
    /// entry is the number of spans.
    first: Vec<u32>,
    /// The item of each span.
    owners: Vec<u32>,
    /// The position of each of the timeline's spans in the sorted list of spans. The position is 0
    /// for a span whose item has size 0.
    places: Vec<u32>,
    /// The exclusive end of each span's range of sections.
    uppers: Vec<u32>,
    /// The latest end of any span in each block, in each block of blocks, and so on. The last level
    /// consists of a single block.
    latest: Vec<Vec<u32>>,
}

impl<'a> Overlaps<'a> {
    /// Builds the data structure for a timeline's spans.
    // Uncounted: the loop needs no counter because the function makes only a few passes over the
    // spans. The passes take 30 milliseconds for a million spans.
    pub(crate) fn new(timeline: &'a Timeline) -> Self {
        let count = timeline.items.len();
        let mut first = vec![0_u32; timeline.sections + 1];
        let has_bytes = |&item: &usize| timeline.items[item].size > 0;
        for item in (0..count).filter(has_bytes) {
            timeline.spans(item).iter().for_each(|span| first[span.0 as usize] += 1);
        }
        let mut sum = 0;
        for place in &mut first {
            sum += std::mem::replace(place, sum);
        }
        let mut next = first.clone();
        let (mut owners, mut uppers) = (vec![0; sum as usize], vec![0; sum as usize]);
        let mut places = vec![0; timeline.span_count()];
        for item in (0..count).filter(has_bytes) {
            for (span, &(lower, upper)) in timeline.span_range(item).zip(timeline.spans(item)) {
                let place = &mut next[lower as usize];
                places[span] = *place;
                owners[*place as usize] = index(item);
                uppers[*place as usize] = upper;
                *place += 1;
            }
        }
        let mut latest = Vec::new();
        let mut below: &[u32] = &uppers;
        while below.len() > 1 || latest.is_empty() {
            let level: Vec<u32> =
                below.chunks(BLOCK).map(|some| some.iter().copied().max().unwrap_or(0)).collect();
            latest.push(level);
            below = latest.last().map_or(&[], Vec::as_slice);
        }
        Self { timeline, first, owners, places, uppers, latest }
    }

    /// Returns the number of spans.
    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns the positions of an item's spans. The item's size must not be 0.
    pub(crate) fn places(&self, item: usize) -> &[u32] {
        &self.places[self.timeline.span_range(item)]
    }

    /// Returns the spans that begin in the sections `[lower, upper)`.
    #[inline]
    pub(crate) fn beginning(&self, (lower, upper): (u32, u32)) -> Range<usize> {
        self.first[lower as usize] as usize..self.first[upper as usize] as usize
    }

    /// Visits all spans that begin before the given section and are still live in it. Returns the
    /// number of entries read.
    #[inline]
    pub(crate) fn lasting(&self, section: u32, mut visit: impl FnMut(usize)) -> usize {
        let mut end = self.first[section as usize] as usize;
        let mut looked = 0;
        for level in 0..=self.latest.len() {
            let below = self.below(level);
            // The search continues one level down with the remaining entries of the current block,
            // and one level up with all earlier blocks.
            let begin = end / BLOCK * BLOCK;
            looked += end - begin;
            for (place, &latest) in (begin..end).zip(&below[begin..end]) {
                if latest > section {
                    looked += self.descend(level, place, section, &mut visit);
                }
            }
            end /= BLOCK;
        }
        looked
    }

    /// Returns the ends stored at the given level. Level 0 contains the ends of the spans, and each
    /// higher level contains the latest end in each block.
    fn below(&self, level: usize) -> &[u32] {
        level.checked_sub(1).map_or(&self.uppers, |level| &self.latest[level])
    }

    /// Visits the entries in a block that are still live. At level 0, the entries are the spans
    /// themselves.
    fn descend(
        &self,
        level: usize,
        place: usize,
        section: u32,
        visit: &mut impl FnMut(usize),
    ) -> usize {
        let Some(lower) = level.checked_sub(1) else {
            visit(place);
            return 1;
        };
        let below = self.below(lower);
        let range = place * BLOCK..below.len().min((place + 1) * BLOCK);
        let mut looked = BLOCK;
        for (place, &latest) in range.clone().zip(&below[range]) {
            if latest > section {
                looked += self.descend(lower, place, section, visit);
            }
        }
        looked
    }

    /// Appends all items that overlap the given item. The list may contain an overlapping item
    /// twice.
    // Uncounted: the loop needs no counter because a repair counts the items that it finds.
    pub(crate) fn collect(&self, item: usize, into: &mut Vec<u32>) {
        for &span in self.timeline.spans(item) {
            self.lasting(span.0, |place| into.push(self.owners[place]));
            into.extend_from_slice(&self.owners[self.beginning(span)]);
        }
        let own = index(item);
        into.retain(|&other| other != own);
    }
}

/// The overlaps of a timeline, computed on first use.
#[derive(Debug)]
pub(crate) struct LazyOverlaps<'a> {
    timeline: &'a Timeline,
    made: OnceLock<Overlaps<'a>>,
}

impl<'a> LazyOverlaps<'a> {
    /// Stores the timeline without computing its overlaps.
    pub(crate) const fn new(timeline: &'a Timeline) -> Self {
        Self { timeline, made: OnceLock::new() }
    }

    /// Returns the overlaps. The first call computes them.
    pub(crate) fn get(&self) -> &Overlaps<'a> {
        self.made.get_or_init(|| Overlaps::new(self.timeline))
    }
}

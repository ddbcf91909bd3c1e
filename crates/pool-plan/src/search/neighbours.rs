//! The items that an item conflicts with, listed beforehand or found when they are asked for.
//!
//! Lists are faster, but for a hundred thousand items they would take gigabytes. A tree over the spans of a
//! timeline finds those that meet another span in memory that only grows with the items.

use crate::adjacency::{Lists, index};
use crate::timeline::Timeline;

/// Spans in a leaf of the tree.
const LEAF: usize = 16;

/// The conflicts of items.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Neighbours<'a> {
    /// Lists for each item.
    Listed(&'a Lists),
    /// Found in the spans of a timeline.
    Found(&'a Overlaps<'a>),
}

impl Neighbours<'_> {
    /// Replaces what `into` holds by the items that conflict with one; some may come twice.
    pub(crate) fn collect(&self, item: usize, into: &mut Vec<u32>) {
        into.clear();
        match self {
            Self::Listed(lists) => into.extend_from_slice(lists.row(item)),
            Self::Found(overlaps) => overlaps.collect(item, into),
        }
    }
}

/// The spans of a timeline, by the sections in which they begin.
#[derive(Debug)]
pub(crate) struct Overlaps<'a> {
    timeline: &'a Timeline,
    /// (first section, section after the last, item) of each span of an item with bytes, in ascending order.
    spans: Vec<(u32, u32, u32)>,
    /// A tree over leaves of spans, its root at 1: for each vertex, the latest end.
    latest: Vec<u32>,
}

impl<'a> Overlaps<'a> {
    /// The spans of a timeline.
    pub(crate) fn new(timeline: &'a Timeline) -> Self {
        let has_bytes = |&item: &usize| timeline.items[item].size > 0;
        let of_item = |item: usize| {
            let each = timeline.spans(item).iter();
            each.map(move |&(lower, upper)| (index(lower), index(upper), index(item)))
        };
        let items = 0..timeline.items.len();
        let mut spans: Vec<_> = items.filter(has_bytes).flat_map(of_item).collect();
        spans.sort_unstable();
        let leaves = spans.len().div_ceil(LEAF).next_power_of_two();
        let mut latest = vec![0; 2 * leaves];
        for (leaf, some) in spans.chunks(LEAF).enumerate() {
            latest[leaves + leaf] = some.iter().map(|span| span.1).max().unwrap_or(0);
        }
        for vertex in (1..leaves).rev() {
            latest[vertex] = latest[2 * vertex].max(latest[2 * vertex + 1]);
        }
        Self { timeline, spans, latest }
    }

    fn collect(&self, item: usize, into: &mut Vec<u32>) {
        for &(lower, upper) in self.timeline.spans(item) {
            let before = self.spans.partition_point(|span| (span.0 as usize) < upper);
            let leaves = self.latest.len() / 2;
            self.visit(1, (0, leaves), (index(item), lower, before), into);
        }
    }

    /// Visits a vertex over the leaves `[first, end)`: of the spans `before` some place, those that end after
    /// `lower` and are not of the item itself.
    fn visit(
        &self,
        vertex: usize,
        (first, end): (usize, usize),
        (item, lower, before): (u32, usize, usize),
        into: &mut Vec<u32>,
    ) {
        if first * LEAF >= before || self.latest[vertex] as usize <= lower {
            return;
        }
        if end - first > 1 {
            let middle = first + (end - first) / 2;
            self.visit(2 * vertex, (first, middle), (item, lower, before), into);
            self.visit(2 * vertex + 1, (middle, end), (item, lower, before), into);
            return;
        }
        let spans = &self.spans[first * LEAF..before.min(end * LEAF)];
        let meeting = spans.iter().filter(|span| span.1 as usize > lower && span.2 != item);
        into.extend(meeting.map(|span| span.2));
    }
}

#[cfg(test)]
mod tests {
    use super::{Neighbours, Overlaps};
    use crate::buffer::{Buffer, Gap};
    use crate::interval::IntervalProblem;
    use crate::random::Random;
    use crate::search::Instance;
    use crate::timeline::Timeline;

    #[test]
    fn what_is_found_is_what_is_listed() {
        for seed in 0..100 {
            let mut random = Random::new(seed, 0, 0);
            let mut number = |most| i64::try_from(random.below(most)).unwrap_or(0);
            let buffers = (0..1 + number(90)).map(|id| {
                let lower = number(50);
                let length = 1 + number(9);
                let size = u64::try_from(number(3)).unwrap_or(0);
                let mut buffer = Buffer::new(id.to_string(), lower, lower + length, size);
                if length > 2 && number(2) == 0 {
                    buffer.gaps = vec![Gap { lower: lower + 1, upper: lower + length - 1 }];
                }
                buffer
            });
            let problem = IntervalProblem::new(buffers.collect()).expect("valid");
            let timeline = Timeline::new(&problem);
            let instance = Instance::of_timeline(&timeline, usize::MAX, &|| true).expect("small");
            let overlaps = Overlaps::new(&timeline);
            let neighbours = |of: Neighbours<'_>, item| {
                let mut list = Vec::new();
                of.collect(item, &mut list);
                list.sort_unstable();
                list.dedup();
                list
            };
            for item in (0..timeline.items.len()).filter(|&item| timeline.items[item].size > 0) {
                let listed = neighbours(Neighbours::Listed(&instance.conflicts), item);
                let found = neighbours(Neighbours::Found(&overlaps), item);
                assert_eq!(listed, found, "item {item} of seed {seed}");
            }
        }
    }
}

//! An item's conflicts, which are either listed in advance or computed on demand.
//!
//! Lists are faster, but they would occupy several gigabytes of memory for a hundred thousand
//! items. The memory use of [`Overlaps`] grows only linearly with the number of items.

use crate::adjacency::Lists;
use crate::overlaps::Overlaps;

/// The source of the conflicts between items.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Neighbours<'a> {
    /// Each item's conflicts are listed in advance.
    Listed(&'a Lists),
    /// An item's conflicts are computed on demand from the spans of a timeline.
    Found(&'a Overlaps<'a>),
}

impl Neighbours<'_> {
    /// Replaces the contents of `into` with all items that conflict with the given item. The result
    /// may list a conflicting item twice.
    // Uncounted: the loop needs no counter because a repair counts the items that it finds.
    pub(crate) fn collect(&self, item: usize, into: &mut Vec<u32>) {
        into.clear();
        match self {
            Self::Listed(lists) => into.extend_from_slice(lists.row(item)),
            Self::Found(overlaps) => overlaps.collect(item, into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Neighbours;
    use crate::buffer::{Buffer, Gap};
    use crate::interval::IntervalProblem;
    use crate::overlaps::Overlaps;
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

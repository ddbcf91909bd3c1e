//! The items among which a search chooses the next one to place.
//!
//! The unplaced items are stored in order of time, so the items of each part of a problem are
//! consecutive. A search finds the next candidate from the summaries of blocks of items. Finding a
//! candidate therefore takes much less time than a pass over all items.

use std::ops::Range;

use super::blocks::Blocks;
use super::instance::Instance;
use super::ranks::Ranks;
use crate::adjacency::{index, indices};
use crate::work::Work;

/// An item's sort key: its lowest possible offset and its rank. The search tries items with low
/// keys first.
pub(super) type Key = (u64, u32);

/// An unplaced item. The offset of an item that has been placed is `u64::MAX`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    item: u32,
    size: u64,
}

/// The summary of several entries.
#[derive(Clone, Copy, Debug)]
struct Summary {
    /// The lowest key of any unplaced item, along with the item.
    first: (Key, u32),
    /// The lowest end of any unplaced item.
    top: u64,
    /// The number of unplaced items.
    count: usize,
}

/// The key of an item that has been placed, along with an arbitrary item.
const PLACED: (Key, u32) = ((u64::MAX, u32::MAX), u32::MAX);

/// The unplaced items of a partial plan, in order of time.
#[derive(Debug)]
pub(super) struct Candidates {
    entries: Vec<Entry>,
    /// The position of each item's entry. Items of size 0 have no entry.
    positions: Vec<u32>,
    /// For each section, the position of the first item whose hull begins there or later.
    starts: Vec<u32>,
    blocks: Blocks<Summary>,
}

impl Candidates {
    /// Creates an empty plan's candidates from their lowest offsets.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // instance.
    pub(super) fn new(instance: &Instance, lowest: &[u64], ranks: &Ranks) -> Self {
        let has_bytes = |&item: &u32| instance.items[item as usize].size > 0;
        let mut items: Vec<u32> = indices(lowest.len()).filter(has_bytes).collect();
        let begin = |item: u32| instance.hulls[item as usize].0;
        items.sort_by_key(|&item| begin(item));
        let mut positions = vec![u32::MAX; lowest.len()];
        let mut starts = Vec::with_capacity(instance.section_count + 1);
        for (position, &item) in items.iter().enumerate() {
            positions[item as usize] = index(position);
            while starts.len() <= begin(item) as usize {
                starts.push(index(position));
            }
        }
        starts.resize(instance.section_count + 1, index(items.len()));
        let entry = |&item: &u32| {
            let key = (lowest[item as usize], ranks.of(item));
            Entry { key, item, size: instance.items[item as usize].size }
        };
        let entries: Vec<Entry> = items.iter().map(entry).collect();
        Self { blocks: Blocks::new(entries.len()), entries, positions, starts }
    }

    /// Returns the positions of the items whose hulls begin in the given sections.
    pub(super) fn range(&self, (first, end): (u32, u32)) -> Range<usize> {
        self.starts[first as usize] as usize..self.starts[end as usize] as usize
    }

    /// Returns the unplaced items at the given positions.
    pub(super) fn unplaced(&self, range: Range<usize>) -> impl Iterator<Item = u32> + '_ {
        let entries = self.entries[range].iter();
        entries.filter(|entry| entry.key.0 < u64::MAX).map(|entry| entry.item)
    }

    /// Changes the lowest possible offset of an item.
    pub(super) fn set_lowest(&mut self, item: u32, lowest: u64) {
        let position = self.positions[item as usize] as usize;
        self.entries[position].key.0 = lowest;
        self.blocks.change(position);
    }

    /// Records that an item has been placed. [`set_lowest`](Self::set_lowest) reverts the change.
    pub(super) fn remove(&mut self, item: u32) {
        self.set_lowest(item, u64::MAX);
    }

    /// Changes the rank of an item.
    pub(super) fn set_rank(&mut self, item: u32, rank: u32) {
        let position = self.positions[item as usize] as usize;
        self.entries[position].key.1 = rank;
        self.blocks.change(position);
    }

    /// Returns the number of unplaced items at the given positions, and the lowest end of any of
    /// them.
    pub(super) fn count_and_top(&mut self, range: Range<usize>, work: &Work) -> (usize, u64) {
        let (mut count, mut top) = (0, u64::MAX);
        let entries = &self.entries;
        self.blocks.visit(
            range,
            work,
            |part| summary(&entries[part]),
            |summary, _| {
                count += summary.count;
                top = top.min(summary.top);
            },
        );
        (count, top)
    }

    /// Returns the unplaced item at the given positions with the lowest key that is at least
    /// `from`.
    // Uncounted: the loop needs no counter because each part is counted before it is read.
    pub(super) fn next(
        &mut self,
        range: Range<usize>,
        from: Key,
        work: &Work,
    ) -> Option<(Key, u32)> {
        let mut best = PLACED;
        let entries = &self.entries;
        self.blocks.visit(
            range,
            work,
            |part| summary(&entries[part]),
            |summary, part| {
                if summary.first.0 >= from {
                    best = best.min(summary.first);
                    return;
                }
                work.count(part.len());
                for entry in &entries[part] {
                    if entry.key >= from {
                        best = best.min((entry.key, entry.item));
                    }
                }
            },
        );
        (best.0.0 < u64::MAX).then_some(best)
    }
}

// Uncounted: the loop needs no counter because the blocks count the values that they summarize.
fn summary(entries: &[Entry]) -> Summary {
    let mut summary = Summary { first: PLACED, top: u64::MAX, count: 0 };
    for entry in entries {
        if entry.key.0 < u64::MAX {
            summary.first = summary.first.min((entry.key, entry.item));
            summary.top = summary.top.min(entry.key.0 + entry.size);
            summary.count += 1;
        }
    }
    summary
}

//! Order between blocks of threads of one launch: what a fence and a strong access hand on.
//!
//! A thread that has passed a fence and then accesses memory atomically releases what it has done,
//! and what its block has done before the last barrier; a block whose thread then accesses the same
//! place atomically knows that from there on.

use std::collections::HashMap;

use super::cells::Stamp;

/// For blocks, by their number in the order of running: the interval and thread up to which they
/// are known.
pub(super) type Known = HashMap<usize, (u32, u32)>;

/// What was released where, and what the running block knows.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The first interval of each block that ran, and the block.
    blocks: Vec<(u32, u64)>,
    seen: Known,
    released: HashMap<(usize, usize), Known>,
}

impl Order {
    /// Another block begins, at this interval.
    pub(super) fn begin(&mut self, interval: u32, block: u64) {
        self.blocks.push((interval, block));
        self.seen.clear();
    }

    pub(super) fn first_interval(&self) -> u32 {
        self.blocks.last().map_or(0, |(interval, _)| *interval)
    }

    /// Its place in the order of running, and the block itself.
    fn owner(&self, interval: u32) -> usize {
        self.blocks.partition_point(|(first, _)| *first <= interval).saturating_sub(1)
    }

    pub(super) fn block_of(&self, stamp: Stamp) -> u64 {
        self.blocks.get(self.owner(stamp.interval())).map_or(0, |(_, block)| *block)
    }

    /// Whether an access of another block is known.
    pub(super) fn knows(&self, old: Stamp) -> bool {
        if self.seen.is_empty() {
            return false;
        }
        let known = self.seen.get(&self.owner(old.interval()));
        known.is_some_and(|(interval, thread)| {
            old.interval() < *interval || (old.interval() == *interval && old.thread() == *thread)
        })
    }

    pub(super) fn release(&mut self, place: (usize, usize), stamp: Stamp) {
        let known = self.released.entry(place).or_default();
        join(known, &self.seen);
        let own = self.blocks.len().saturating_sub(1);
        known.insert(own, (stamp.interval(), stamp.thread()));
    }

    pub(super) fn acquire(&mut self, place: (usize, usize)) {
        if let Some(known) = self.released.get(&place) {
            join(&mut self.seen, known);
        }
    }
}

fn join(known: &mut Known, other: &Known) {
    for (block, theirs) in other {
        let mine = known.entry(*block).or_insert(*theirs);
        *mine = (*mine).max(*theirs);
    }
}

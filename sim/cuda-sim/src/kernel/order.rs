//! Order that fences and atomics make: what one thread has done, and another knows of.
//!
//! A thread that has passed a fence and then writes memory by a strong access releases, at that place,
//! what it has done and knows, and what its block has done before the last barrier. A thread that
//! accesses the place so after it acquires that. Of other blocks, the whole block of the one who acquires
//! counts as knowing: which of its threads do is not told apart.

use std::collections::{HashMap, HashSet};

use super::stamp::Stamp;

/// Bytes of a block of memory, or of shared memory, by where they start.
pub(super) type Place = (Option<usize>, usize);

/// Of a block of threads: all before an interval is known, and these threads in it.
type Known = (u32, HashSet<u32>);

/// Of threads of the running block: moments of their warps up to which they are known.
type Moments = HashMap<u32, u16>;

/// What can be had at a place.
#[derive(Debug, Default)]
struct Released {
    /// Blocks by their number in the order of running.
    blocks: HashMap<usize, Known>,
    interval: u32,
    /// In that interval.
    threads: Moments,
    /// How often there was a release.
    count: u64,
}

/// What was released where, and who knows what.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The first interval of each block that ran, and the block.
    blocks: Vec<(u32, u64)>,
    /// What the running block knows of others.
    seen: HashMap<usize, Known>,
    /// What its threads know of each other, since the last barrier.
    inside: HashMap<u32, Moments>,
    released: HashMap<Place, Released>,
    /// The last release that a thread has acquired: who waits in a loop acquires it once.
    acquired: HashMap<(u32, Place), u64>,
}

impl Order {
    /// Another block begins, at this interval.
    pub(super) fn begin(&mut self, interval: u32, block: u64) {
        self.blocks.push((interval, block));
        self.seen.clear();
        self.pass_barrier();
    }

    /// Threads of the block know all before it, and nothing yet of what comes.
    pub(super) fn pass_barrier(&mut self) {
        self.inside.clear();
        self.acquired.clear();
    }

    pub(super) fn first_interval(&self) -> u32 {
        self.blocks.last().map_or(0, |(interval, _)| *interval)
    }

    /// The block that an interval belongs to, by its number in the order of running.
    fn owner(&self, interval: u32) -> usize {
        self.blocks.partition_point(|(first, _)| *first <= interval).saturating_sub(1)
    }

    pub(super) fn block_of(&self, stamp: Stamp) -> u64 {
        self.blocks.get(self.owner(stamp.interval())).map_or(0, |(_, block)| *block)
    }

    /// Whether an access of another block is known.
    pub(super) fn knows_of_another_block(&self, old: Stamp) -> bool {
        if self.seen.is_empty() {
            return false;
        }
        self.seen.get(&self.owner(old.interval())).is_some_and(|(interval, threads)| {
            old.interval() < *interval
                || (old.interval() == *interval && threads.contains(&old.thread()))
        })
    }

    /// Whether a thread knows an access of another one of its block, in the same interval.
    pub(super) fn knows_of_another_thread(&self, thread: u32, old: Stamp) -> bool {
        let known = self.inside.get(&thread).and_then(|known| known.get(&old.thread()));
        known.is_some_and(|moment| old.tick() <= *moment)
    }

    pub(super) fn release(&mut self, place: Place, stamp: Stamp) {
        let mut moments = self.inside.get(&stamp.thread()).cloned().unwrap_or_default();
        moments.insert(stamp.thread(), stamp.tick());
        let own = (stamp.interval(), moments.keys().copied().collect());
        let block = self.blocks.len().saturating_sub(1);
        let released = self.released.entry(place).or_default();
        join(&mut released.blocks, &self.seen);
        join(&mut released.blocks, &HashMap::from([(block, own)]));
        if released.interval != stamp.interval() {
            (released.interval, released.threads) = (stamp.interval(), Moments::new());
        }
        join_moments(&mut released.threads, &moments);
        released.count += 1;
    }

    pub(super) fn acquire(&mut self, place: Place, stamp: Stamp) {
        let Some(released) = self.released.get(&place) else { return };
        let before = self.acquired.insert((stamp.thread(), place), released.count);
        if before == Some(released.count) {
            return;
        }
        join(&mut self.seen, &released.blocks);
        if released.interval == stamp.interval() {
            let known = self.inside.entry(stamp.thread()).or_default();
            join_moments(known, &released.threads);
        }
    }
}

fn join(known: &mut HashMap<usize, Known>, other: &HashMap<usize, Known>) {
    for (block, (interval, threads)) in other {
        let mine = known.entry(*block).or_default();
        if mine.0 < *interval {
            *mine = (*interval, threads.clone());
        } else if mine.0 == *interval {
            mine.1.extend(threads);
        }
    }
}

fn join_moments(known: &mut Moments, other: &Moments) {
    for (thread, moment) in other {
        let mine = known.entry(*thread).or_default();
        *mine = (*mine).max(*moment);
    }
}

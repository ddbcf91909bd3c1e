//! Order by fences and atomics: the accesses of one thread that happen before those of another.
//!
//! A thread that writes memory by a strong access after a fence releases all accesses that it is
//! ordered after to that place. These include the accesses of its block before the last barrier. A
//! thread that accesses the place by a strong access and then passes a fence acquires them. Across
//! blocks, the acquiring block counts as one: its threads are not distinguished.

use std::collections::{HashMap, HashSet};

use super::stamp::Stamp;

/// Bytes of a block of memory, or of shared memory, by where they start.
pub(super) type Place = (Option<usize>, usize);

/// Order after a block of threads: all accesses before an interval, and in it those of these
/// threads.
type Known = (u32, HashSet<u32>);

/// Order after threads of the running block: the moment of their warp up to which their accesses
/// are ordered.
type Moments = HashMap<u32, u16>;

/// The accesses that an acquire at a place is ordered after.
#[derive(Debug, Default)]
struct Released {
    /// Blocks by their number in the order of running.
    blocks: HashMap<usize, Known>,
    interval: u32,
    /// The same for threads in that interval.
    threads: Moments,
    /// The number of releases.
    count: u64,
}

/// All releases by place, and the orders that threads acquired.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The first interval of each executed block, and the block.
    blocks: Vec<(u32, u64)>,
    /// The other blocks' accesses that the running block is ordered after.
    seen: HashMap<usize, Known>,
    /// The order among its threads since the last barrier.
    inside: HashMap<u32, Moments>,
    released: HashMap<Place, Released>,
    /// The last release that a thread has acquired: a waiting loop acquires it once.
    acquired: HashMap<(u32, Place), u64>,
}

impl Order {
    /// Begins another block at this interval.
    pub(super) fn begin(&mut self, interval: u32, block: u64) {
        self.blocks.push((interval, block));
        self.seen.clear();
        self.pass_barrier();
    }

    /// Orders all threads of the block after all earlier accesses.
    pub(super) fn pass_barrier(&mut self) {
        self.inside.clear();
        self.acquired.clear();
    }

    pub(super) fn first_interval(&self) -> u32 {
        self.blocks.last().map_or(0, |(interval, _)| *interval)
    }

    /// Returns the number, in the order of execution, of the block that an interval belongs to.
    fn owner(&self, interval: u32) -> usize {
        self.blocks.partition_point(|(first, _)| *first <= interval).saturating_sub(1)
    }

    pub(super) fn block_of(&self, stamp: Stamp) -> u64 {
        self.blocks.get(self.owner(stamp.interval())).map_or(0, |(_, block)| *block)
    }

    /// Returns `true` if an access of another block is ordered before.
    pub(super) fn knows_of_another_block(&self, old: Stamp) -> bool {
        if self.seen.is_empty() {
            return false;
        }
        self.seen.get(&self.owner(old.interval())).is_some_and(|(interval, threads)| {
            old.interval() < *interval
                || (old.interval() == *interval && threads.contains(&old.thread()))
        })
    }

    /// Returns `true` if a thread is ordered after an access of another thread of its block, in the
    /// same interval.
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

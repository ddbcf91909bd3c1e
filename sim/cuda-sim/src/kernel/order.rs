//! Order through fences and atomics: which accesses of one thread happen before those of another.
//!
//! A thread releases accesses at a position in memory by passing a fence and then writing there
//! with a strong access. It releases all accesses that happen before the write, including its
//! block's accesses before the last barrier. Another thread acquires them by accessing the position
//! with a strong access and then passing a fence. Across blocks, the acquiring block is treated as
//! a unit: its threads are not distinguished.

use std::collections::{HashMap, HashSet};

use super::stamp::Stamp;

/// A position in a memory block or in shared memory: the block, and the offset of the first byte.
pub(super) type Place = (Option<usize>, usize);

/// The accesses of a block that are ordered before the current one: all accesses before an
/// interval, and those of the listed threads in that interval.
type Known = (u32, HashSet<u32>);

/// Threads of the running block, each with the moment of its warp up to which its accesses are
/// ordered.
type Moments = HashMap<u32, u16>;

/// The accesses that an acquire at this position is ordered after.
#[derive(Debug, Default)]
struct Released {
    /// Accesses of blocks, by the position of the block in the execution order.
    blocks: HashMap<usize, Known>,
    interval: u32,
    /// Accesses of threads in the interval of the release.
    threads: Moments,
    /// The number of releases.
    count: u64,
}

/// All releases by position, and the order that threads have acquired.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The first interval of each executed block, with the block's number.
    blocks: Vec<(u32, u64)>,
    /// The accesses of other blocks that happen before those of the running block.
    seen: HashMap<usize, Known>,
    /// The order among threads of the running block since the last barrier.
    inside: HashMap<u32, Moments>,
    released: HashMap<Place, Released>,
    /// The last release that a thread has acquired. A loop that polls acquires a release only once.
    acquired: HashMap<(u32, Place), u64>,
}

impl Order {
    /// Begins the next block at this interval.
    pub(super) fn begin(&mut self, interval: u32, block: u64) {
        self.blocks.push((interval, block));
        self.seen.clear();
        self.pass_barrier();
    }

    /// Orders all threads of the block after all of its earlier accesses.
    pub(super) fn pass_barrier(&mut self) {
        self.inside.clear();
        self.acquired.clear();
    }

    pub(super) fn first_interval(&self) -> u32 {
        self.blocks.last().map_or(0, |(interval, _)| *interval)
    }

    /// Returns the position, in execution order, of the block that an interval belongs to.
    fn owner(&self, interval: u32) -> usize {
        self.blocks.partition_point(|(first, _)| *first <= interval).saturating_sub(1)
    }

    pub(super) fn block_of(&self, stamp: Stamp) -> u64 {
        self.blocks.get(self.owner(stamp.interval())).map_or(0, |(_, block)| *block)
    }

    /// Returns `true` if an access by another block happens before the current access.
    pub(super) fn knows_of_another_block(&self, old: Stamp) -> bool {
        if self.seen.is_empty() {
            return false;
        }
        self.seen.get(&self.owner(old.interval())).is_some_and(|(interval, threads)| {
            old.interval() < *interval
                || (old.interval() == *interval && threads.contains(&old.thread()))
        })
    }

    /// Returns `true` if an access by another thread of the same block and interval happens before
    /// the given thread's current access.
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

//! The accesses of a launch, by address. Each cell covers 4 bytes, or fewer if accesses are
//! shorter. A cell stores its last write, and the reads that could race with a later write.

use std::ops::Range;

use super::stamp::Stamp;
use super::stamps::Stamps;

/// The largest interval that a stamp can store.
pub(super) const LAST_INTERVAL: u32 = (1 << 28) - 1;

/// The earlier accesses that happen before the current access.
pub(super) trait Orders {
    /// Returns `true` if an earlier access happens before this one.
    fn knows(&self, old: Stamp) -> bool;
    /// Returns the first interval of the current block of threads.
    fn first_interval(&self) -> u32;
}

/// The cells that cover one range of memory.
#[derive(Debug)]
pub(super) struct Cells {
    bytes: usize,
    /// The base-2 logarithm of a cell's size in bytes.
    shift: u32,
    writes: Stamps,
    reads: Stamps,
    /// A read by another thread in the same interval as `reads`.
    others: Stamps,
    /// A read by another block of threads.
    foreign: Stamps,
}

/// A race, described by the earlier access. The flag is `true` if that access was a write.
pub(super) type Race = (Stamp, bool);

impl Cells {
    pub(super) fn new(bytes: usize) -> Self {
        let (writes, reads, others, foreign) = Default::default();
        Self { bytes, shift: 2, writes, reads, others, foreign }
    }

    /// Records an access, and returns an earlier access with which it races.
    pub(super) fn access(
        &mut self,
        start: usize,
        bytes: usize,
        writes: bool,
        stamp: Stamp,
        orders: &impl Orders,
    ) -> Option<Race> {
        while (start | bytes) & ((1 << self.shift) - 1) != 0 {
            self.halve();
        }
        let cells = start >> self.shift..(start + bytes) >> self.shift;
        let mut race = None;
        for cell in cells {
            let found = if writes {
                self.write(cell, stamp, orders)
            } else {
                self.read(cell, stamp, orders)
            };
            race = race.or(found);
        }
        race
    }

    fn write(&mut self, cell: usize, stamp: Stamp, orders: &impl Orders) -> Option<Race> {
        let mut race = None;
        let old = self.writes.replace(cell, stamp);
        if races(old, stamp, orders) {
            race = Some((old, true));
        }
        for list in [&mut self.reads, &mut self.others, &mut self.foreign] {
            // An access that is ordered after the write is also ordered after the reads before the
            // write.
            let old = list.take(cell);
            if race.is_none() && races(old, stamp, orders) {
                race = Some((old, false));
            }
        }
        race
    }

    fn read(&mut self, cell: usize, stamp: Stamp, orders: &impl Orders) -> Option<Race> {
        let written = self.writes.get(cell);
        let race = races(written, stamp, orders).then_some((written, true));
        let old = self.reads.get(cell);
        if old.is_some() && old.interval() == stamp.interval() && !old.same_place(stamp) {
            self.read_beside(cell, old, stamp);
            return race;
        }
        if old.is_some() && old.interval() < orders.first_interval() && !old.same_place(stamp) {
            self.foreign.replace(cell, old);
        }
        self.reads.replace(cell, stamp);
        race
    }

    /// Keeps two readers of an interval, from different warps if possible.
    fn read_beside(&mut self, cell: usize, first: Stamp, stamp: Stamp) {
        let second = self.others.get(cell);
        let is_stale = second.interval() != stamp.interval();
        let is_better = second.warp() == first.warp() && stamp.warp() != first.warp();
        if is_stale || is_better || second.same_place(stamp) {
            self.others.replace(cell, stamp);
        }
    }

    fn halve(&mut self) {
        self.shift -= 1;
        for list in [&mut self.writes, &mut self.reads, &mut self.others, &mut self.foreign] {
            list.double();
        }
    }

    /// Returns the ranges that were read but not written afterwards, and the ranges that were
    /// written.
    pub(super) fn touched(&self) -> [Vec<Range<usize>>; 2] {
        [self.ranges(&self.reads), self.ranges(&self.writes)]
    }

    /// Returns the byte ranges of the cells that have a stamp.
    fn ranges(&self, list: &Stamps) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        // Parts of the last cell may lie past the end.
        let within = |cell: &usize| cell << self.shift < self.bytes;
        for cell in list.cells().take_while(within) {
            let bytes = cell << self.shift..((cell + 1) << self.shift).min(self.bytes);
            match ranges.last_mut().filter(|last| last.end == bytes.start) {
                Some(last) => last.end = bytes.end,
                None => ranges.push(bytes),
            }
        }
        ranges
    }
}

fn races(old: Stamp, new: Stamp, orders: &impl Orders) -> bool {
    old.is_some() && !(old.is_strong() && new.is_strong()) && !orders.knows(old)
}

#[cfg(test)]
mod tests {
    use super::{Cells, Orders, Stamp};

    /// The knowledge of a thread that is ordered after its own accesses, and after all earlier
    /// intervals since the first.
    struct Plain {
        me: Stamp,
        first: u32,
    }

    impl Orders for Plain {
        fn knows(&self, old: Stamp) -> bool {
            let same = old.interval() == self.me.interval();
            if same { old.thread() == self.me.thread() } else { old.interval() >= self.first }
        }
        fn first_interval(&self) -> u32 {
            self.first
        }
    }

    fn access(cells: &mut Cells, at: (usize, usize), writes: bool, who: (u32, u32, u32)) -> bool {
        let (first, interval, thread) = who;
        let me = Stamp::new(interval, thread, 0, false, 7);
        cells.access(at.0, at.1, writes, me, &Plain { me, first }).is_some()
    }

    #[test]
    fn parts_come_back_out_of_a_stamp() {
        let stamp = Stamp::new(super::LAST_INTERVAL, 1023, 1023, true, 41);
        assert_eq!((stamp.interval(), stamp.thread()), (super::LAST_INTERVAL, 1023));
        assert_eq!((stamp.tick(), stamp.is_strong(), stamp.step()), (1023, true, Some(41)));
        assert_eq!(Stamp::new(1, 0, 0, false, 1 << 20).step(), None);
    }

    #[test]
    fn a_barrier_orders_the_threads_of_a_block_and_no_others() {
        let mut cells = Cells::new(64);
        assert!(!access(&mut cells, (0, 4), true, (1, 1, 0)));
        assert!(access(&mut cells, (0, 4), false, (1, 1, 1)));
        assert!(!access(&mut cells, (0, 4), false, (1, 2, 1)));
        assert!(access(&mut cells, (0, 4), false, (3, 3, 1)));
    }

    #[test]
    fn a_write_races_with_any_reader_before_it() {
        for writer in 0..3 {
            let mut cells = Cells::new(64);
            for reader in 0..2 {
                assert!(!access(&mut cells, (8, 8), false, (1, 1, reader)));
            }
            assert!(access(&mut cells, (12, 4), true, (1, 1, writer)));
        }
        // A reader from another block is stored in addition to the readers of this block.
        let mut cells = Cells::new(64);
        assert!(!access(&mut cells, (0, 4), false, (1, 1, 0)));
        assert!(!access(&mut cells, (0, 4), false, (2, 2, 0)));
        assert!(access(&mut cells, (0, 4), true, (2, 2, 0)));
    }

    #[test]
    fn short_accesses_side_by_side_do_not_race() {
        let mut cells = Cells::new(7);
        for thread in 0..7 {
            assert!(!access(&mut cells, (thread as usize, 1), true, (1, 1, thread)));
        }
        assert!(access(&mut cells, (4, 2), false, (1, 1, 6)));
        assert_eq!(cells.touched()[1].as_slice(), std::slice::from_ref(&(0..7)));
    }

    #[test]
    fn halves_of_the_last_cell_end_with_the_memory() {
        let mut cells = Cells::new(5);
        assert!(!access(&mut cells, (0, 4), true, (1, 1, 0)));
        assert!(!access(&mut cells, (4, 1), true, (1, 1, 0)));
        assert_eq!(cells.touched()[1].as_slice(), std::slice::from_ref(&(0..5)));
    }
}

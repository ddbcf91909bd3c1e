//! Sets of occupied addresses, and the search for a free range between them.

use crate::heuristic::GreedyFit;

/// Occupied addresses as disjoint ranges in ascending order; ranges that touch are one.
///
/// Buffers that are packed on top of each other become a single range. This keeps the sets small,
/// so that most need no allocation. There are hundreds of thousands of sets, and their allocations
/// took a fifth of a plan's time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// The only range, if `many` has none; empty if there is no range.
    one: (u64, u64),
    /// All ranges, if there are several.
    many: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds the addresses `[start, end)`, which are not empty.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        if self.many.is_empty() && self.extend_one(start, end) {
            return;
        }
        let ranges = &mut self.many;
        let first = ranges.partition_point(|range| range.1 < start);
        let Some(&(low, high)) = ranges.get(first) else {
            ranges.push((start, end));
            return;
        };
        if low <= start && end <= high {
            return;
        }
        let touching = ranges[first..].iter().take_while(|range| range.0 <= end).count();
        if touching == 0 {
            ranges.insert(first, (start, end));
            return;
        }
        let last = ranges[first + touching - 1].1;
        ranges[first] = (start.min(low), end.max(last));
        ranges.drain(first + 1..first + touching);
    }

    /// Adds addresses to the only range, or makes them the first. If they do not touch it, moves
    /// the range to `many`, and returns `false`.
    fn extend_one(&mut self, start: u64, end: u64) -> bool {
        let (low, high) = self.one;
        if low == high {
            self.one = (start, end);
            return true;
        }
        if start <= high && low <= end {
            self.one = (start.min(low), end.max(high));
            return true;
        }
        self.many.push(self.one);
        false
    }

    /// Removes all addresses.
    pub(crate) fn clear(&mut self) {
        self.one = (0, 0);
        self.many.clear();
    }

    /// Returns the ranges.
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        match (&*self.many, self.one) {
            ([], (start, end)) if start == end => &[],
            ([], _) => std::slice::from_ref(&self.one),
            (many, _) => many,
        }
    }
}

/// Returns the offset for `size` bytes between `occupied` ranges, which are in order of their
/// starts; above all ranges, if no free range is large enough.
// Uncounted: the placers count the ranges.
pub(crate) fn fit(occupied: &[(u64, u64)], size: u64, alignment: u64, rule: GreedyFit) -> u64 {
    let mut room = Room::new(size, alignment, rule);
    for &(start, end) in occupied {
        room.pass(start, end);
        if room.is_found() {
            break;
        }
    }
    room.offset()
}

/// The search for room between occupied ranges that are passed in order of their starts.
#[derive(Debug)]
pub(crate) struct Room {
    size: u64,
    alignment: u64,
    rule: GreedyFit,
    /// The end of the passed ranges.
    free_from: u64,
    best: Option<u64>,
    /// The surplus bytes of the range that `best` is in; a range with at least this surplus is not
    /// taken.
    best_spare: u64,
}

impl Room {
    /// Starts a search for `size` bytes.
    pub(crate) const fn new(size: u64, alignment: u64, rule: GreedyFit) -> Self {
        Self { size, alignment, rule, free_from: 0, best: None, best_spare: (1 << 63) - size }
    }

    /// Passes the occupied addresses `[start, end)`, which begin no earlier than those passed before.
    #[inline]
    pub(crate) fn pass(&mut self, start: u64, end: u64) {
        self.pass_if(true, start, end);
    }

    /// Passes addresses, if they are occupied. Only the rarely true condition is a branch. If every
    /// other buffer of a long list is occupied, a mispredicted branch costs more time than all
    /// else.
    #[inline]
    pub(crate) fn pass_if(&mut self, is_occupied: bool, start: u64, end: u64) {
        let mask = u64::from(is_occupied).wrapping_neg();
        // Addresses have 63 bits. A value below zero, or one less than the bytes, is above all
        // others when taken as unsigned.
        let spare = (start.wrapping_sub(self.free_from) & mask).wrapping_sub(self.size);
        if spare < self.best_spare {
            self.leave(start);
        }
        // The maximum, written so that the compiler cannot choose a branch.
        let higher = (end & mask).wrapping_sub(self.free_from);
        self.free_from += higher & (higher >> 63).wrapping_sub(1);
    }

    /// Returns `true` if no range passed from here on changes the offset.
    #[inline]
    pub(crate) fn is_found(&self) -> bool {
        self.rule == GreedyFit::First && self.best.is_some()
    }

    /// Considers the free addresses from the end of the passed ranges to `end`, which have room for
    /// the bytes, and less surplus than the best.
    fn leave(&mut self, end: u64) {
        let aligned = self.free_from.next_multiple_of(self.alignment);
        if aligned + self.size <= end && self.free_from < end {
            self.best = Some(aligned);
            let spare = end - self.free_from - self.size;
            self.best_spare = if self.rule == GreedyFit::First { 0 } else { spare };
        }
    }

    /// Returns the lowest place for the bytes: in a gap, or above all ranges passed.
    pub(crate) fn offset(&self) -> u64 {
        self.best.unwrap_or_else(|| self.free_from.next_multiple_of(self.alignment))
    }
}

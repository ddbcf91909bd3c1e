//! Sets of occupied addresses, and the search for a free range between them.

use crate::heuristic::GreedyFit;

/// Occupied addresses as disjoint ranges in ascending order; ranges that touch are one.
///
/// Buffers that are packed on top of each other become a single range, which is what keeps the sets small, and needs no
/// memory of its own: there are hundreds of thousands of sets, and to give each its memory and take it back was a
/// fifth of a plan's time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// The one range, if there is none in `many`; none that is empty.
    one: (u64, u64),
    /// All ranges, once there are several.
    many: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds the addresses `[start, end)`, of which there are some.
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

    /// Adds addresses to the one range, or makes them the first; if they do not touch it, it is moved to those of which
    /// there are several, and the answer is no.
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

    /// Forgets all addresses.
    pub(crate) fn clear(&mut self) {
        self.one = (0, 0);
        self.many.clear();
    }

    /// The ranges.
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        match (&*self.many, self.one) {
            ([], (start, end)) if start == end => &[],
            ([], _) => std::slice::from_ref(&self.one),
            (many, _) => many,
        }
    }
}

/// The offset for `size` bytes between `occupied` ranges, which are in order of their starts; above all
/// ranges, if no free range is large enough.
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
    /// The end of what was passed.
    free_from: u64,
    best: Option<u64>,
    /// The free bytes beside those that are looked for, in the range that `best` is in; a range that has as many or more
    /// is not taken.
    best_spare: u64,
}

impl Room {
    /// Room for `size` bytes.
    pub(crate) const fn new(size: u64, alignment: u64, rule: GreedyFit) -> Self {
        Self { size, alignment, rule, free_from: 0, best: None, best_spare: (1 << 63) - size }
    }

    /// Passes the occupied addresses `[start, end)`, which begin no earlier than those passed before.
    #[inline]
    pub(crate) fn pass(&mut self, start: u64, end: u64) {
        self.pass_if(true, start, end);
    }

    /// Passes addresses, if they are occupied. What is rarely so is the one thing that is branched on: where every
    /// other buffer of a long list is in the way, a processor that guesses wrong loses more time than all else takes.
    #[inline]
    pub(crate) fn pass_if(&mut self, is_occupied: bool, start: u64, end: u64) {
        let mask = u64::from(is_occupied).wrapping_neg();
        // Addresses have 63 bits. What is below zero, or less than the bytes, is above all else without a sign.
        let spare = (start.wrapping_sub(self.free_from) & mask).wrapping_sub(self.size);
        if spare < self.best_spare {
            self.leave(start);
        }
        // The maximum, where a compiler may not choose to branch.
        let higher = (end & mask).wrapping_sub(self.free_from);
        self.free_from += higher & (higher >> 63).wrapping_sub(1);
    }

    /// Returns `true` if nothing that is passed from here on changes the offset.
    #[inline]
    pub(crate) fn is_found(&self) -> bool {
        self.rule == GreedyFit::First && self.best.is_some()
    }

    /// Looks at the free addresses from what was passed to `end`, which have room for the bytes, and less than those
    /// that were taken.
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

//! Sets of occupied addresses, and the search for a free range between them.

use crate::heuristic::GreedyFit;

/// Occupied addresses, stored as disjoint ranges in ascending order. Ranges that touch are merged.
///
/// Buffers that are packed on top of each other become a single range. This keeps the sets small,
/// and most of them need no allocation. There are hundreds of thousands of sets; when each one
/// allocated, the allocations took a fifth of the planning time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// The only range if `many` is empty. This range itself is empty if the set is.
    one: (u64, u64),
    /// All ranges, if there are several.
    many: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds the addresses `[start, end)`. The range must not be empty.
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

    /// Merges addresses into the only range, or stores them as the first range. If they do not
    /// touch the only range, moves that range to `many` and returns `false`.
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

/// Returns the offset for `size` bytes between the `occupied` ranges, which are sorted by start.
/// The offset is above all ranges if no free range is large enough.
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

/// The search for room between occupied ranges, which are passed in the order of their starts.
#[derive(Debug)]
pub(crate) struct Room {
    size: u64,
    alignment: u64,
    rule: GreedyFit,
    /// The end of the ranges passed so far.
    free_from: u64,
    best: Option<u64>,
    /// The surplus of the free range that contains `best`, in bytes. A range with the same surplus
    /// or more is not taken.
    best_spare: u64,
}

impl Room {
    /// Starts a search for `size` bytes.
    pub(crate) const fn new(size: u64, alignment: u64, rule: GreedyFit) -> Self {
        Self { size, alignment, rule, free_from: 0, best: None, best_spare: (1 << 63) - size }
    }

    /// Passes the occupied addresses `[start, end)`. They must not begin before the addresses that
    /// were passed earlier.
    #[inline]
    pub(crate) fn pass(&mut self, start: u64, end: u64) {
        self.pass_if(true, start, end);
    }

    /// Passes addresses if they are occupied. Only a condition that is rarely true is compiled to a
    /// branch. If every other buffer of a long list were occupied, mispredicted branches would cost
    /// more time than everything else.
    #[inline]
    pub(crate) fn pass_if(&mut self, is_occupied: bool, start: u64, end: u64) {
        let mask = u64::from(is_occupied).wrapping_neg();
        // Addresses fit in 63 bits. A negative value, or a value below the required bytes, is
        // larger than all others when it is interpreted as unsigned.
        let spare = (start.wrapping_sub(self.free_from) & mask).wrapping_sub(self.size);
        if spare < self.best_spare {
            self.leave(start);
        }
        // This computes the maximum in a form that the compiler cannot turn into a branch.
        let higher = (end & mask).wrapping_sub(self.free_from);
        self.free_from += higher & (higher >> 63).wrapping_sub(1);
    }

    /// Returns `true` if no range passed from now on can change the offset.
    #[inline]
    pub(crate) fn is_found(&self) -> bool {
        self.rule == GreedyFit::First && self.best.is_some()
    }

    /// Considers the free addresses from the end of the passed ranges to `end`. They are taken if
    /// the bytes fit there with less surplus than in the best range so far.
    fn leave(&mut self, end: u64) {
        let aligned = self.free_from.next_multiple_of(self.alignment);
        if aligned + self.size <= end && self.free_from < end {
            self.best = Some(aligned);
            let spare = end - self.free_from - self.size;
            self.best_spare = if self.rule == GreedyFit::First { 0 } else { spare };
        }
    }

    /// Returns the offset that was found for the bytes: in a gap, or above all passed ranges.
    pub(crate) fn offset(&self) -> u64 {
        self.best.unwrap_or_else(|| self.free_from.next_multiple_of(self.alignment))
    }
}

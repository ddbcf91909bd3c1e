//! Sets of occupied addresses, and a search for a free range between occupied ranges.

use crate::heuristic::GreedyFit;

/// A set of occupied addresses, stored as disjoint ranges in ascending order. Ranges that touch are
/// merged.
///
/// If buffers are packed on top of each other, their ranges are merged into a single range. Merging
/// keeps the sets small, so most of them need no allocation. A large problem's plan uses hundreds
/// of thousands of sets. In an earlier version, each set had its own allocation, and these
/// allocations took one fifth of the planning time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// The set's only range, if `many` is empty. If the set is empty, this range contains no bytes.
    one: (u64, u64),
    /// All of the set's ranges, if there are several.
    many: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds the addresses `[start, end)` to the set. The range to add must not be empty.
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

    /// Merges a range of addresses with the set's only range, or stores it as the first range. If
    /// the two ranges do not touch, the function moves the only range to `many` and returns
    /// `false`.
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

    /// Returns the set's ranges.
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        match (&*self.many, self.one) {
            ([], (start, end)) if start == end => &[],
            ([], _) => std::slice::from_ref(&self.one),
            (many, _) => many,
        }
    }
}

/// Returns an offset with room for `size` bytes between the `occupied` ranges, which are sorted by
/// start. If no free range is large enough, the returned offset is above all occupied ranges.
// Uncounted: the loop needs no counter because the placers count the ranges.
pub(crate) fn fit(occupied: &[(u64, u64)], size: u64, alignment: u64, rule: GreedyFit) -> u64 {
    let mut free = FreeRange::new(size, alignment, rule);
    for &(start, end) in occupied {
        free.pass(start, end);
        if free.is_found() {
            break;
        }
    }
    free.offset()
}

/// A search for a free range between occupied ranges, which the caller passes in order of their
/// starts.
#[derive(Debug)]
pub(crate) struct FreeRange {
    size: u64,
    alignment: u64,
    rule: GreedyFit,
    /// The highest end of any range that has been passed to the search.
    free_from: u64,
    best: Option<u64>,
    /// The number of bytes by which the free range that contains `best` is larger than necessary.
    /// The search ignores every free range with an equal or larger surplus.
    best_spare: u64,
}

impl FreeRange {
    /// Starts a search for `size` free bytes.
    pub(crate) const fn new(size: u64, alignment: u64, rule: GreedyFit) -> Self {
        Self { size, alignment, rule, free_from: 0, best: None, best_spare: (1 << 63) - size }
    }

    /// Tells the search that the addresses `[start, end)` are occupied. The range must not begin
    /// before a range that was passed earlier.
    #[inline]
    pub(crate) fn pass(&mut self, start: u64, end: u64) {
        self.pass_if(true, start, end);
    }

    /// Tells the search that the addresses are occupied if `is_occupied` is `true`. The code is
    /// written so that the compiler emits a single branch, whose condition is rarely true. If about
    /// half of the calls for a long list passed `true`, mispredicted branches would take more time
    /// than all other work.
    #[inline]
    pub(crate) fn pass_if(&mut self, is_occupied: bool, start: u64, end: u64) {
        let mask = u64::from(is_occupied).wrapping_neg();
        // Addresses fit in 63 bits. If the free range is too small, the subtraction wraps around to
        // a value that exceeds any possible surplus.
        let spare = (start.wrapping_sub(self.free_from) & mask).wrapping_sub(self.size);
        if spare < self.best_spare {
            self.leave(start);
        }
        // The maximum is computed so that the compiler does not generate a branch.
        let higher = (end & mask).wrapping_sub(self.free_from);
        self.free_from += higher & (higher >> 63).wrapping_sub(1);
    }

    /// Returns `true` if later ranges cannot change the offset that the search has found.
    #[inline]
    pub(crate) fn is_found(&self) -> bool {
        self.rule == GreedyFit::First && self.best.is_some()
    }

    /// Considers the free addresses between the ranges passed so far and `end`. The search selects
    /// the free addresses if the bytes fit there with less surplus than in the best range so far.
    fn leave(&mut self, end: u64) {
        let aligned = self.free_from.next_multiple_of(self.alignment);
        if aligned + self.size <= end && self.free_from < end {
            self.best = Some(aligned);
            let spare = end - self.free_from - self.size;
            self.best_spare = if self.rule == GreedyFit::First { 0 } else { spare };
        }
    }

    /// Returns the offset found by the search. The offset lies between two of the passed ranges or
    /// above all of them.
    pub(crate) fn offset(&self) -> u64 {
        self.best.unwrap_or_else(|| self.free_from.next_multiple_of(self.alignment))
    }
}

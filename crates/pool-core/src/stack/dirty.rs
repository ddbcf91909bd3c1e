//! Defines the dirty ranges of a stack. Bytes in a dirty range might be uninitialized because a
//! value with padding or other uninitialized bytes might have been stored there.

use core::cell::Cell;
use core::ops::Range;

/// The maximum number of ranges that are stored separately. If this number is exceeded, some ranges
/// are merged, so later acquires must zero slightly more memory.
const RANGES: usize = 32;

/// Disjoint address ranges in ascending order.
pub(super) struct DirtyRanges {
    /// The ranges. The array has one more element than `RANGES` because a removal can split a range
    /// in two.
    ranges: [Cell<(usize, usize)>; RANGES + 1],
    count: Cell<usize>,
}

impl DirtyRanges {
    pub(super) const fn new() -> Self {
        Self { ranges: [const { Cell::new((0, 0)) }; RANGES + 1], count: Cell::new(0) }
    }

    /// Returns `true` if no byte is dirty.
    pub(super) fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// Returns `true` if all bytes of a range are already dirty.
    pub(super) fn contains(&self, range: &Range<usize>) -> bool {
        let after = self.first_ending_after(range.start);
        after.is_some_and(|dirty| dirty.start <= range.start && range.end <= dirty.end)
    }

    /// Adds a range, which must not be empty.
    pub(super) fn add(&self, range: Range<usize>) {
        let (mut start, mut end) = (range.start, range.end);
        // Ranges that touch the new range are merged with it.
        self.retain(|dirty| {
            let touches = dirty.start <= end && start <= dirty.end;
            if touches {
                (start, end) = (start.min(dirty.start), end.max(dirty.end));
            }
            !touches
        });
        self.insert(start, end);
        self.merge_surplus(&(end..end));
    }

    /// Removes a range whose bytes have been initialized or freed.
    pub(super) fn remove(&self, range: &Range<usize>) {
        let mut rest = [None, None];
        self.retain(|dirty| {
            let overlaps = dirty.start < range.end && range.start < dirty.end;
            if overlaps && dirty.start < range.start {
                rest[0] = Some((dirty.start, range.start));
            }
            if overlaps && range.end < dirty.end {
                rest[1] = Some((range.end, dirty.end));
            }
            !overlaps
        });
        for (start, end) in rest.into_iter().flatten() {
            self.insert(start, end);
        }
        self.merge_surplus(range);
    }

    /// Moves every dirty byte range within the given range to another list.
    pub(super) fn move_to(&self, other: &Self, range: &Range<usize>) {
        while let Some(part) = self.first_in(range) {
            self.remove(&part);
            other.add(part);
        }
    }

    /// Removes all dirty bytes outside a range because these bytes no longer belong to a chunk.
    pub(super) fn keep_within(&self, range: &Range<usize>) {
        self.remove(&(0..range.start));
        self.remove(&(range.end..usize::MAX));
    }

    /// Returns the first dirty part of a range.
    pub(super) fn first_in(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let dirty = self.first_ending_after(range.start)?;
        let part = dirty.start.max(range.start)..dirty.end.min(range.end);
        (part.start < part.end).then_some(part)
    }

    /// Returns `true` if no byte of a range is dirty. The method is fastest if the range is above
    /// all dirty bytes.
    #[inline]
    pub(super) fn is_clean(&self, range: &Range<usize>) -> bool {
        for dirty in self.ranges[..self.count.get()].iter().rev() {
            let (start, end) = dirty.get();
            if end <= range.start {
                return true;
            }
            if start < range.end {
                return false;
            }
        }
        true
    }

    /// Returns the lowest dirty range that contains bytes at or above the given address.
    fn first_ending_after(&self, address: usize) -> Option<Range<usize>> {
        let ranges = &self.ranges[..self.count.get()];
        let (start, end) =
            ranges.get(ranges.partition_point(|range| range.get().1 <= address))?.get();
        Some(start..end)
    }

    fn iter(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.ranges[..self.count.get()].iter().map(|range| {
            let (start, end) = range.get();
            start..end
        })
    }

    fn retain(&self, mut keep: impl FnMut(Range<usize>) -> bool) {
        let mut kept = 0;
        for index in 0..self.count.get() {
            let (start, end) = self.ranges[index].get();
            if keep(start..end) {
                self.ranges[kept].set((start, end));
                kept += 1;
            }
        }
        self.count.set(kept);
    }

    /// Inserts a range that touches no other range. The array must have room for another range.
    fn insert(&self, start: usize, end: usize) {
        let count = self.count.get();
        let at = self.iter().take_while(|dirty| dirty.start < start).count();
        for index in (at..count).rev() {
            self.ranges[index + 1].set(self.ranges[index].get());
        }
        self.ranges[at].set((start, end));
        self.count.set(count + 1);
    }

    /// Merges the two ranges with the smallest gap between them if the list contains one range too
    /// many. The bytes in the gap become dirty. Marking these bytes as dirty is harmless because
    /// dirty bytes are zeroed before they are read. The merge does not make any byte of `clean`
    /// dirty.
    fn merge_surplus(&self, clean: &Range<usize>) {
        if self.count.get() <= RANGES {
            return;
        }
        let gap = |index: usize| self.ranges[index].get().1..self.ranges[index + 1].get().0;
        let may_merge =
            |&index: &usize| gap(index).end <= clean.start || clean.end <= gap(index).start;
        let gaps = 0..self.count.get() - 1;
        let Some(first) = gaps.filter(may_merge).min_by_key(|&index| gap(index).len()) else {
            return;
        };
        let (start, end) = (self.ranges[first].get().0, self.ranges[first + 1].get().1);
        self.ranges[first].set((start, end));
        for index in first + 1..self.count.get() - 1 {
            self.ranges[index].set(self.ranges[index + 1].get());
        }
        self.count.set(self.count.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Tests that every added byte remains dirty until it is removed, regardless of the call order.
    /// Additional bytes may be dirty.
    #[test]
    fn no_dirty_byte_is_lost() {
        let mut random = 1_u64;
        let mut below = |end: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from((random >> 33) % end).unwrap()
        };
        for _ in 0..if cfg!(miri) { 1 } else { 200 } {
            let dirty = DirtyRanges::new();
            let mut model = Vec::from([false; 96]);
            for _ in 0..if cfg!(miri) { 10 } else { 60 } {
                let start = below(90);
                let range = start..start + 1 + below(6);
                if below(3) > 0 {
                    dirty.add(range.clone());
                    model[range].fill(true);
                } else {
                    dirty.remove(&range);
                    assert_eq!(dirty.first_in(&range), None);
                    model[range].fill(false);
                }
                for (byte, &was_marked) in model.iter().enumerate() {
                    let is_dirty = dirty.first_in(&(byte..byte + 1)).is_some();
                    assert!(is_dirty || !was_marked, "byte {byte}");
                    assert_eq!(dirty.is_clean(&(byte..byte + 1)), !is_dirty, "byte {byte}");
                    assert_eq!(dirty.contains(&(byte..byte + 1)), is_dirty, "byte {byte}");
                    let lowest = dirty.first_in(&(0..96)).map(|range| range.start);
                    assert!(!is_dirty || lowest.is_some_and(|lowest| lowest <= byte));
                }
                let ranges: Vec<_> = dirty.iter().collect();
                assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
                let (first, last) = (below(90), below(6));
                let range = first..first + 1 + last;
                let overlaps =
                    |dirty: &Range<usize>| dirty.start < range.end && range.start < dirty.end;
                assert_eq!(dirty.is_clean(&range), !ranges.iter().any(overlaps), "{range:?}");
                let lowest = ranges
                    .iter()
                    .find(|dirty| overlaps(dirty))
                    .map(|dirty| dirty.start.max(range.start)..dirty.end.min(range.end));
                assert_eq!(dirty.first_in(&range), lowest, "{range:?}");
            }
        }
    }

    /// Tests a removal that splits a range while the list is full. The two parts are closer to each
    /// other than to any other range, but they must not be merged.
    #[test]
    fn what_was_removed_stays_removed_where_the_list_is_full() {
        let gaps: &[usize] = if cfg!(miri) { &[5] } else { &[1, 5, 11, 40] };
        for &gap in gaps {
            for split in 0..RANGES {
                if cfg!(miri) && split != 3 {
                    continue;
                }
                let dirty = DirtyRanges::new();
                let start =
                    |range: usize| if range > split { 100 * range + gap - 70 } else { 100 * range };
                for range in 0..RANGES {
                    dirty.add(start(range)..start(range) + 30);
                }
                let model: Vec<_> =
                    (0..900).map(|byte| dirty.first_in(&(byte..byte + 1)).is_some()).collect();
                let removed = start(split) + 10..start(split) + 20;
                dirty.remove(&removed);
                assert_eq!(dirty.first_in(&removed), None, "gap {gap}, range {split}");
                for (byte, was_dirty) in model.into_iter().enumerate() {
                    let is_dirty = dirty.first_in(&(byte..byte + 1)).is_some();
                    assert!(is_dirty || !was_dirty || removed.contains(&byte), "{byte}");
                }
                let ranges: Vec<_> = dirty.iter().collect();
                assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{ranges:?}");
                assert!(ranges.len() <= RANGES);
            }
        }
    }
}

//! The union of several sorted lists of ranges. A placer uses this union to find the addresses that
//! are occupied during a new buffer's lifetime.

/// Several sorted lists of disjoint ranges, and the union of these lists.
///
/// The lists are merged in pairs, and touching ranges are joined in the process. Merging is faster
/// than sorting all ranges.
#[derive(Debug, Default)]
pub(crate) struct Union {
    ranges: Vec<(u64, u64)>,
    /// The position in `ranges` at which each list ends.
    ends: Vec<usize>,
    merged: Vec<(u64, u64)>,
    merged_ends: Vec<usize>,
}

impl Union {
    /// Removes all lists.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.ends.clear();
    }

    /// Returns the approximate number of passes through loops that computing the union takes. Each
    /// round of merging halves the number of lists and reads all ranges.
    pub(crate) fn passes(&self) -> usize {
        self.ranges.len() * (self.ends.len().max(2) - 1).ilog2() as usize + self.ranges.len()
    }

    /// Adds a list of disjoint ranges in ascending order.
    // Uncounted: the loop needs no counter because the placer counts the ranges of the union.
    pub(crate) fn add(&mut self, list: &[(u64, u64)]) {
        if !list.is_empty() {
            self.ranges.extend_from_slice(list);
            self.ends.push(self.ranges.len());
        }
    }

    /// Returns the occupied addresses as disjoint ranges in ascending order. No two of the returned
    /// ranges touch each other.
    // Uncounted: the loop needs no counter because the placer counts the ranges of the union.
    pub(crate) fn ranges(&mut self) -> &[(u64, u64)] {
        while self.ends.len() > 1 {
            self.merged.clear();
            self.merged_ends.clear();
            let mut start = 0;
            for pair in self.ends.chunks(2) {
                let end = pair[pair.len() - 1];
                merge(&self.ranges[start..pair[0]], &self.ranges[pair[0]..end], &mut self.merged);
                self.merged_ends.push(self.merged.len());
                start = end;
            }
            std::mem::swap(&mut self.ranges, &mut self.merged);
            std::mem::swap(&mut self.ends, &mut self.merged_ends);
        }
        &self.ranges
    }
}

/// Appends the union of two sorted lists to `into`, joining ranges that touch each other.
// Uncounted: the loop needs no counter because the placer counts the ranges of the union.
fn merge<'a>(mut one: &'a [(u64, u64)], mut other: &'a [(u64, u64)], into: &mut Vec<(u64, u64)>) {
    let mut open: Option<(u64, u64)> = None;
    while let Some(next) = lower(&mut one, &mut other) {
        match &mut open {
            Some((_, end)) if next.0 <= *end => *end = next.1.max(*end),
            _ => into.extend(open.replace(next)),
        }
    }
    into.extend(open);
}

/// Removes and returns the range with the lowest start from two sorted lists.
fn lower<'a>(one: &mut &'a [(u64, u64)], other: &mut &'a [(u64, u64)]) -> Option<(u64, u64)> {
    let is_first_lower = match (one.first(), other.first()) {
        (Some(first), Some(second)) => first.0 <= second.0,
        (first, _) => first.is_some(),
    };
    let list = if is_first_lower { one } else { other };
    let (&first, rest) = list.split_first()?;
    *list = rest;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::Union;
    use crate::random::Random;

    #[test]
    fn holds_the_addresses_of_all_lists() {
        for seed in 0..300 {
            let mut random = Random::new(seed, 0, 0);
            let (mut union, mut is_occupied) = (Union::default(), [false; 200]);
            for _ in 0..random.below(7) {
                let (mut list, mut address) = (Vec::new(), 0);
                for _ in 0..random.below(9) {
                    let start = address + 1 + random.below(9);
                    address = start + 1 + random.below(9);
                    is_occupied[start..address].fill(true);
                    list.push((start as u64, address as u64));
                }
                union.add(&list);
            }
            let mut held = [false; 200];
            let mut end = 0;
            for &(from, to) in union.ranges() {
                assert!(end == 0 || end < from, "ranges touch in seed {seed}");
                held[usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0)]
                    .fill(true);
                end = to;
            }
            assert_eq!(held, is_occupied, "seed {seed}");
        }
    }
}

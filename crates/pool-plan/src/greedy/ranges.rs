//! Sets of occupied addresses, and the search for a free range between them.

use crate::heuristic::GreedyFit;

/// Occupied addresses as disjoint ranges in ascending order; ranges that touch are one.
///
/// Buffers that are packed on top of each other become a single range, which is what keeps the
/// sets small.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds the addresses `[start, end)`.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        let ranges = &mut self.0;
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

    /// Forgets all addresses.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The ranges.
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }
}

/// The offset for `size` bytes between `occupied` ranges, which are in order of their starts; above all
/// ranges, if no free range is large enough.
pub(crate) fn fit(occupied: &[(u64, u64)], size: u64, alignment: u64, rule: GreedyFit) -> u64 {
    let (mut free_from, mut best, mut best_room) = (0_u64, None, u64::MAX);
    for &(start, end) in occupied {
        if start > free_from {
            let aligned = free_from.next_multiple_of(alignment);
            let room = start - free_from;
            if aligned + size <= start && room < best_room {
                (best, best_room) = (Some(aligned), room);
                if rule == GreedyFit::First {
                    break;
                }
            }
        }
        free_from = free_from.max(end);
    }
    best.unwrap_or_else(|| free_from.next_multiple_of(alignment))
}

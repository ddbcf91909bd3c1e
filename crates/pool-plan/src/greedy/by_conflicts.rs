//! A greedy placer for items whose conflicts are stored in a matrix.
//!
//! The placer can find the placed items that conflict with a new item in either of two ways. The
//! first method reads the new item's row of the matrix and sorts the conflicting items by address.
//! The second method scans the placed items in address order and checks each one against the new
//! item's row. Once all items that conflict with a placed item have been placed, that item is
//! removed from the list. If items are placed in order of their starts, the list is short because
//! few items are live at the same time. If most items conflict, the second method scans no
//! more items than the first method would have to sort.

use super::orders::Order;
use super::placer::{Placement, Placer};
use super::ranges::{FreeRange, fit};
use crate::adjacency::index;
use crate::bits::{BitMatrix, ones};
use crate::heuristic::GreedyFit;
use crate::item::Item;
use crate::work::Watch;

/// The maximum ratio of item pairs to conflicts for which the placer uses the list of placed items.
const PAIRS_A_CONFLICT: u64 = 16;

/// The divisor that determines when the list is cleaned up. Until the next cleanup, the list may
/// grow by its current length divided by this constant.
const LISTED_A_STRUCK: usize = 16;

/// The number of items that are placed before the placer checks again whether to clean up the list.
const ITEMS_A_STRIKE: usize = 64;

/// The fixed cost of placing an item, expressed as a number of loop passes. The cost of scanning
/// the list is added to the fixed cost.
const PASSES_BESIDE: usize = 32;

/// A greedy placer that handles items with conflicts and reuses its memory for each plan.
#[derive(Debug)]
pub(crate) struct ConflictPlacer<'a> {
    items: &'a [Item],
    conflicts: &'a BitMatrix,
    /// `true` if a large share of all item pairs conflict.
    is_dense: bool,
    placed: Vec<u64>,
    met: Vec<u64>,
    occupied: Vec<(u64, u64)>,
    listed: Vec<Listed>,
    /// The items that have not been placed yet.
    left: Vec<u64>,
}

/// A placed item in the list, which is sorted by address.
#[derive(Clone, Copy, Debug)]
struct Listed {
    start: u64,
    end: u64,
    item: u32,
    /// The index of the first word in the item's row that may contain unplaced items. All items in
    /// the words before this one have already been placed.
    word: u32,
}

impl<'a> ConflictPlacer<'a> {
    /// Creates a placer for `items`. Row i of `conflicts` contains the items that must not share
    /// bytes with item i. `total_degree` is the total number of conflicts in all rows, or a
    /// slightly larger number.
    pub(crate) fn new(items: &'a [Item], conflicts: &'a BitMatrix, total_degree: u64) -> Self {
        let (words, count) = (items.len().div_ceil(64), items.len() as u64);
        let (placed, met) = (vec![0; words], vec![0; words]);
        let is_dense = total_degree > count * count / PAIRS_A_CONFLICT;
        let (occupied, listed, left) = (Vec::new(), Vec::new(), Vec::new());
        Self { items, conflicts, is_dense, placed, met, occupied, listed, left }
    }

    /// Records that an item has been placed. An item of size 0 does not block any other item.
    fn note(&mut self, index: usize) {
        if self.items[index].size > 0 {
            self.placed[index / 64] |= 1 << (index % 64);
        }
    }

    /// Reads an item's row to find the addresses of all placed items that conflict with it.
    // Uncounted: the loop needs no counter because `place_by_rows` counts the words that it reads
    // and the conflicts that it finds.
    fn occupied_by_row(&mut self, index: usize, offsets: &[u64]) {
        let row = self.conflicts.row(index).iter().zip(&self.placed);
        self.met.clear();
        self.met.extend(row.map(|(conflicts, placed)| conflicts & placed));
        let range = |one: usize| (offsets[one], offsets[one] + self.items[one].size);
        self.occupied.extend(ones(&self.met).map(range));
        self.occupied.sort_unstable();
    }

    /// Finds a free range for an item between the listed items that conflict with it.
    // Uncounted: the loop needs no counter because `place_by_list` counts the entries of the list.
    fn room_by_list(&self, item: usize, fit: GreedyFit) -> u64 {
        let row = self.conflicts.row(item);
        let mut free = FreeRange::new(self.items[item].size, self.items[item].alignment, fit);
        for one in &self.listed {
            let is_met = row[one.item as usize / 64] >> (one.item % 64) & 1 == 1;
            free.pass_if(is_met, one.start, one.end);
        }
        free.offset()
    }

    /// Adds a placed item to the list, which is sorted by address.
    fn list(&mut self, item: usize, offset: u64) {
        let end = offset + self.items[item].size;
        let one = Listed { start: offset, end, item: index(item), word: 0 };
        let place = self.listed.partition_point(|other| (other.start, other.end) < (offset, end));
        self.listed.insert(place, one);
    }

    /// Removes an item from the list if it no longer conflicts with any unplaced item. No item is
    /// ever added to the set of unplaced items. A word of a row is therefore skipped as soon as all
    /// of its items have been placed. Returns the number of words read.
    fn strike(&mut self) -> usize {
        let (conflicts, left) = (self.conflicts, &self.left);
        let mut looked = self.listed.len();
        self.listed.retain_mut(|one| {
            let from = one.word as usize;
            let mut words = conflicts.row(one.item as usize)[from..].iter().zip(&left[from..]);
            let done = words.position(|(conflicts, left)| conflicts & left != 0);
            looked += done.unwrap_or(left.len() - from);
            one.word += done.map_or(0, index);
            done.is_some()
        });
        looked
    }

    /// Places items by searching the list of placed items. See [`Placer::place_while`].
    fn place_by_list(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement {
        let (mut offsets, mut peak) = (vec![0; self.items.len()], 0);
        self.listed.clear();
        self.left.clear();
        self.left.resize(self.items.len().div_ceil(64), 0);
        for (index, item) in self.items.iter().enumerate() {
            if let Some(offset) = item.fixed {
                offsets[index] = offset;
                peak = peak.max(offset + item.size);
                if item.size > 0 {
                    self.list(index, offset);
                }
            } else if item.size > 0 {
                self.left[index / 64] |= 1 << (index % 64);
            }
        }
        let mut to_strike = 0;
        for (number, &index) in order.items.iter().enumerate() {
            if number % ITEMS_A_STRIKE == 0 && number >= to_strike {
                if !watch.count(self.strike()) {
                    return Placement::Stopped;
                }
                to_strike = number + self.listed.len() / LISTED_A_STRUCK;
            }
            if !watch.count(self.listed.len() + PASSES_BESIDE) {
                return Placement::Stopped;
            }
            if peak >= limit {
                return Placement::Higher;
            }
            let index = index as usize;
            let item = self.items[index];
            if item.fixed.is_some() || item.size == 0 {
                continue;
            }
            let offset = self.room_by_list(index, order.fit);
            offsets[index] = offset;
            peak = peak.max(offset + item.size);
            self.left[index / 64] &= !(1 << (index % 64));
            self.list(index, offset);
        }
        if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
    }

    /// Places items by reading the rows of the conflict matrix. See [`Placer::place_while`].
    fn place_by_rows(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement {
        let (mut offsets, mut peak) = (vec![0; self.items.len()], 0);
        self.placed.fill(0);
        for (index, item) in self.items.iter().enumerate() {
            if let Some(offset) = item.fixed {
                offsets[index] = offset;
                peak = peak.max(offset + item.size);
                self.note(index);
            }
        }
        for &index in &order.items {
            if peak >= limit {
                return Placement::Higher;
            }
            let index = index as usize;
            let item = self.items[index];
            if item.fixed.is_some() || item.size == 0 {
                continue;
            }
            self.occupied.clear();
            self.occupied_by_row(index, &offsets);
            if !watch.count(self.met.len() + 4 * self.occupied.len() + PASSES_BESIDE) {
                return Placement::Stopped;
            }
            let offset = fit(&self.occupied, item.size, item.alignment, order.fit);
            offsets[index] = offset;
            peak = peak.max(offset + item.size);
            self.note(index);
        }
        if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
    }
}

impl Placer for ConflictPlacer<'_> {
    fn place_while(&mut self, order: &Order, limit: u64, watch: &Watch<'_>) -> Placement {
        if order.is_by_start || self.is_dense {
            self.place_by_list(order, limit, watch)
        } else {
            self.place_by_rows(order, limit, watch)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ConflictPlacer, Placement};
    use crate::bits::BitMatrix;
    use crate::greedy::Order;
    use crate::heuristic::GreedyFit;
    use crate::item::Item;
    use crate::random::Random;
    use crate::work::Watch;

    #[test]
    fn the_list_finds_what_the_rows_say() {
        let watch = Watch::new(&|| true);
        for seed in 0..1_000 {
            let mut random = Random::new(seed, 0, 0);
            let count = 1 + random.below(90);
            let mut conflicts = BitMatrix::new(count, count);
            let share = 1 + random.below(6);
            for one in 0..count {
                for other in 0..one {
                    if random.below(6) < share {
                        conflicts.set(one, other);
                        conflicts.set(other, one);
                    }
                }
            }
            let items: Vec<Item> = (0..count)
                .map(|_| Item {
                    size: random.next() % 9,
                    alignment: 1 << random.below(3),
                    fixed: (random.below(9) == 0).then(|| 4 * (random.next() % 9)),
                })
                .collect();
            let mut order: Vec<u32> = (0..).take(count).collect();
            order.sort_by_cached_key(|_| random.next());
            for fit in [GreedyFit::First, GreedyFit::Best] {
                let items_in_order = order.clone();
                let order =
                    Order { items: items_in_order, fit, is_by_start: false, is_rough: false };
                let mut placer = ConflictPlacer::new(&items, &conflicts, 0);
                let Placement::Done { offsets: by_list, peak } =
                    placer.place_by_list(&order, u64::MAX, &watch)
                else {
                    panic!("seed {seed} is not placed");
                };
                let rows = placer.place_by_rows(&order, u64::MAX, &watch);
                let Placement::Done { offsets, peak: by_rows } = rows else {
                    panic!("seed {seed} is not placed: {rows:?}");
                };
                assert_eq!((by_list, peak), (offsets, by_rows), "seed {seed}, {fit:?}");
            }
        }
    }
}

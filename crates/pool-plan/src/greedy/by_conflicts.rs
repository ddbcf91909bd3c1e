//! Places items whose conflicts are given as a matrix.

use super::orders::Order;
use super::place::{ITEMS_UNWATCHED, Place, Placement};
use super::ranges::fit;
use crate::bits::{BitMatrix, ones};
use crate::item::Item;

/// Makes greedy plans of items with conflicts, and keeps its memory between them.
#[derive(Debug)]
pub(crate) struct ConflictPlacer<'a> {
    items: &'a [Item],
    conflicts: &'a BitMatrix,
    placed: Vec<u64>,
    met: Vec<u64>,
    occupied: Vec<(u64, u64)>,
}

impl<'a> ConflictPlacer<'a> {
    /// A placer for `items`, of which those set in row i of `conflicts` may not share with item i.
    pub(crate) fn new(items: &'a [Item], conflicts: &'a BitMatrix) -> Self {
        let words = items.len().div_ceil(64);
        let (placed, met) = (vec![0; words], vec![0; words]);
        Self { items, conflicts, placed, met, occupied: Vec::new() }
    }

    /// Notes that an item is placed; one without bytes is in nobody's way.
    fn note(&mut self, index: usize) {
        if self.items[index].size > 0 {
            self.placed[index / 64] |= 1 << (index % 64);
        }
    }
}

impl Place for ConflictPlacer<'_> {
    fn place_while(
        &mut self,
        order: &Order,
        limit: u64,
        is_needed: impl Fn() -> bool,
    ) -> Placement {
        let (mut offsets, mut peak) = (vec![0; self.items.len()], 0);
        self.placed.fill(0);
        for (index, item) in self.items.iter().enumerate() {
            if let Some(offset) = item.fixed {
                offsets[index] = offset;
                peak = peak.max(offset + item.size);
                self.note(index);
            }
        }
        for (number, &index) in order.items.iter().enumerate() {
            if number % ITEMS_UNWATCHED == 0 && !is_needed() {
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
            let row = self.conflicts.row(index).iter().zip(&self.placed);
            self.met.clear();
            self.met.extend(row.map(|(conflicts, placed)| conflicts & placed));
            self.occupied.clear();
            let range = |one: usize| (offsets[one], offsets[one] + self.items[one].size);
            self.occupied.extend(ones(&self.met).map(range));
            self.occupied.sort_unstable();
            let offset = fit(&self.occupied, item.size, item.alignment, order.fit);
            offsets[index] = offset;
            peak = peak.max(offset + item.size);
            self.note(index);
        }
        if peak >= limit { Placement::Higher } else { Placement::Done { offsets, peak } }
    }
}

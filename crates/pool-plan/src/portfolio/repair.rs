//! Local search by repair. If a plan's peak is too high, the search removes the items that extend
//! beyond a capacity. The removed items are reinserted one by one. Each removed item is placed at
//! the offset at which it displaces other items at the lowest cost, until all items fit.
//!
//! The cost of placing an item depends on the number of its conflicts, not on the total number of
//! items. Repair is therefore suitable for large problems. Each time an item is displaced,
//! displacing it again becomes more expensive, so that the search escapes from cycles. The idea of
//! dynamic weights comes from Morris's breakout method (1993).

use std::collections::BinaryHeap;

use crate::adjacency::index;
use crate::item::Item;
use crate::plan::as_float;
use crate::random::Random;
use crate::search::Neighbours;

/// The cost of displacing an item of mean size and mean lifetime.
const MEAN_COST: f64 = 65_536.0;
/// The maximum cost of displacing an item. The limit prevents overflow when costs are added.
const MOST_COST: u64 = 1 << 40;
/// The cost of displacing an item whose offset is fixed. The cost of displacing a fixed item
/// exceeds the total cost of displacing all other items.
const FIXED: u128 = 1 << 100;
/// The fixed amount of work for placing an item. The work for checking conflicts is added to this
/// amount.
const WORK_BESIDE: u64 = 16;

/// The measure that determines the cost of displacing an item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dearness {
    /// The product of the item's size and lifetime.
    Area,
    /// The square root of the product of the item's size and lifetime. The square root gives small
    /// items more weight than `Area` does.
    Side,
}

/// The items, the time during which each of them blocks others, and the conflicts between items.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflicted<'a> {
    pub(super) items: &'a [Item],
    pub(super) durations: &'a [u64],
    pub(super) neighbours: Neighbours<'a>,
}

/// A plan from which some items have been removed, along with the items to put back.
#[derive(Debug)]
pub(super) struct Repair<'a> {
    problem: Conflicted<'a>,
    capacity: u64,
    offsets: Vec<u64>,
    is_placed: Vec<bool>,
    /// The items that must be put back, stored in a heap with the largest item on top.
    open: BinaryHeap<(u64, u32)>,
    base_costs: Vec<u64>,
    costs: Vec<u64>,
    /// The items that conflict with the item being placed.
    rivals: Vec<u32>,
    /// The bottoms of the placed items that conflict with the item being placed, in ascending
    /// order, along with the costs of displacing these items.
    bottoms: Vec<(u64, u64)>,
    /// The tops of the placed items that conflict with the item being placed, in ascending order,
    /// along with the costs of displacing these items.
    tops: Vec<(u64, u64)>,
    random: Random,
    work: u64,
}

impl<'a> Repair<'a> {
    /// Creates a repair that starts from a plan with the given offsets.
    pub(super) fn new(
        problem: Conflicted<'a>,
        dearness: Dearness,
        offsets: Vec<u64>,
        random: Random,
    ) -> Self {
        let costs = costs(problem, dearness);
        Self {
            problem,
            capacity: u64::MAX,
            offsets,
            is_placed: vec![true; problem.items.len()],
            open: BinaryHeap::new(),
            base_costs: costs.clone(),
            costs,
            rivals: Vec::new(),
            bottoms: Vec::new(),
            tops: Vec::new(),
            random,
            work: 0,
        }
    }

    /// Uses another source of the same conflicts from now on.
    pub(super) fn use_neighbours(&mut self, neighbours: Neighbours<'a>) {
        self.problem.neighbours = neighbours;
    }

    /// Returns the offsets, which form a valid plan once all items have been put back.
    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns the capacity that the repair aims for.
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the number of conflicts checked so far. The running time is proportional to the
    /// number of checked conflicts.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    /// Removes all items that extend beyond a capacity. The capacity must be at least the size of
    /// the largest item.
    pub(super) fn aim(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.work += self.offsets.len() as u64;
        for item in 0..self.offsets.len() {
            let Item { size, fixed, .. } = self.problem.items[item];
            if fixed.is_none() && self.is_placed[item] && self.offsets[item] + size > capacity {
                self.take_out(item);
            }
        }
    }

    /// Puts removed items back until none is left or the total work reaches `work`. Returns `true`
    /// if every removed item has been put back.
    pub(super) fn run(&mut self, work: u64) -> bool {
        while self.work < work {
            let Some((_, item)) = self.open.pop() else { return true };
            self.put_back(item as usize);
        }
        self.open.is_empty()
    }

    fn take_out(&mut self, item: usize) {
        self.is_placed[item] = false;
        self.open.push((self.problem.items[item].size, index(item)));
    }

    fn put_back(&mut self, item: usize) {
        let items = self.problem.items;
        let one = items[item];
        let mut rivals = std::mem::take(&mut self.rivals);
        self.problem.neighbours.collect(item, &mut rivals);
        self.work += rivals.len() as u64 + WORK_BESIDE;
        rivals.retain(|&rival| self.is_placed[rival as usize]);
        self.find_edges(&rivals);
        if let Some(offset) = self.cheapest(one) {
            self.offsets[item] = offset;
            self.is_placed[item] = true;
            for rival in rivals.iter().map(|&rival| rival as usize) {
                let (bottom, top) = (self.offsets[rival], self.offsets[rival] + items[rival].size);
                if self.is_placed[rival] && bottom < offset + one.size && offset < top {
                    self.push_out(rival);
                }
            }
        } else {
            self.take_out(item);
        }
        self.rivals = rivals;
    }

    fn push_out(&mut self, item: usize) {
        let dearer = as_float(self.base_costs[item]) * 2.0 * self.random.fraction();
        self.costs[item] = (self.costs[item] + rounded(dearer)).min(MOST_COST);
        self.take_out(item);
    }

    /// Collects the bottoms and tops of all placed items that conflict with the item being placed.
    // Uncounted: the loop needs no counter because `put_back` counts the conflicting items.
    fn find_edges(&mut self, rivals: &[u32]) {
        self.bottoms.clear();
        self.tops.clear();
        for rival in rivals.iter().map(|&rival| rival as usize) {
            let (bottom, cost) = (self.offsets[rival], self.costs[rival]);
            self.bottoms.push((bottom, cost));
            self.tops.push((bottom + self.problem.items[rival].size, cost));
        }
        self.bottoms.sort_unstable();
        self.tops.sort_unstable();
    }

    /// Returns the offset at which the item displaces other items at the lowest cost. If several
    /// offsets are equally good, the function selects the lowest one. Returns `None` if the item
    /// would displace an item whose offset is fixed. The candidates are offset 0, the tops of other
    /// items, and the highest possible offsets below obstacles. At the highest possible offset
    /// below an obstacle, the item ends exactly at the bottom of another item or at the capacity.
    // Uncounted: the loop needs no counter because `put_back` counts the conflicting items.
    fn cheapest(&self, item: Item) -> Option<u64> {
        let highest = self.capacity.checked_sub(item.size)?;
        let above = self.tops.iter().map(|top| top.0.next_multiple_of(item.alignment));
        let above = std::iter::once(0).chain(above).take_while(|&offset| offset <= highest);
        let below = self.bottoms.iter().map(|bottom| bottom.0).chain([self.capacity]);
        let below = below.filter_map(|end| end.checked_sub(item.size));
        let below = below.map(|offset| offset - offset % item.alignment);
        let best = [self.cheapest_of(above, item.size), self.cheapest_of(below, item.size)];
        let (_, offset) = best.into_iter().flatten().filter(|&(cost, _)| cost < FIXED).min()?;
        Some(offset)
    }

    /// Returns the cheapest of the given offsets, together with its cost. The offsets must be
    /// sorted in ascending order.
    // Uncounted: the loop needs no counter because `put_back` counts the conflicting items.
    fn cheapest_of(&self, offsets: impl Iterator<Item = u64>, size: u64) -> Option<(u128, u64)> {
        let (mut tops, mut bottoms) = (self.tops.iter().peekable(), self.bottoms.iter().peekable());
        let (mut ended, mut begun) = (0_u128, 0_u128);
        let mut best = None;
        for offset in offsets {
            while let Some(bottom) = bottoms.next_if(|bottom| bottom.0 < offset + size) {
                begun += cost(bottom.1);
            }
            while let Some(top) = tops.next_if(|top| top.0 <= offset) {
                ended += cost(top.1);
            }
            let cost = begun - ended;
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, offset));
            }
        }
        best
    }
}

/// Returns the initial cost of displacing each item.
// Uncounted: the loop needs no counter because the function makes only one pass over the items.
fn costs(problem: Conflicted<'_>, dearness: Dearness) -> Vec<u64> {
    let measure = |index: usize| {
        let area = as_float(problem.items[index].size) * as_float(problem.durations[index]);
        match dearness {
            Dearness::Area => area,
            Dearness::Side => area.sqrt(),
        }
    };
    let count = problem.items.len();
    let mean = (0..count).map(measure).sum::<f64>() / as_float(count as u64);
    let scale = MEAN_COST / mean.max(f64::MIN_POSITIVE);
    let free = |index| rounded(measure(index) * scale).clamp(1, MOST_COST);
    let cost = |index: usize| problem.items[index].fixed.map_or_else(|| free(index), |_| u64::MAX);
    (0..count).map(cost).collect()
}

/// Converts a stored cost to the number type that is used for sums.
fn cost(stored: u64) -> u128 {
    if stored == u64::MAX { FIXED } else { stored.into() }
}

/// Converts a cost to an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are positive, and what exceeds u64 saturates"
)]
fn rounded(cost: f64) -> u64 {
    cost as u64
}

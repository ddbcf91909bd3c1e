//! Local search by repair. A plan that is too high loses the items that do not fit below a
//! capacity. They are put back one by one at the place where they push out the least, until none is
//! left.
//!
//! The cost of one placement depends on the item's own conflicts and not on the number of items, so
//! this search suits large problems. An item that was pushed out becomes more expensive to push out
//! again, so that the search leaves cycles (dynamic weights, as in Morris's breakout method, 1993).

use std::collections::BinaryHeap;

use crate::adjacency::index;
use crate::item::Item;
use crate::plan::as_float;
use crate::random::Random;
use crate::search::Neighbours;

/// The cost of an item of mean size and mean lifetime.
const MEAN_COST: f64 = 65_536.0;
/// The maximum cost of an item, so that sums of costs fit.
const MOST_COST: u64 = 1 << 40;
/// The cost of pushing out an item that must stay: more than all others together.
const FIXED: u128 = 1 << 100;
/// The work of a placement besides checking conflicts.
const WORK_BESIDE: u64 = 16;

/// The measure of the cost of pushing out an item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dearness {
    /// The product of its size and its lifetime.
    Area,
    /// The square root of that product, so that small items count for more.
    Side,
}

/// Items, the time for which each blocks others, and its conflicts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflicted<'a> {
    pub(super) items: &'a [Item],
    pub(super) durations: &'a [u64],
    pub(super) neighbours: Neighbours<'a>,
}

/// A plan without the items that must be put back.
#[derive(Debug)]
pub(super) struct Repair<'a> {
    problem: Conflicted<'a>,
    capacity: u64,
    offsets: Vec<u64>,
    is_placed: Vec<bool>,
    /// The items that must be put back: the largest comes first.
    open: BinaryHeap<(u64, u32)>,
    base_costs: Vec<u64>,
    costs: Vec<u64>,
    /// The items that conflict with the current item.
    rivals: Vec<u32>,
    /// Bottoms of placed items that conflict with the current item, with their costs, in ascending
    /// order.
    bottoms: Vec<(u64, u64)>,
    /// Tops of the same items.
    tops: Vec<(u64, u64)>,
    random: Random,
    work: u64,
}

impl<'a> Repair<'a> {
    /// Makes the repair of the plan with these offsets.
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

    /// Returns the offsets, which are a plan once all items are put back.
    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns the number of conflicts checked, which determines the time.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    /// Removes the items that do not fit below a capacity, which is no less than the size of each.
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

    /// Puts items back until all are, or until the total of `work` was done. Returns `true` if all
    /// are.
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

    /// Finds the starts and ends of placed items that conflict with the current item.
    // Uncounted: `put_back` counts the rivals.
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

    /// Returns the offset at which an item pushes out the least: the lowest of several, and `None`
    /// if it would push out an item that must stay. It is on top of another item, under one, at the
    /// bottom or at the capacity.
    // Uncounted: `put_back` counts the rivals.
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

    /// Returns the cheapest of some offsets, which are in ascending order, with its cost.
    // Uncounted: `put_back` counts the rivals.
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

/// Returns the cost of pushing out each item for the first time.
// Uncounted: one pass over the items.
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

/// Returns a cost as it counts in a sum.
fn cost(stored: u64) -> u128 {
    if stored == u64::MAX { FIXED } else { stored.into() }
}

/// Returns a cost as a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are positive, and what exceeds u64 saturates"
)]
fn rounded(cost: f64) -> u64 {
    cost as u64
}

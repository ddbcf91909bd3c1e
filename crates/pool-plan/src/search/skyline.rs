//! The partial plan built by a niche search. The plan contains the offsets of the placed items and
//! the lowest possible offset of each unplaced item.
//!
//! An item is placed only if no unplaced item that conflicts with it can end below it. All unplaced
//! items that conflict with a placed item therefore lie above the placed item. A section's floor is
//! the lowest offset of its unplaced items. Stacking the unplaced items in order of their lowest
//! offsets gives the lowest possible top of the section (one machine with release dates, Jackson
//! 1955). If the lowest possible top exceeds the capacity, the section has failed, and its weight
//! increases.

use super::instance::Instance;
use super::unplaced_items::UnplacedItems;
use crate::adjacency::{index, indices};
use crate::plan::as_float;
use crate::work::Work;

/// The factor by which the weight of a failure grows from one dead end to the next, so that older
/// failures count less.
const GROWTH: f64 = 1.0005;
/// The maximum weight of a single failure. If a single failure would weigh more than the maximum,
/// all weights are scaled down.
const MOST_WEIGHT: f64 = 1e100;

/// A change to the partial plan, together with the previous value.
#[derive(Clone, Copy, Debug)]
enum Change {
    Lowest(u32, u64),
    Section(u32, Section),
    Placed(u32),
}

/// The state of the unplaced items in a section. If a section contains no unplaced items, its floor
/// and its top are both `u64::MAX`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Section {
    /// The lowest offset of any unplaced item.
    floor: u64,
    /// The lowest end of any unplaced item.
    top: u64,
}

/// A partial plan.
#[derive(Debug)]
pub(super) struct Skyline<'a> {
    pub(super) instance: &'a Instance,
    pub(super) capacity: u64,
    /// The lowest possible offset of each unplaced item, and the actual offset of each placed item.
    pub(super) lowest: Vec<u64>,
    unplaced: UnplacedItems<'a>,
    sections: Vec<Section>,
    /// Each section's accumulated failure weight.
    weights: Vec<f64>,
    /// The weight that the next failure adds.
    increment: f64,
    changes: Vec<Change>,
    /// The sections whose unplaced items have changed since the last check.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    /// The section that failed most recently and is therefore checked first.
    suspect: usize,
    /// The unplaced items of one section, stored as (lowest offset, size) pairs.
    jobs: Vec<(u64, u64)>,
    /// For each item, `true` if the item is a candidate of the current section. The list is used
    /// only in `leave`, which resets all of its entries to `false` afterward.
    is_candidate: Vec<bool>,
    work: Work,
}

impl<'a> Skyline<'a> {
    /// Creates an empty plan. The instance's sections must be ordered.
    pub(super) fn new(instance: &'a Instance, capacity: u64) -> Self {
        let sections = instance.section_count;
        Self {
            instance,
            capacity,
            lowest: instance.items.iter().map(|item| item.fixed.unwrap_or(0)).collect(),
            unplaced: UnplacedItems::new(instance),
            sections: vec![Section { floor: 0, top: 0 }; sections],
            weights: vec![1.0; sections],
            increment: 1.0,
            changes: Vec::new(),
            dirty: indices(sections).collect(),
            is_dirty: vec![true; sections],
            suspect: 0,
            jobs: Vec::new(),
            is_candidate: vec![false; instance.items.len()],
            work: Work::default(),
        }
    }

    /// Returns the counter of the items and sections read so far.
    pub(super) fn work(&self) -> &Work {
        &self.work
    }

    /// Returns the number of changes that can be undone.
    pub(super) fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Returns the lowest offset of any unplaced item in a section, or `None` if the section
    /// contains no unplaced items.
    pub(super) fn floor(&self, section: u32) -> Option<u64> {
        let section = section as usize;
        (self.unplaced.open()[section] > 0).then(|| self.sections[section].floor)
    }

    /// Returns the lowest end of any unplaced item in a section.
    pub(super) fn top(&self, section: u32) -> u64 {
        self.sections[section as usize].top
    }

    /// Returns the number of bytes in a section that will remain unused after all of its items have
    /// been placed.
    pub(super) fn slack(&self, section: u32) -> u64 {
        let section = section as usize;
        self.capacity - self.unplaced.open()[section] - self.sections[section].floor
    }

    /// Returns the accumulated weight of a section's failures.
    pub(super) fn weight(&self, section: u32) -> f64 {
        self.weights[section as usize]
    }

    /// Returns `true` if no unplaced item extends from section `boundary - 1` into section
    /// `boundary`.
    pub(super) fn is_cut(&self, boundary: u32) -> bool {
        !self.unplaced.is_crossed(boundary as usize)
    }

    /// Returns the unplaced items that can begin at a section's floor.
    pub(super) fn candidates(&self, section: u32) -> impl Iterator<Item = u32> + '_ {
        let floor = self.sections[section as usize].floor;
        let items = self.work.over(self.instance.sections.row(section as usize)).iter().copied();
        items.filter(move |&item| {
            !self.unplaced.is_placed(item) && self.lowest[item as usize] == floor
        })
    }

    /// Returns `true` if all items that conflict with the given item have been placed. If the
    /// result is `true`, placing the item at its lowest offset blocks no other item.
    pub(super) fn is_uncovered(&self, item: u32) -> bool {
        self.work.count(self.instance.conflicts.row(item as usize).len());
        self.unplaced.is_uncovered(item)
    }

    /// Places an item at its lowest offset, below all unplaced items that conflict with it. Returns
    /// `true` if the remaining unplaced items may still fit. Even if the result is `false`,
    /// [`undo`](Self::undo) can revert the placement.
    pub(super) fn place(&mut self, item: u32) -> bool {
        let instance = self.instance;
        let size = instance.items[item as usize].size;
        let top = self.lowest[item as usize] + size;
        self.work.count(self.unplaced.place(item));
        self.changes.push(Change::Placed(item));
        self.soil(item);
        let others = self.work.over(instance.conflicts.row(item as usize));
        let is_possible = others.iter().all(|&other| {
            self.unplaced.is_placed(other)
                || self.lowest[other as usize] >= top
                || self.raise(other, top)
        });
        self.check(is_possible)
    }

    /// Leaves a section's floor empty. If no candidate begins at the floor, each candidate rests on
    /// another unplaced item. Returns `true` if the unplaced items may still fit.
    pub(super) fn leave(&mut self, section: u32, candidates: &[u32]) -> bool {
        let instance = self.instance;
        let floor = self.sections[section as usize].floor;
        candidates.iter().for_each(|&item| self.is_candidate[item as usize] = true);
        // If a candidate supports another candidate, it must also lie above the floor.
        let lowest_end = |&other: &u32| {
            let is_candidate = self.is_candidate[other as usize];
            self.lowest[other as usize]
                + u64::from(is_candidate)
                + instance.items[other as usize].size
        };
        let raised = candidates.iter().map(|&item| {
            let others = self.work.over(instance.conflicts.row(item as usize)).iter();
            let ends = others.filter(|&&other| !self.unplaced.is_placed(other)).map(lowest_end);
            // If no unplaced item could lie below a candidate, the candidate would have to begin at
            // the floor.
            ends.min().map(|end| end.max(floor + 1))
        });
        let raised: Option<Vec<u64>> = raised.collect();
        candidates.iter().for_each(|&item| self.is_candidate[item as usize] = false);
        let is_possible = raised.is_some_and(|raised| {
            candidates.iter().zip(raised).all(|(&item, offset)| self.raise(item, offset))
        });
        if !is_possible {
            self.blame(section);
        }
        self.check(is_possible)
    }

    /// Undoes all but the first `kept` changes.
    // Uncounted: the loop needs no counter because undoing a change takes as long as making it,
    // which has already been counted.
    pub(super) fn undo(&mut self, kept: usize) {
        for change in self.changes.drain(kept..).rev() {
            match change {
                Change::Lowest(item, lowest) => self.lowest[item as usize] = lowest,
                Change::Section(section, before) => self.sections[section as usize] = before,
                Change::Placed(item) => self.unplaced.take_back(item),
            }
        }
    }

    /// Checks all sections that have changed since the last check. Returns `true` if `is_possible`
    /// is `true` and the unplaced items in the changed sections may still fit.
    // Uncounted: the loop needs no counter because the function reads only sections that were
    // counted when they changed.
    pub(super) fn check(&mut self, mut is_possible: bool) -> bool {
        if is_possible && self.is_dirty.get(self.suspect) == Some(&true) {
            self.is_dirty[self.suspect] = false;
            is_possible = self.look_at(self.suspect);
        }
        while let Some(section) = self.dirty.pop() {
            let is_dirty = std::mem::replace(&mut self.is_dirty[section as usize], false);
            if is_dirty && is_possible {
                is_possible = self.look_at(section as usize);
            }
        }
        is_possible
    }

    /// Makes future failures weigh more than past ones.
    // Uncounted: the loop needs no counter because the function passes over the sections only once
    // every 460,000 dead ends.
    pub(super) fn age(&mut self) {
        self.increment *= GROWTH;
        if self.increment > MOST_WEIGHT {
            self.weights.iter_mut().for_each(|weight| *weight /= MOST_WEIGHT);
            self.increment /= MOST_WEIGHT;
        }
    }

    /// Resets all failure weights.
    // Uncounted: the loop needs no counter because the function passes over the sections only once
    // every 64 restarts.
    pub(super) fn forget(&mut self) {
        self.weights.fill(1.0);
        self.increment = 1.0;
    }

    /// Raises the lowest offset of an unplaced item to at least `offset`. Returns `true` if the
    /// item may still fit.
    fn raise(&mut self, item: u32, offset: u64) -> bool {
        let one = self.instance.items[item as usize];
        let offset = offset.next_multiple_of(one.alignment);
        if one.fixed.is_some() || offset + one.size > self.capacity {
            let sections = self.work.over(self.instance.sections_of.row(item as usize));
            let share = self.increment / as_float(sections.len() as u64);
            for &section in sections {
                self.weights[section as usize] += share;
            }
            return false;
        }
        self.changes.push(Change::Lowest(item, self.lowest[item as usize]));
        self.lowest[item as usize] = offset;
        self.soil(item);
        true
    }

    fn soil(&mut self, item: u32) {
        let sections = self.work.over(self.instance.sections_of.row(item as usize));
        for &section in sections {
            if !std::mem::replace(&mut self.is_dirty[section as usize], true) {
                self.dirty.push(section);
            }
        }
    }

    fn blame(&mut self, section: u32) {
        self.weights[section as usize] += self.increment;
        self.suspect = section as usize;
    }

    /// Recomputes a section's floor and lowest end. Returns `true` if the section's unplaced items
    /// may still fit.
    fn look_at(&mut self, section: usize) -> bool {
        let instance = self.instance;
        let items = self.work.over(instance.sections.row(section));
        // Only items whose lowest offset is above `room` can make the stack of unplaced items too
        // tall.
        let Some(room) = self.capacity.checked_sub(self.unplaced.open()[section]) else {
            return false;
        };
        let mut now = Section { floor: u64::MAX, top: u64::MAX };
        let (mut released, mut late, mut latest) = (0, 0, 0);
        self.jobs.clear();
        for &item in items {
            if self.unplaced.is_placed(item) {
                continue;
            }
            let (lowest, size) = (self.lowest[item as usize], instance.items[item as usize].size);
            now = Section { floor: now.floor.min(lowest), top: now.top.min(lowest + size) };
            if lowest > room {
                self.jobs.push((lowest, size));
                (late, latest) = (late + size, latest.max(lowest));
            } else {
                released += size;
            }
        }
        if now != self.sections[section] {
            self.changes.push(Change::Section(index(section), self.sections[section]));
            self.sections[section] = now;
        }
        let mut is_possible = now.floor == u64::MAX || now.floor <= room;
        if is_possible && latest + late > self.capacity {
            self.jobs.sort_unstable_by_key(|job| job.0);
            for &(lowest, size) in &self.jobs {
                // There must be room between `lowest` and the capacity for all items whose lowest
                // offset is at least `lowest`.
                is_possible &= lowest.saturating_sub(released) <= room;
                released += size;
            }
        }
        if !is_possible {
            self.blame(index(section));
        }
        is_possible
    }
}

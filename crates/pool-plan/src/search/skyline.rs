//! A partial plan for the search by niches: the placed items, and the lowest possible offset of
//! each open item.
//!
//! An item is placed only if no open item that conflicts with it can end up below it. All of these
//! items are therefore above it. The floor of a section is the lowest offset of its open items.
//! Stacking the open items in order of their lowest offsets gives the lowest possible top (one
//! machine with release dates, Jackson 1955). If this top is above the capacity, the section has
//! failed, and its weight grows.

use super::book::Book;
use super::instance::Instance;
use crate::adjacency::{index, indices};
use crate::plan::as_float;
use crate::work::Work;

/// The factor by which the weight of a failure grows from one dead end to the next. Old failures
/// therefore count less.
const GROWTH: f64 = 1.0005;
/// All weights are scaled down once a failure adds more than this.
const MOST_WEIGHT: f64 = 1e100;

/// A change, with the previous value.
#[derive(Clone, Copy, Debug)]
enum Change {
    Lowest(u32, u64),
    Section(u32, Section),
    Placed(u32),
}

/// The state of a section's open items. In a section without open items, both numbers are
/// `u64::MAX`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Section {
    /// The lowest offset of the open items.
    floor: u64,
    /// The lowest end of the open items.
    top: u64,
}

/// A partial plan.
#[derive(Debug)]
pub(super) struct Skyline<'a> {
    pub(super) instance: &'a Instance,
    pub(super) capacity: u64,
    /// For each open item, its lowest possible offset. For each placed item, its offset.
    pub(super) lowest: Vec<u64>,
    book: Book<'a>,
    sections: Vec<Section>,
    /// For each section, the weight of its failures.
    weights: Vec<f64>,
    /// The weight that the next failure adds.
    increment: f64,
    changes: Vec<Change>,
    /// The sections whose open items have changed.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    /// The section that failed last. It is checked first.
    suspect: usize,
    /// The open items of one section, as (lowest offset, size) pairs.
    jobs: Vec<(u64, u64)>,
    /// Marks the candidates of a section that is left empty. No item is marked between two calls.
    is_candidate: Vec<bool>,
    work: Work,
}

impl<'a> Skyline<'a> {
    /// Creates the empty plan of an instance whose sections are ordered.
    pub(super) fn new(instance: &'a Instance, capacity: u64) -> Self {
        let sections = instance.section_count;
        Self {
            instance,
            capacity,
            lowest: instance.items.iter().map(|item| item.fixed.unwrap_or(0)).collect(),
            book: Book::new(instance),
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

    /// Returns the counter of items and sections read.
    pub(super) fn work(&self) -> &Work {
        &self.work
    }

    /// Returns the number of changes that can be undone.
    pub(super) fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Returns the lowest offset of a section's open items, if there are any.
    pub(super) fn floor(&self, section: u32) -> Option<u64> {
        let section = section as usize;
        (self.book.open()[section] > 0).then(|| self.sections[section].floor)
    }

    /// Returns the lowest end of a section's open items.
    pub(super) fn top(&self, section: u32) -> u64 {
        self.sections[section as usize].top
    }

    /// Returns the number of bytes that remain unused in a section after all of its open items are
    /// placed.
    pub(super) fn slack(&self, section: u32) -> u64 {
        let section = section as usize;
        self.capacity - self.book.open()[section] - self.sections[section].floor
    }

    /// Returns the weight of a section's failures.
    pub(super) fn weight(&self, section: u32) -> f64 {
        self.weights[section as usize]
    }

    /// Returns `true` if no open item crosses from section `boundary - 1` into section `boundary`.
    pub(super) fn is_cut(&self, boundary: u32) -> bool {
        !self.book.is_crossed(boundary as usize)
    }

    /// Returns the open items of a section whose lowest offset is the section's floor.
    pub(super) fn candidates(&self, section: u32) -> impl Iterator<Item = u32> + '_ {
        let floor = self.sections[section as usize].floor;
        let items = self.work.over(self.instance.sections.row(section as usize)).iter().copied();
        items.filter(move |&item| !self.book.is_placed(item) && self.lowest[item as usize] == floor)
    }

    /// Returns `true` if all items that conflict with an item are placed. The item then blocks no
    /// other item at its lowest offset.
    pub(super) fn is_uncovered(&self, item: u32) -> bool {
        self.work.count(self.instance.conflicts.row(item as usize).len());
        self.book.is_uncovered(item)
    }

    /// Places an item at its lowest offset, below all open items that conflict with it. Returns
    /// `true` if the open items may still fit. In any case, [`undo`](Self::undo) reverts the
    /// placement.
    pub(super) fn place(&mut self, item: u32) -> bool {
        let instance = self.instance;
        let size = instance.items[item as usize].size;
        let top = self.lowest[item as usize] + size;
        self.work.count(self.book.place(item));
        self.changes.push(Change::Placed(item));
        self.soil(item);
        let others = self.work.over(instance.conflicts.row(item as usize));
        let is_possible = others.iter().all(|&other| {
            self.book.is_placed(other)
                || self.lowest[other as usize] >= top
                || self.raise(other, top)
        });
        self.check(is_possible)
    }

    /// Leaves the floor of a section empty: none of the candidates begins there, so each of them
    /// rests on another open item. Returns `true` if the open items may still fit.
    pub(super) fn leave(&mut self, section: u32, candidates: &[u32]) -> bool {
        let instance = self.instance;
        let floor = self.sections[section as usize].floor;
        candidates.iter().for_each(|&item| self.is_candidate[item as usize] = true);
        // A candidate on which another candidate rests is also above the floor.
        let lowest_end = |&other: &u32| {
            let is_candidate = self.is_candidate[other as usize];
            self.lowest[other as usize]
                + u64::from(is_candidate)
                + instance.items[other as usize].size
        };
        let raised = candidates.iter().map(|&item| {
            let others = self.work.over(instance.conflicts.row(item as usize)).iter();
            let ends = others.filter(|&&other| !self.book.is_placed(other)).map(lowest_end);
            // If there were no item below, this item would have been at the floor.
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

    /// Undoes all changes except the first `kept`.
    // Uncounted: takes as long as the changes, which were counted.
    pub(super) fn undo(&mut self, kept: usize) {
        for change in self.changes.drain(kept..).rev() {
            match change {
                Change::Lowest(item, lowest) => self.lowest[item as usize] = lowest,
                Change::Section(section, before) => self.sections[section as usize] = before,
                Change::Placed(item) => self.book.take_back(item),
            }
        }
    }

    /// Checks all sections that have changed. Returns `true` if `is_possible` is `true` and the
    /// open items of these sections may fit.
    // Uncounted: reads the sections, which were counted when they became dirty.
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

    /// Increases the weight of later failures relative to earlier ones.
    // Uncounted: makes one pass over the sections per 460,000 dead ends.
    pub(super) fn age(&mut self) {
        self.increment *= GROWTH;
        if self.increment > MOST_WEIGHT {
            self.weights.iter_mut().for_each(|weight| *weight /= MOST_WEIGHT);
            self.increment /= MOST_WEIGHT;
        }
    }

    /// Resets the weights of failures.
    // Uncounted: makes one pass over the sections per 64 restarts.
    pub(super) fn forget(&mut self) {
        self.weights.fill(1.0);
        self.increment = 1.0;
    }

    /// Raises an open item to `offset` or above. Returns `true` if it may still fit.
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

    /// Recomputes a section's floor and lowest end. Returns `true` if its open items may fit.
    fn look_at(&mut self, section: usize) -> bool {
        let instance = self.instance;
        let items = self.work.over(instance.sections.row(section));
        // Only an item that begins above this offset can make the section too high.
        let Some(room) = self.capacity.checked_sub(self.book.open()[section]) else { return false };
        let mut now = Section { floor: u64::MAX, top: u64::MAX };
        let (mut released, mut late, mut latest) = (0, 0, 0);
        self.jobs.clear();
        for &item in items {
            if self.book.is_placed(item) {
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
                // All items that are released at or after this offset must fit above it.
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

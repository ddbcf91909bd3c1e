//! A partial plan, along with the lower bounds that it implies. The most recent placement can be
//! undone.
//!
//! Items are placed in order of their offsets. Each item is placed at its lowest offset, which is 0
//! or the top of a conflicting item below it. A plan is called canonical if each item is at its
//! lowest offset. Pushing the items down turns any plan into a canonical plan (`MiniMalloc`, ASPLOS
//! 2023), so it suffices to try canonical plans.
//!
//! A partial plan implies a lower bound for each section. A section's unplaced items lie above its
//! floor, so their total size must not exceed the distance from the floor to the capacity. If one
//! of the section's items has been raised, a stronger check is possible, because no unplaced item
//! can begin below its lowest offset. Stacking the unplaced items in order of their lowest offsets
//! gives the lowest possible top (one machine with release dates, Jackson 1955). Only items that
//! begin above the section's spare room can make the stack too tall, so only these items are
//! sorted.

use super::instance::Instance;
use super::unplaced_items::UnplacedItems;
use crate::adjacency::index;
use crate::work::Work;

/// The length of each list of changes before a placement. To undo a placement, the search truncates
/// the lists of changes to their recorded lengths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    lowest: usize,
    floors: usize,
}

/// A partial plan.
#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) instance: &'a Instance,
    capacity: u64,
    /// The lowest possible offset of each unplaced item, and the actual offset of each placed item.
    pub(super) lowest: Vec<u64>,
    unplaced: UnplacedItems<'a>,
    /// For each section, an offset below which none of the section's unplaced items can begin.
    floor: Vec<u64>,
    changed_lowest: Vec<(u32, u64)>,
    changed_floor: Vec<(u32, u64)>,
    /// The sections whose floors might have risen.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    /// The unplaced items of one section, stored as (lowest offset, size) pairs.
    jobs: Vec<(u64, u64)>,
    /// For each section, the number of times that its items did not fit within the capacity.
    failures: Vec<u64>,
    /// The counter of the items and sections read so far.
    work: Work,
}

impl<'a> State<'a> {
    /// Creates an empty plan.
    pub(super) fn new(instance: &'a Instance, capacity: u64) -> Self {
        let sections = instance.section_count;
        Self {
            instance,
            capacity,
            lowest: instance.items.iter().map(|item| item.fixed.unwrap_or(0)).collect(),
            unplaced: UnplacedItems::new(instance),
            floor: vec![0; sections],
            changed_lowest: Vec::new(),
            changed_floor: Vec::new(),
            dirty: Vec::new(),
            is_dirty: vec![false; sections],
            jobs: Vec::new(),
            failures: vec![0; sections],
            work: Work::default(),
        }
    }

    /// Returns the capacity within which the plan must fit.
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the total size of the unplaced items in each section, in bytes.
    pub(super) fn open(&self) -> &[u64] {
        self.unplaced.open()
    }

    /// Returns, for each section, the number of times that its items did not fit within the
    /// capacity.
    pub(super) fn failures(&self) -> &[u64] {
        &self.failures
    }

    /// Returns the counter of the items and sections read so far.
    pub(super) fn work(&self) -> &Work {
        &self.work
    }

    /// Returns `true` if all items that conflict with the given item have been placed (see
    /// [`UnplacedItems::is_uncovered`]).
    pub(super) fn is_uncovered(&self, item: u32) -> bool {
        self.work.count(self.instance.conflicts.row(item as usize).len());
        self.unplaced.is_uncovered(item)
    }

    /// Returns the number of entries in the undo log for placements.
    pub(super) fn kept(&self) -> usize {
        self.changed_lowest.len() + self.changed_floor.len()
    }

    /// Returns `true` if an unplaced item extends from section `boundary - 1` into section
    /// `boundary`.
    pub(super) fn is_crossed(&self, boundary: usize) -> bool {
        self.unplaced.is_crossed(boundary)
    }

    /// Returns `true` if the empty plan might be extended to a plan that fits within the capacity.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // instance. An instance contains up to 4,000,000 pairs of conflicting items.
    pub(super) fn is_possible(&self) -> bool {
        let fits =
            |item: usize| self.lowest[item] + self.instance.items[item].size <= self.capacity;
        self.unplaced.open().iter().all(|&open| open <= self.capacity)
            && (0..self.lowest.len()).all(fits)
    }

    /// Places an item at its lowest possible offset.
    ///
    /// Returns `true` if the unplaced items in `sections` may still fit when each is placed at the
    /// placed item's offset or above. Even if the result is `false`, the caller must revert the
    /// placement with [`undo`](Self::undo).
    pub(super) fn place(&mut self, item: u32, sections: (u32, u32)) -> (Mark, bool) {
        let mark = Mark { lowest: self.changed_lowest.len(), floors: self.changed_floor.len() };
        let instance = self.instance;
        let offset = self.lowest[item as usize];
        let size = instance.items[item as usize].size;
        let top = offset + size;
        self.work.count(self.unplaced.place(item));
        let sections_of = self.work.over(instance.sections_of.row(item as usize));
        for &section in sections_of {
            let section = section as usize;
            if self.floor[section] < top {
                self.changed_floor.push((index(section), self.floor[section]));
                self.floor[section] = top;
            }
        }
        let possible = self.raise(item, top) && self.fits(offset, sections);
        let possible = self.raise_floors(offset, possible) && possible;
        (mark, possible)
    }

    /// Undoes the most recent placement.
    // Uncounted: the loop needs no counter because undoing the changes takes as long as making
    // them, which has already been counted.
    pub(super) fn undo(&mut self, item: u32, mark: Mark) {
        for (other, lowest) in self.changed_lowest.drain(mark.lowest..).rev() {
            self.lowest[other as usize] = lowest;
        }
        for (section, floor) in self.changed_floor.drain(mark.floors..).rev() {
            self.floor[section as usize] = floor;
        }
        self.unplaced.take_back(item);
    }

    /// Raises all unplaced items that conflict with a newly placed item to that item's top.
    fn raise(&mut self, item: u32, top: u64) -> bool {
        let instance = self.instance;
        for &other in self.work.over(instance.conflicts.row(item as usize)) {
            let old = self.lowest[other as usize];
            if old >= top || self.unplaced.is_placed(other) {
                continue;
            }
            let open = instance.items[other as usize];
            let new = top.next_multiple_of(open.alignment);
            if open.fixed.is_some() || new + open.size > self.capacity {
                return false;
            }
            self.changed_lowest.push((other, old));
            self.lowest[other as usize] = new;
            for &section in self.work.over(instance.sections_of.row(other as usize)) {
                if !self.is_dirty[section as usize] {
                    self.is_dirty[section as usize] = true;
                    self.dirty.push(section);
                }
            }
        }
        true
    }

    /// Returns `true` if the unplaced items fit when all floors are raised to at least `offset`.
    fn fits(&self, offset: u64, (first, end): (u32, u32)) -> bool {
        let range = first as usize..end as usize;
        self.work.count(range.len());
        let mut highest = 0;
        for (&floor, &open) in self.floor[range.clone()].iter().zip(&self.unplaced.open()[range]) {
            let needed = if open > 0 { floor.max(offset) + open } else { 0 };
            highest = highest.max(needed);
        }
        highest <= self.capacity
    }

    /// Raises the floor of each changed section to the lowest offset of its unplaced items.
    fn raise_floors(&mut self, offset: u64, mut possible: bool) -> bool {
        let instance = self.instance;
        while let Some(section) = self.dirty.pop() {
            self.is_dirty[section as usize] = false;
            if !possible {
                continue;
            }
            let section = section as usize;
            self.jobs.clear();
            // The spare room is the part of the capacity that exceeds what the section's unplaced
            // items need. An item can run out of room only if its lowest offset is above the spare
            // room.
            let room = self.capacity - self.unplaced.open()[section];
            let (mut floor, mut released) = (u64::MAX, 0);
            for &item in self.work.over(instance.sections.row(section)) {
                if self.unplaced.is_placed(item) {
                    continue;
                }
                let lowest = self.lowest[item as usize].max(offset);
                let size = instance.items[item as usize].size;
                floor = floor.min(lowest);
                if lowest > room {
                    self.jobs.push((lowest, size));
                } else {
                    released += size;
                }
            }
            if floor == u64::MAX {
                continue;
            }
            if floor > self.floor[section] {
                self.changed_floor.push((index(section), self.floor[section]));
                self.floor[section] = floor;
            }
            self.jobs.sort_unstable();
            for &(lowest, size) in &self.jobs {
                // All items whose lowest offset is at least `lowest` must fit between `lowest` and
                // the capacity.
                possible &= lowest - released.min(lowest) <= room;
                released += size;
            }
            self.failures[section] += u64::from(!possible);
        }
        possible
    }
}

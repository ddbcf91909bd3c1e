//! A partial plan, along with the lower bounds that it implies. The most recent placement can be
//! undone.
//!
//! Items are placed in order of their offsets. Each item is placed at its lowest offset, which is 0
//! or the top of a conflicting item below it. A plan is called canonical if each item is at its
//! lowest offset. Pushing the items down turns any plan into a canonical plan (`MiniMalloc`, ASPLOS
//! 2023), so it suffices to try canonical plans.
//!
//! A partial plan implies a lower bound for each section. A section's unplaced items lie at or above
//! the offset of the item placed last, so their total size must not exceed the distance from there
//! to the capacity. If one of the section's items has been raised, a stronger check is possible,
//! because no unplaced item can begin below its lowest offset. Stacking the unplaced items in order
//! of their lowest offsets gives the lowest possible top (one machine with release dates, Jackson
//! 1955). Only items that begin above the section's spare room can make the stack too tall, so only
//! these items are sorted.

use std::ops::Range;

use super::blocks::Blocks;
use super::candidates::{Candidates, Key};
use super::instance::Instance;
use super::ranks::Ranks;
use super::unplaced_items::UnplacedItems;
use crate::work::Work;

/// The length of the list of changes before a placement. To undo a placement, the search truncates
/// the list to this length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(usize);

/// A partial plan.
#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) instance: &'a Instance,
    capacity: u64,
    /// The lowest possible offset of each unplaced item, and the actual offset of each placed item.
    pub(super) lowest: Vec<u64>,
    unplaced: UnplacedItems<'a>,
    candidates: Candidates,
    /// For each block of sections, the maximum total size of a section's unplaced items.
    most_open: Blocks<u64>,
    changed_lowest: Vec<(u32, u64)>,
    /// The sections of raised items, if the sections are unordered.
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
    pub(super) fn new(instance: &'a Instance, capacity: u64, ranks: &Ranks) -> Self {
        let sections = instance.section_count;
        let lowest: Vec<u64> = instance.items.iter().map(|item| item.fixed.unwrap_or(0)).collect();
        Self {
            instance,
            capacity,
            candidates: Candidates::new(instance, &lowest, ranks),
            lowest,
            unplaced: UnplacedItems::new(instance),
            most_open: Blocks::new(sections),
            changed_lowest: Vec::new(),
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

    /// Returns the positions of the items whose hulls begin in the given sections.
    pub(super) fn range(&self, sections: (u32, u32)) -> Range<usize> {
        self.candidates.range(sections)
    }

    /// Returns the unplaced items at the given positions.
    pub(super) fn unplaced(&self, range: Range<usize>) -> impl Iterator<Item = u32> + '_ {
        self.work.count(range.len());
        self.candidates.unplaced(range)
    }

    /// Returns the number of unplaced items at the given positions, and the lowest end of any of
    /// them.
    pub(super) fn count_and_top(&mut self, range: Range<usize>) -> (usize, u64) {
        self.candidates.count_and_top(range, &self.work)
    }

    /// Returns the unplaced item at the given positions with the lowest key that is at least
    /// `from`.
    pub(super) fn next(&mut self, range: Range<usize>, from: Key) -> Option<(Key, u32)> {
        self.candidates.next(range, from, &self.work)
    }

    /// Changes the rank of an item.
    pub(super) fn set_rank(&mut self, item: u32, rank: u32) {
        self.candidates.set_rank(item, rank);
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
        self.changed_lowest.len()
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
        let (mark, instance) = (Mark(self.changed_lowest.len()), self.instance);
        let offset = self.lowest[item as usize];
        let top = offset + instance.items[item as usize].size;
        self.work.count(self.unplaced.place(item));
        self.candidates.remove(item);
        let mut possible = true;
        for &section in self.work.over(instance.sections_of.row(item as usize)) {
            self.most_open.change(section as usize);
            let open = self.unplaced.open()[section as usize];
            possible &= open == 0 || top + open <= self.capacity;
        }
        let possible = possible && self.fits(offset, sections);
        let raised = self.raise(item, top, possible);
        let possible = raised.is_some_and(|raised| self.fits_raised(offset, raised));
        (mark, possible)
    }

    /// Undoes the most recent placement.
    // Uncounted: the loop needs no counter because undoing the changes takes as long as making
    // them, which has already been counted.
    pub(super) fn undo(&mut self, item: u32, mark: Mark) {
        for (other, lowest) in self.changed_lowest.drain(mark.0..).rev() {
            self.lowest[other as usize] = lowest;
            self.candidates.set_lowest(other, lowest);
        }
        self.unplaced.take_back(item);
        self.candidates.set_lowest(item, self.lowest[item as usize]);
        let sections = self.instance.sections_of.row(item as usize);
        sections.iter().for_each(|&section| self.most_open.change(section as usize));
    }

    /// Raises all unplaced items that conflict with a newly placed item to that item's top. Returns
    /// `None` if one of them no longer fits.
    fn raise(&mut self, item: u32, top: u64, mut possible: bool) -> Option<Raised> {
        let instance = self.instance;
        let mut raised = Raised { highest: 0, sections: (u32::MAX, 0) };
        for &other in self.work.over(instance.conflicts.row(item as usize)) {
            let old = self.lowest[other as usize];
            if !possible || old >= top || self.unplaced.is_placed(other) {
                continue;
            }
            let open = instance.items[other as usize];
            let new = top.next_multiple_of(open.alignment);
            if open.fixed.is_some() || new + open.size > self.capacity {
                possible = false;
                continue;
            }
            self.changed_lowest.push((other, old));
            self.lowest[other as usize] = new;
            self.candidates.set_lowest(other, new);
            let hull = instance.hulls[other as usize];
            raised.highest = raised.highest.max(new);
            raised.sections = (raised.sections.0.min(hull.0), raised.sections.1.max(hull.1));
            if !instance.is_linear {
                self.soil(other);
            }
        }
        possible.then_some(raised)
    }

    /// Records that the sections of an item must be checked.
    fn soil(&mut self, item: u32) {
        for &section in self.work.over(self.instance.sections_of.row(item as usize)) {
            if !self.is_dirty[section as usize] {
                self.is_dirty[section as usize] = true;
                self.dirty.push(section);
            }
        }
    }

    /// Returns `true` if the unplaced items of each section fit between `offset` and the capacity.
    fn fits(&mut self, offset: u64, (first, end): (u32, u32)) -> bool {
        let (open, mut most) = (self.unplaced.open(), 0);
        let max = |range: Range<usize>| open[range].iter().copied().max().unwrap_or(0);
        let range = first as usize..end as usize;
        self.most_open.visit(range, &self.work, max, |summary, _| most = most.max(summary));
        most == 0 || offset + most <= self.capacity
    }

    /// Returns `true` if the unplaced items in each section of a raised item may still fit.
    // Uncounted: the loop needs no counter because `fits_above` counts each section's items.
    fn fits_raised(&mut self, offset: u64, raised: Raised) -> bool {
        let mut possible = true;
        if self.instance.is_linear {
            let (first, end) = raised.sections;
            possible = (first..end).all(|section| self.fits_above(section, offset, raised.highest));
        }
        while let Some(section) = self.dirty.pop() {
            self.is_dirty[section as usize] = false;
            possible = possible && self.fits_above(section, offset, raised.highest);
        }
        possible
    }

    /// Returns `true` if a section's unplaced items may still fit if each begins at or above
    /// `offset` and its lowest offset. Items have been raised to at most `highest`.
    fn fits_above(&mut self, section: u32, offset: u64, highest: u64) -> bool {
        let (instance, section) = (self.instance, section as usize);
        // The spare room is the part of the capacity that exceeds what the section's unplaced items
        // need. An item can run out of room only if its lowest offset is above the spare room.
        let room = self.capacity - self.unplaced.open()[section];
        if highest <= room {
            self.work.count(1);
            return true;
        }
        let mut released = 0;
        self.jobs.clear();
        for &item in self.work.over(instance.sections.row(section)) {
            if self.unplaced.is_placed(item) {
                continue;
            }
            let lowest = self.lowest[item as usize].max(offset);
            let size = instance.items[item as usize].size;
            if lowest > room {
                self.jobs.push((lowest, size));
            } else {
                released += size;
            }
        }
        self.jobs.sort_unstable();
        let mut possible = true;
        for &(lowest, size) in &self.jobs {
            // All items whose lowest offset is at least `lowest` must fit between `lowest` and the
            // capacity.
            possible &= lowest - released.min(lowest) <= room;
            released += size;
        }
        self.failures[section] += u64::from(!possible);
        possible
    }
}

/// The effect of a placement on the unplaced items.
#[derive(Clone, Copy, Debug)]
struct Raised {
    /// The highest offset to which an item has been raised.
    highest: u64,
    /// The smallest range of sections that contains the raised items, if the sections are ordered.
    sections: (u32, u32),
}

#[cfg(test)]
mod tests {
    use super::State;
    use crate::buffer::Buffer;
    use crate::interval::IntervalProblem;
    use crate::random::Random;
    use crate::search::{Instance, Ranker};
    use crate::timeline::Timeline;

    /// Compares the summaries with passes over all items and sections.
    fn check(state: &mut State<'_>, sections: (u32, u32), random: &mut Random) {
        let items = &state.instance.items;
        let begins_within = |item: usize| {
            let begin = state.instance.hulls[item].0;
            sections.0 <= begin && begin < sections.1
        };
        let is_unplaced = |item: usize| !state.unplaced.is_placed(crate::adjacency::index(item));
        let unplaced: Vec<usize> =
            (0..items.len()).filter(|&item| is_unplaced(item) && begins_within(item)).collect();
        let top = unplaced.iter().map(|&item| state.lowest[item] + items[item].size).min();
        let from = (random.below(5_000) as u64, 0);
        let later = unplaced.iter().map(|&item| state.lowest[item]).filter(|&one| one >= from.0);
        let lowest = later.min();
        let range = sections.0 as usize..sections.1 as usize;
        let open = state.unplaced.open()[range].iter().copied().max().unwrap_or(0);
        let range = state.range(sections);
        let found = state.count_and_top(range.clone());
        assert_eq!(found, (unplaced.len(), top.unwrap_or(u64::MAX)));
        assert_eq!(state.next(range, from).map(|(key, _)| key.0), lowest);
        let highest = state.capacity - open;
        assert!(state.fits(highest, sections), "{open} bytes fit above {highest}");
        assert!(open == 0 || !state.fits(highest + 1, sections), "not above {highest} + 1");
    }

    #[test]
    fn summaries_follow_placements_and_undos() {
        for seed in 0..50 {
            let mut random = Random::new(seed, 0, 0);
            let mut number = |most| i64::try_from(random.below(most)).unwrap_or(0);
            let buffers = (0..1 + number(300)).map(|_| {
                let lower = number(100);
                Buffer::unnamed(lower, lower + 1 + number(20), 1 + number(99).unsigned_abs())
            });
            let problem = IntervalProblem::new(buffers.collect()).expect("valid");
            let timeline = Timeline::new(&problem);
            let instance = Instance::of_timeline(&timeline, usize::MAX, &|| true).expect("small");
            let ranks = Ranker::new(&instance).lasting(0);
            let (mut state, mut placed) = (State::new(&instance, 1 << 20, &ranks), Vec::new());
            let all = (0, crate::adjacency::index(instance.section_count));
            for _ in 0..200 {
                let item = crate::adjacency::index(random.below(instance.items.len()));
                if random.below(3) == 0 {
                    if let Some((item, mark)) = placed.pop() {
                        state.undo(item, mark);
                    }
                } else if !state.unplaced.is_placed(item) {
                    let (mark, is_possible) = state.place(item, all);
                    assert!(is_possible, "the capacity exceeds the total size");
                    placed.push((item, mark));
                }
                let first = crate::adjacency::index(random.below(instance.section_count));
                let rest = random.below((all.1 - first) as usize + 1);
                check(&mut state, (first, first + crate::adjacency::index(rest)), &mut random);
            }
        }
    }
}

//! The unplaced items of a partial plan. This module records the placed items and the size of the
//! unplaced items in each section.

use super::instance::Instance;

/// The items that a partial plan has not placed yet.
#[derive(Debug)]
pub(super) struct UnplacedItems<'a> {
    instance: &'a Instance,
    placed: Vec<bool>,
    /// The total size of the unplaced items in each section, in bytes.
    open: Vec<u64>,
    /// The number of unplaced items that extend into each section from the previous section.
    crossing: Vec<u32>,
}

impl<'a> UnplacedItems<'a> {
    /// Creates an empty plan's bookkeeping. If the sections are unordered, every boundary between
    /// sections counts as crossed, so the problem is never split.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // instance. An instance contains up to 4,000,000 pairs of conflicting items.
    pub(super) fn new(instance: &'a Instance) -> Self {
        let sections = instance.section_count;
        let mut crossing = vec![u32::from(!instance.is_linear); sections + 1];
        for &(first, end) in &instance.hulls {
            for boundary in first + 1..end {
                crossing[boundary as usize] += 1;
            }
        }
        let size = |&item: &u32| instance.items[item as usize].size;
        let bytes = |section| instance.sections.row(section).iter().map(size).sum();
        let open = (0..sections).map(bytes).collect();
        Self { instance, placed: vec![false; instance.items.len()], open, crossing }
    }

    /// Returns `true` if the item has been placed.
    pub(super) fn is_placed(&self, item: u32) -> bool {
        self.placed[item as usize]
    }

    /// Returns the total size of the unplaced items in each section, in bytes.
    pub(super) fn open(&self) -> &[u64] {
        &self.open
    }

    /// Returns `true` if an unplaced item extends from section `boundary - 1` into section
    /// `boundary`.
    pub(super) fn is_crossed(&self, boundary: usize) -> bool {
        self.crossing[boundary] > 0
    }

    /// Returns `true` if all items that conflict with the given item have been placed. If the
    /// result is `true`, the item does not restrict any unplaced item, and its lowest offset is the
    /// best one.
    // Uncounted: the loop needs no counter because the callers count the conflicts.
    pub(super) fn is_uncovered(&self, item: u32) -> bool {
        let others = self.instance.conflicts.row(item as usize);
        others.iter().all(|&other| self.is_placed(other))
    }

    /// Records that an unplaced item has been placed. Returns the number of boundaries that were
    /// checked in addition to the sections.
    // Uncounted: the loop needs no counter because the callers count the boundaries and the
    // sections.
    pub(super) fn place(&mut self, item: u32) -> usize {
        self.placed[item as usize] = true;
        let size = self.instance.items[item as usize].size;
        for &section in self.instance.sections_of.row(item as usize) {
            self.open[section as usize] -= size;
        }
        let (first, end) = self.instance.hulls[item as usize];
        for boundary in first + 1..end {
            self.crossing[boundary as usize] -= 1;
        }
        (end - first) as usize
    }

    /// Records that a placed item has been removed from the partial plan.
    // Uncounted: the loop needs no counter because removing the item takes as long as placing it,
    // which has already been counted.
    pub(super) fn take_back(&mut self, item: u32) {
        self.placed[item as usize] = false;
        let size = self.instance.items[item as usize].size;
        for &section in self.instance.sections_of.row(item as usize) {
            self.open[section as usize] += size;
        }
        let (first, end) = self.instance.hulls[item as usize];
        for boundary in first + 1..end {
            self.crossing[boundary as usize] += 1;
        }
    }
}

//! The bookkeeping of a partial plan: which items are placed, and how many bytes are still open in
//! each section.

use super::instance::Instance;

/// The open items of a partial plan, which are not placed yet.
#[derive(Debug)]
pub(super) struct Book<'a> {
    instance: &'a Instance,
    placed: Vec<bool>,
    /// For each section, the total size of its open items in bytes.
    open: Vec<u64>,
    /// For each section, the number of open items that cross into it from the previous section.
    crossing: Vec<u32>,
}

impl<'a> Book<'a> {
    /// Creates the book of an empty plan. If sections are not ordered, no boundary between them
    /// ever separates the problem.
    // Uncounted: makes one pass over the instance, which contains up to 4,000,000 pairs.
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

    /// Returns `true` if an item is placed.
    pub(super) fn is_placed(&self, item: u32) -> bool {
        self.placed[item as usize]
    }

    /// Returns, for each section, the total size of its open items in bytes.
    pub(super) fn open(&self) -> &[u64] {
        &self.open
    }

    /// Returns `true` if any open item crosses from section `boundary - 1` into section `boundary`.
    pub(super) fn is_crossed(&self, boundary: usize) -> bool {
        self.crossing[boundary] > 0
    }

    /// Returns `true` if all items that conflict with an item are placed. The item then blocks no
    /// other item at its lowest offset, and no other offset is better for it.
    // Uncounted: the callers count the conflicts.
    pub(super) fn is_uncovered(&self, item: u32) -> bool {
        let others = self.instance.conflicts.row(item as usize);
        others.iter().all(|&other| self.is_placed(other))
    }

    /// Records that an open item is placed. Returns the number of boundaries between sections that
    /// were checked, in addition to the sections.
    // Uncounted: the callers count the boundaries and the sections.
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

    /// Records that a placed item is open again.
    // Uncounted: takes as long as the placement, which was counted.
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

//! Lists of 32-bit indices, and pairs of indices as such lists.

/// Lists of 32-bit indices, adjacent in one vector.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Makes an empty set of lists.
    pub(crate) fn new() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }

    /// Adds an item to the last list, which is not ended yet.
    pub(crate) fn add(&mut self, item: u32) {
        self.items.push(item);
    }

    /// Ends the last list: later items go into the next one.
    pub(crate) fn end_row(&mut self) {
        self.starts.push(index(self.items.len()));
    }

    /// Returns the number of items of all lists together.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the list of `index`.
    pub(crate) fn row(&self, index: usize) -> &[u32] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// Returns, for each index below `count`, the second members of its `pairs`, in the order of
/// `pairs`.
pub(crate) fn adjacency(
    count: usize,
    pairs: impl Iterator<Item = (usize, usize)> + Clone,
) -> Lists {
    let mut starts = vec![0_u32; count + 1];
    for (from, _) in pairs.clone() {
        starts[from + 1] += 1;
    }
    for index in 0..count {
        starts[index + 1] += starts[index];
    }
    let mut ends = starts.clone();
    let mut items = vec![0_u32; starts[count] as usize];
    for (from, to) in pairs {
        items[ends[from] as usize] = index(to);
        ends[from] += 1;
    }
    Lists { starts, items }
}

/// Returns an index as 32 bits: [`limits::check`](crate::limits::check) refuses problems with more.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number of buffers and operations is checked"
)]
pub(crate) const fn index(value: usize) -> u32 {
    value as u32
}

/// Returns the indices below `count`.
pub(crate) fn indices(count: usize) -> std::ops::Range<u32> {
    0..index(count)
}

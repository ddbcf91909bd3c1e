//! Lists of 32-bit indices, and a function that groups pairs of indices by their first members.

/// Several lists of 32-bit indices, stored one after another in a single vector.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Creates a single empty list, to which items can be appended.
    pub(crate) fn new() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }

    /// Appends an item to the last list, which is the only one that is still open.
    pub(crate) fn add(&mut self, item: u32) {
        self.items.push(item);
    }

    /// Closes the last list and opens a new one.
    pub(crate) fn end_row(&mut self) {
        self.starts.push(index(self.items.len()));
    }

    /// Returns the total number of items in all lists.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the list at `index`.
    pub(crate) fn row(&self, index: usize) -> &[u32] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// Groups `pairs` by their first members. For each index below `count`, the result lists the second
/// members of all pairs whose first member is that index, in the order of `pairs`.
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

/// Converts an index to 32 bits. The conversion never truncates because
/// [`limits::check`](crate::limits::check) rejects problems that are too large.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number of buffers and operations is checked"
)]
pub(crate) const fn index(value: usize) -> u32 {
    value as u32
}

/// Returns all indices below `count`.
pub(crate) fn indices(count: usize) -> std::ops::Range<u32> {
    0..index(count)
}

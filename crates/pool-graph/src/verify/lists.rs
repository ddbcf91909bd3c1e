//! Several lists of numbers, stored one after another in a single vector.

/// One list of numbers for each index.
#[derive(Debug)]
pub(super) struct Lists {
    /// The start position of each list in `items`, followed by the end of the last list.
    starts: Vec<usize>,
    items: Vec<usize>,
}

impl Lists {
    /// Creates one list for each index below `count`. The `pairs` closure returns pairs of an index
    /// and an item. Each list stores its items in the order of these pairs.
    pub(super) fn new<I: Iterator<Item = (usize, usize)>>(
        count: usize,
        pairs: impl Fn() -> I,
    ) -> Self {
        let mut starts = vec![0; count + 1];
        pairs().for_each(|(index, _)| starts[index + 1] += 1);
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut ends = starts.clone();
        let mut items = vec![0; starts[count]];
        for (index, item) in pairs() {
            items[ends[index]] = item;
            ends[index] += 1;
        }
        Self { starts, items }
    }

    /// Returns the list at the given index.
    pub(super) fn of(&self, index: usize) -> &[usize] {
        &self.items[self.starts[index]..self.starts[index + 1]]
    }
}

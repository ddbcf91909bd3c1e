//! A buffer's size, alignment, and fixed offset. Apart from the items, the solvers receive only a
//! list of the conflicts between them.

/// A buffer's size, and the constraints on its offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The alignment. The alignment is a power of two that divides the offset.
    pub(crate) alignment: u64,
    /// The item's fixed offset, or `None` if the planner may choose the offset.
    pub(crate) fixed: Option<u64>,
}

impl Item {
    /// Returns `true` if the size is not a multiple of the alignment, so that a plan may require
    /// padding after the item.
    pub(crate) fn is_padded(&self) -> bool {
        self.size % self.alignment != 0
    }
}

/// Returns the offset just past the highest byte that any item occupies.
pub(crate) fn peak(items: &[Item], offsets: &[u64]) -> u64 {
    items.iter().zip(offsets).map(|(item, offset)| offset + item.size).max().unwrap_or(0)
}

//! The size, alignment and fixed offset of a buffer. The solvers need nothing else, except for the
//! conflicts.

/// A buffer's size, and the constraints on its offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The alignment: a power of two that divides the offset.
    pub(crate) alignment: u64,
    /// The offset at which the item must be placed, if it is fixed.
    pub(crate) fixed: Option<u64>,
}

/// Returns the end of the highest byte.
pub(crate) fn peak(items: &[Item], offsets: &[u64]) -> u64 {
    items.iter().zip(offsets).map(|(item, offset)| offset + item.size).max().unwrap_or(0)
}

//! What the solvers need to know of a buffer apart from its conflicts.

/// A buffer's size and where it may be placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Its size in bytes.
    pub(crate) size: u64,
    /// Its offset is a multiple of this power of two.
    pub(crate) alignment: u64,
    /// Where it must be placed, if that is given.
    pub(crate) fixed: Option<u64>,
}

/// The end of the highest byte.
pub(crate) fn peak(items: &[Item], offsets: &[u64]) -> u64 {
    items.iter().zip(offsets).map(|(item, offset)| offset + item.size).max().unwrap_or(0)
}

//! Ranges of memory from the source.

/// A range of memory from the source. It must be returned to the source as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

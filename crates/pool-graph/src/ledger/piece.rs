//! Memory ranges that a pool has received from its source.

/// A range of memory that a pool has received from its source. The pool must return the range to
/// the source as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

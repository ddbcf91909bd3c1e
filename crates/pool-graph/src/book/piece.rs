//! A piece of the source's memory.

/// A range from the source, which is returned as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

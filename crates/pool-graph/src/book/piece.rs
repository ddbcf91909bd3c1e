//! A piece of the source's memory.

/// A range that the source gave, to be given back as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

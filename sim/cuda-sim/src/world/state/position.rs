//! The place of an operation: a stream and a number in it.

/// An operation's place: the number-th one of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) stream: usize,
    pub(crate) number: u64,
}

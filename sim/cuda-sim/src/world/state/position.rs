//! The position of an operation: a stream, and a number within the stream.

/// The position of an operation: its stream, and its number within that stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) stream: usize,
    pub(crate) number: u64,
}

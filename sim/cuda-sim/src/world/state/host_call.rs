//! Host functions that a stream or a node calls.

/// A function of the program and its argument, as addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostCall {
    pub(crate) function: u64,
    pub(crate) data: u64,
    /// The stream's handle that a callback of `cuStreamAddCallback` gets.
    pub(crate) stream: Option<u64>,
}

impl HostCall {
    /// Returns a function that takes its data alone.
    pub(crate) fn of(function: u64, data: u64) -> Self {
        Self { function, data, stream: None }
    }
}

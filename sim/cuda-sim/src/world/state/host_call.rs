//! Host functions that a stream or a node calls.

/// A function of the program and its argument, both as addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostCall {
    pub(crate) function: u64,
    pub(crate) data: u64,
    /// The stream handle that is passed to a callback of `cuStreamAddCallback`.
    pub(crate) stream: Option<u64>,
}

impl HostCall {
    /// Returns a call of a function whose only parameter is its data.
    pub(crate) fn of(function: u64, data: u64) -> Self {
        Self { function, data, stream: None }
    }
}

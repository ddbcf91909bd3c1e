//! Host functions: what a stream or a node calls on the host.

/// A function of the program and its argument, as addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostCall {
    pub(crate) function: u64,
    pub(crate) data: u64,
    /// The stream that a callback is told of, as `cuStreamAddCallback` has it: its handle.
    pub(crate) stream: Option<u64>,
}

impl HostCall {
    /// A function that takes its data alone.
    pub(crate) fn of(function: u64, data: u64) -> Self {
        Self { function, data, stream: None }
    }
}

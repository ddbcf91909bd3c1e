//! Identifiers for a body's streams and host arguments.

/// An identifier for one of the session's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaptureStream(pub(super) usize);

/// An identifier for host memory that the graph copies to the device in each replay.
/// [`CapturedGraph::set_argument`](crate::CapturedGraph::set_argument) changes the contents of this
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostArgument {
    pub(crate) capture: u64,
    pub(crate) number: usize,
}

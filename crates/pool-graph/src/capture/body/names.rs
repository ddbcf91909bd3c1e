//! The names of streams and host arguments in a body.

/// The name of a session's stream in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaptureStream(pub(super) usize);

/// Host memory that the graph copies from in each replay. See
/// [`CapturedGraph::set_argument`](crate::CapturedGraph::set_argument).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostArgument {
    pub(crate) capture: u64,
    pub(crate) number: usize,
}

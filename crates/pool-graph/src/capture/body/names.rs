//! What a body calls its streams and its host arguments.

/// A stream of the session, as a body names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaptureStream(pub(super) usize);

/// Host memory that the graph copies from in each replay; see
/// [`CapturedGraph::set_argument`](crate::CapturedGraph::set_argument).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostArgument {
    pub(crate) capture: u64,
    pub(crate) number: usize,
}

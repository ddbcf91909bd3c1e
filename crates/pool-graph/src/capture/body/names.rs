//! The names of streams and host arguments in a body.

/// A stream of the session, by its name in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaptureStream(pub(super) usize);

/// Host memory that the graph copies from in each replay; see
/// [`CapturedGraph::set_argument`](crate::CapturedGraph::set_argument).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostArgument {
    pub(crate) capture: u64,
    pub(crate) number: usize,
}

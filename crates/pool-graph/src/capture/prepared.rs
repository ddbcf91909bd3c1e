//! A session with memory: it runs bodies, and hands over what comes out as graphs.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::body::Capture;
use super::copy_buffers::CopyBuffers;
use super::error::CaptureError;
use super::graph::CapturedGraph;
use super::graph_leftovers::LeftoversPlace;
use super::setup::{CaptureSetup, Purpose};

/// The second state of a capture: streams, leases and an arena.
///
/// A capture takes none of them away: after a body that failed or panicked, the next one has the same
/// memory. One that succeeds may be followed by others, too: their graphs run on one stream, one after
/// the other, so they [share the arena](crate::CaptureSession::beside), and what one leaves in its
/// temporaries the other overwrites. Arena and leases are given back with the last of these graphs and
/// this value.
///
/// ```no_run
/// # use pool_graph::{Capture, CaptureError, CapturedGraph, PreparedCapture};
/// # fn compile(_: &Capture<'_>, _: &mut Vec<u8>) -> Result<(), CaptureError> { Ok(()) }
/// # fn f(prepared: PreparedCapture) -> Result<CapturedGraph<Vec<u8>>, CaptureError> {
/// let mut workspace = vec![0; 4096];
/// loop {
///     match prepared.capture_keeping_state(workspace, compile) {
///         Ok(graph) => return Ok(graph),
///         Err(failed) if matches!(failed.error, CaptureError::Invalidated { .. }) => {
///             workspace = failed.state;
///         }
///         Err(failed) => return Err(failed.error),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct PreparedCapture {
    setup: Arc<CaptureSetup>,
}

/// A capture that did not become a graph, with the state that would have been the graph's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedCapture<S, E> {
    /// Why there is no graph.
    pub error: E,
    /// The state as the body left it.
    pub state: S,
}

impl PreparedCapture {
    pub(super) fn new(setup: CaptureSetup) -> Self {
        Self { setup: Arc::new(setup) }
    }

    pub(super) fn setup(&self) -> &Arc<CaptureSetup> {
        &self.setup
    }

    /// Captures what the body puts on the streams, which are waited for first. All branches are joined
    /// at its end.
    ///
    /// The graph that came out is read back, node by node and edge by edge, and what it orders is
    /// compared with where its temporaries lie, whatever the policy of the arena. The state becomes the
    /// graph's.
    ///
    /// When the body fails or panics, the capture is ended and thrown away: streams, arena and leases
    /// are as before, for the next capture.
    ///
    /// # Errors
    ///
    /// The body's own error, before any other; [`CaptureError::AlreadyCapturing`], [`CaptureError::Diverged`],
    /// [`CaptureError::MemoryNodes`], [`CaptureError::Unordered`], [`CaptureError::Layout`],
    /// [`CaptureError::Invalidated`],
    /// [`CaptureError::ForeignWork`], [`CaptureError::ForeignMemory`], [`CaptureError::ForeignNode`],
    /// [`CaptureError::UnreadableNode`], [`CaptureError::SharedBlock`],
    /// [`StaleLease`](crate::GraphMemoryError::StaleLease) where the arena was reset since it was given
    /// to the session; and what the driver refuses.
    pub fn capture<S, E: From<CaptureError>>(
        &self,
        state: S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<CapturedGraph<S>, E> {
        self.capture_keeping_state(state, body).map_err(|failed| failed.error)
    }

    /// Captures as [`capture`](Self::capture), but the state comes back with the error. Only a panic of the body
    /// drops it.
    ///
    /// # Errors
    ///
    /// As [`capture`](Self::capture).
    pub fn capture_keeping_state<S, E: From<CaptureError>>(
        &self,
        mut state: S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<CapturedGraph<S>, FailedCapture<S, E>> {
        let purpose = Purpose::Graph;
        let outcome = match self.setup.run(purpose, &mut state, body) {
            Ok(outcome) => outcome,
            Err(error) => return Err(FailedCapture { error, state }),
        };
        let ready = self.setup.examine(outcome, purpose).and_then(|verified_graph| {
            let executable = verified_graph.graph.instantiate()?;
            Ok((executable, verified_graph, LeftoversPlace::new()?, CopyBuffers::new()?))
        });
        match ready {
            Ok((executable, verified_graph, place, staged)) => {
                let setup = Arc::clone(&self.setup);
                Ok(CapturedGraph::new(executable, verified_graph, setup, state, (place, staged)))
            }
            Err(error) => Err(FailedCapture { error: error.into(), state }),
        }
    }
}

impl<S, E: fmt::Display> fmt::Display for FailedCapture<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

// By hand, because the derive's `transparent` takes types of one field alone: the text of a failed capture is
// its error's text, and so its source is its error's source.
impl<S: fmt::Debug, E: Error> Error for FailedCapture<S, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

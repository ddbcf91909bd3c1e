//! A session with memory: it runs bodies, and returns their graphs.

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
/// A capture does not consume them: after a body that failed or panicked, the next one has the same memory. A
/// successful one may be followed by others, too. Their graphs run on one stream and never at once, so they [share the
/// arena](crate::CaptureSession::beside), and overwrite each other's temporaries. Arena and leases are released with
/// the last of these graphs and this value.
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

/// A capture that did not become a graph, with the state for the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedCapture<S, E> {
    /// The reason for which there is no graph.
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

    /// Captures the body's work on the streams, after a wait for their earlier work. All branches
    /// are joined at its end.
    ///
    /// The captured graph is read back, node by node and edge by edge, and its order is compared
    /// with the places of its temporaries, under any policy of the arena. The state becomes the
    /// graph's.
    ///
    /// If the body fails or panics, the capture is discarded: streams, arena and leases are as
    /// before, for the next capture.
    ///
    /// # Errors
    ///
    /// The body's own error, before any other; [`CaptureError::AlreadyCapturing`],
    /// [`CaptureError::Diverged`], [`CaptureError::MemoryNodes`], [`CaptureError::Unordered`],
    /// [`CaptureError::Layout`], [`CaptureError::Invalidated`], [`CaptureError::ForeignWork`],
    /// [`CaptureError::ForeignMemory`], [`CaptureError::ForeignNode`],
    /// [`CaptureError::UnreadableNode`], [`CaptureError::SharedBlock`];
    /// [`StaleLease`](crate::GraphMemoryError::StaleLease) if the arena was reset during the
    /// session; and the driver's error code.
    pub fn capture<S, E: From<CaptureError>>(
        &self,
        state: S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<CapturedGraph<S>, E> {
        self.capture_keeping_state(state, body).map_err(|failed| failed.error)
    }

    /// Captures as [`capture`](Self::capture) does, and returns the state with the error. Only a
    /// panic of the body drops it.
    ///
    /// # Errors
    ///
    /// Same as [`capture`](Self::capture).
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

// It is not derived, because the derive's `transparent` supports only types of one field. A failed
// capture has its error's text and source.
impl<S: fmt::Debug, E: Error> Error for FailedCapture<S, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

//! A session that has memory. It captures bodies and returns their graphs.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::body::Capture;
use super::copy_buffers::CopyBuffers;
use super::error::CaptureError;
use super::graph::CapturedGraph;
use super::graph_leftovers::LeftoversPlace;
use super::setup::{CaptureSetup, Purpose};

/// The second state of a capture, which holds streams, leases and an arena.
///
/// Capturing does not consume this value. If a body fails or panics, the next capture has the same
/// memory. After a successful capture, you may capture further graphs. All of these graphs run on
/// one stream, one after the other, and [share the arena](crate::CaptureSession::beside), so they
/// overwrite each other's temporaries. The arena and the leases are released when this value and
/// the last of these graphs have been dropped.
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

/// A capture that produced no graph, with the state that was meant for the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedCapture<S, E> {
    /// The reason why there is no graph.
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

    /// Waits for the streams' earlier work, and captures the body's work on them. All branches are
    /// joined at the end of the body.
    ///
    /// The captured graph is read back, node by node and edge by edge. Its order is checked against
    /// the offsets of its temporaries, whatever the policy of the arena. The state becomes part of
    /// the graph.
    ///
    /// If the body fails or panics, the capture is discarded. The streams, the arena and the leases
    /// are then as before, ready for the next capture.
    ///
    /// # Errors
    ///
    /// The body's own error takes precedence. Otherwise the call fails with
    /// [`CaptureError::AlreadyCapturing`], [`CaptureError::Diverged`],
    /// [`CaptureError::MemoryNodes`], [`CaptureError::Unordered`], [`CaptureError::Layout`],
    /// [`CaptureError::Invalidated`], [`CaptureError::ForeignWork`],
    /// [`CaptureError::ForeignMemory`], [`CaptureError::ForeignNode`],
    /// [`CaptureError::UnreadableNode`], [`CaptureError::SharedBlock`], or the driver's error code.
    /// If the arena was reset during the session, it fails with
    /// [`StaleLease`](crate::GraphMemoryError::StaleLease).
    pub fn capture<S, E: From<CaptureError>>(
        &self,
        state: S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<CapturedGraph<S>, E> {
        self.capture_keeping_state(state, body).map_err(|failed| failed.error)
    }

    /// Like [`capture`](Self::capture), but returns the state with the error. The state is dropped
    /// only if the body panics.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`capture`](Self::capture).
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

// The implementation is not derived, because `transparent` in the derive supports only types with
// one field. A failed capture forwards the text and the source of its error.
impl<S: fmt::Debug, E: Error> Error for FailedCapture<S, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

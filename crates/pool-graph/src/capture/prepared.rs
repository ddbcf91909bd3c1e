//! A session that has an arena and can capture bodies into graphs.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::body::Capture;
use super::copy_buffers::CopyBuffers;
use super::error::CaptureError;
use super::graph::CapturedGraph;
use super::retired_graph::RetiredGraphEntry;
use super::setup::{CaptureSetup, Purpose};

/// A session's second state, in which it owns streams, leases, and an arena.
///
/// Capturing a body does not consume a `PreparedCapture`. If a body fails or panics, the next
/// capture uses the same memory. After a successful capture, the `PreparedCapture` can capture more
/// graphs. All graphs of a `PreparedCapture` run one after another on the same stream. The graphs
/// [share the arena](crate::CaptureSession::beside) and therefore overwrite each other's
/// temporaries. The arena and the leases are released when the `PreparedCapture` and all of its
/// graphs have been dropped.
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

/// The error from a failed capture, together with the state that was passed to the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedCapture<S, E> {
    /// The error that caused the capture to fail.
    pub error: E,
    /// The state, including all changes that the body made.
    pub state: S,
}

impl PreparedCapture {
    pub(super) fn new(setup: CaptureSetup) -> Self {
        Self { setup: Arc::new(setup) }
    }

    pub(super) fn setup(&self) -> &Arc<CaptureSetup> {
        &self.setup
    }

    /// Waits until all work previously enqueued on the session's streams has completed, and then
    /// captures the work that the body enqueues. At the end of the body, all branches are joined
    /// with the first stream.
    ///
    /// After the capture, all of the graph's nodes and edges are read back from the driver. The
    /// verifier checks that the offsets of the graph's temporaries are safe under the graph's
    /// order, regardless of the arena's policy. The captured graph owns the state.
    ///
    /// If the body fails or panics, the capture is discarded. The streams, the arena, and the
    /// leases return to their previous state and can be used for the next capture.
    ///
    /// # Errors
    ///
    /// An error from `body` takes precedence over all other errors. If the body succeeds, the call
    /// can still fail with [`CaptureError::AlreadyCapturing`], [`CaptureError::Diverged`],
    /// [`CaptureError::MemoryNodes`], [`CaptureError::Unordered`], [`CaptureError::Layout`],
    /// [`CaptureError::Invalidated`], [`CaptureError::ForeignWork`],
    /// [`CaptureError::ForeignMemory`], [`CaptureError::ForeignNode`],
    /// [`CaptureError::UnreadableNode`], [`CaptureError::SharedBlock`], or the driver's error. If
    /// the arena was reset during the session, the call returns
    /// [`StaleLease`](crate::GraphMemoryError::StaleLease).
    pub fn capture<S, E: From<CaptureError>>(
        &self,
        state: S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<CapturedGraph<S>, E> {
        self.capture_keeping_state(state, body).map_err(|failed| failed.error)
    }

    /// Captures a body as [`capture`](Self::capture) does, but also returns the state if the
    /// capture fails. The state is dropped only if the body panics.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`capture`](Self::capture).
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
            Ok((executable, verified_graph, RetiredGraphEntry::new()?, CopyBuffers::new()?))
        });
        match ready {
            Ok((executable, verified_graph, entry, staged)) => {
                let setup = Arc::clone(&self.setup);
                Ok(CapturedGraph::new(executable, verified_graph, setup, state, (entry, staged)))
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

// The `Error` trait is not derived, because the derive macro supports `transparent` only for types
// with a single field. The error's text and source are forwarded unchanged.
impl<S: fmt::Debug, E: Error> Error for FailedCapture<S, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

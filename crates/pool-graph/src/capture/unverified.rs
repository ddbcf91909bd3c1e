//! A capture without verification, for tests of the verifier. It exposes the driver's graph. A test changes it, and the
//! code that reads every graph then reads it back.
//!
//! It is public, and hidden, because the tests of the verifier are in other packages, which alone
//! have a driver to capture with. No other part of the API exposes the handle of a graph: a
//! [`CapturedGraph`](crate::CapturedGraph) is verified before its creation, and never exposes its
//! handle. This module never instantiates the graph, so no change to it can access memory, and only
//! unsafe calls of the driver can use the handle.

use std::fmt;
use std::sync::Arc;

use pool_driver::cudarc::driver::sys;

use super::body::Capture;
use super::error::CaptureError;
use super::prepared::PreparedCapture;
use super::setup::{CaptureOutcome, CaptureSetup, Purpose};
use crate::verify::Verification;

/// A graph captured from a body. It is not verified yet, and never run.
#[doc(hidden)]
pub struct UnverifiedCapture {
    // Do not reorder: the graph is destroyed before the memory of its nodes.
    outcome: CaptureOutcome,
    setup: Arc<CaptureSetup>,
}

impl PreparedCapture {
    /// Captures a body, and returns the capture before its verification.
    ///
    /// # Errors
    ///
    /// Same as [`capture`](Self::capture), without the verifier's errors.
    #[doc(hidden)]
    pub fn capture_unverified<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<UnverifiedCapture, E> {
        let setup = Arc::clone(self.setup());
        Ok(UnverifiedCapture { outcome: setup.run(Purpose::Graph, state, body)?, setup })
    }
}

impl UnverifiedCapture {
    /// Returns the driver's handle, valid while this value lives. Code that changes the graph
    /// through it must not destroy the graph.
    #[doc(hidden)]
    #[must_use]
    pub fn graph(&self) -> sys::CUgraph {
        self.outcome.graph.handle()
    }

    /// Verifies the current graph, as [`PreparedCapture::capture`] does before it instantiates it.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Unordered`], [`CaptureError::Layout`], [`CaptureError::MemoryNodes`], and
    /// the driver's error code.
    #[doc(hidden)]
    pub fn verify(&self) -> Result<Verification, CaptureError> {
        let CaptureOutcome { graph, record, .. } = &self.outcome;
        let (_, verified) = self.setup.verify(graph, record)?;
        Ok(verified)
    }
}

impl fmt::Debug for UnverifiedCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnverifiedCapture")
            .field("graph", &self.outcome.graph)
            .finish_non_exhaustive()
    }
}

//! Captures that skip verification, for tests of the verifier. A test can modify the captured graph
//! through the driver's handle. The modified graph is read back with the same code as all other
//! graphs.
//!
//! The `unverified` module is public because tests that require a driver belong to other packages.
//! The module is hidden from the documentation. No other part of the API exposes a graph's handle.
//! A graph is verified before it becomes a [`CapturedGraph`](crate::CapturedGraph), which never
//! exposes its handle. An unverified graph is never instantiated, so modifying it cannot cause
//! memory accesses. Only unsafe driver calls can use the handle.

use std::fmt;
use std::sync::Arc;

use pool_driver::cudarc::driver::sys;

use super::body::Capture;
use super::error::CaptureError;
use super::prepared::PreparedCapture;
use super::setup::{CaptureOutcome, CaptureSetup, Purpose};
use crate::verify::Verification;

/// A captured graph that has not been verified. The graph is never run.
#[doc(hidden)]
pub struct UnverifiedCapture {
    // Rust drops fields in declaration order. The graph must be destroyed before the memory that
    // its nodes use is freed.
    outcome: CaptureOutcome,
    setup: Arc<CaptureSetup>,
}

impl PreparedCapture {
    /// Captures a body and returns the resulting graph without verifying it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`capture`](Self::capture), except for the verifier's errors.
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
    /// Returns the driver's graph handle, which is valid until the `UnverifiedCapture` is dropped.
    /// Code that uses the handle to modify the graph must not destroy the graph.
    #[doc(hidden)]
    #[must_use]
    pub fn graph(&self) -> sys::CUgraph {
        self.outcome.graph.handle()
    }

    /// Verifies the current contents of the graph with the same code that
    /// [`PreparedCapture::capture`] uses.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::Unordered`], [`CaptureError::Layout`],
    /// [`CaptureError::MemoryNodes`], or the driver's error.
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

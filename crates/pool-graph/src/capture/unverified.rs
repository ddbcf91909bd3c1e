//! A capture that is not verified, for tests of the verifier: the driver's graph of it, to be changed, and read
//! back again by the code that reads every graph.
//!
//! It is public, and hidden, because the tests of the verifier are in other packages, which alone have a driver to
//! capture with, and because no other part of the API gives the handle of a graph: a
//! [`CapturedGraph`](crate::CapturedGraph) is verified before anyone has it, and never gives its handle out. Nothing
//! here makes the graph executable, so no change to it can reach memory, and the handle is of use to unsafe calls of
//! the driver alone.

use std::fmt;
use std::sync::Arc;

use pool_driver::cudarc::driver::sys;

use super::body::Capture;
use super::error::CaptureError;
use super::prepared::PreparedCapture;
use super::setup::{CaptureOutcome, CaptureSetup, Purpose};
use crate::verify::Verification;

/// A graph that a body was captured as. It is not verified yet, and never run.
#[doc(hidden)]
pub struct UnverifiedCapture {
    // Do not reorder: the graph goes before the memory that its nodes name.
    outcome: CaptureOutcome,
    setup: Arc<CaptureSetup>,
}

impl PreparedCapture {
    /// Captures a body, and hands the capture over before it is verified.
    ///
    /// # Errors
    ///
    /// As [`capture`](Self::capture), but for what is found by verifying.
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
    /// The driver's handle, good while this value lives. Whoever changes the graph through it leaves
    /// the graph itself alive.
    #[doc(hidden)]
    #[must_use]
    pub fn graph(&self) -> sys::CUgraph {
        self.outcome.graph.handle()
    }

    /// Verifies the graph as it is now: what [`PreparedCapture::capture`] does before it makes it
    /// executable.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Unordered`], [`CaptureError::Layout`], [`CaptureError::MemoryNodes`], and what the driver refuses.
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

//! A capture taken apart, for tests of the verifier: the driver's graph of it, to be changed, and read
//! back again by the code that reads every graph.
//!
//! This is no way around a [`CapturedGraph`](crate::CapturedGraph): nothing here makes the graph
//! executable, so no change to it can reach memory, and the handle is of use to unsafe calls of the
//! driver alone. It is hidden, and no feature, because what it hides is a few lines that always build.

use std::fmt;
use std::sync::Arc;

use pool_cuda::cudarc::driver::sys;

use super::body::Capture;
use super::error::CaptureError;
use super::prepared::PreparedCapture;
use super::setting::{Made, Purpose, Setting};
use crate::verify::Verified;

/// What a body was captured as; not verified yet, and never run.
#[doc(hidden)]
pub struct DissectedCapture {
    // In the order in which they may go, as in `CapturedGraph`.
    made: Made,
    setting: Arc<Setting>,
}

impl PreparedCapture {
    /// Captures a body, and takes the capture apart instead of handing it over as a graph.
    ///
    /// # Errors
    ///
    /// As [`capture`](Self::capture), but for what is found by verifying.
    #[doc(hidden)]
    pub fn dissect<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<DissectedCapture, E> {
        let setting = Arc::clone(self.setting());
        Ok(DissectedCapture { made: setting.run(Purpose::Graph, state, body)?, setting })
    }
}

impl DissectedCapture {
    /// The driver's handle, good while this value lives. Whoever changes the graph through it leaves
    /// the graph itself alive.
    #[doc(hidden)]
    #[must_use]
    pub fn graph(&self) -> sys::CUgraph {
        self.made.graph.handle()
    }

    /// Verifies the graph as it is now: what [`PreparedCapture::capture`] does before it makes it
    /// executable.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Layout`], [`CaptureError::MemoryNodes`], and what the driver refuses.
    #[doc(hidden)]
    pub fn verify(&self) -> Result<Verified, CaptureError> {
        let Made { graph, recorded, .. } = &self.made;
        let (_, verified) = self.setting.verify(graph, recorded)?;
        Ok(verified)
    }
}

impl fmt::Debug for DissectedCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DissectedCapture").field("graph", &self.made.graph).finish_non_exhaustive()
    }
}

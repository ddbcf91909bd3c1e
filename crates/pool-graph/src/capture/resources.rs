//! What the graphs of a session keep: its streams, and the memory that nodes name.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;
use pool_driver::error::CudaError;

use super::memory::GraphMemory;
use super::registry::{RunStream, come_to_rest};

/// The streams and the memory of a session. Its last owner gives the memory back.
#[derive(Debug)]
pub(crate) struct SessionResources {
    // Do not reorder: memory goes before the streams that used it.
    memory: GraphMemory,
    runs_on: RunStream,
    streams: Arc<[Arc<CudaStream>]>,
}

impl SessionResources {
    /// The first of the streams, of which there is at least one, is the one that graphs run on.
    pub(crate) fn new(
        memory: GraphMemory,
        runs_on: RunStream,
        streams: Arc<[Arc<CudaStream>]>,
    ) -> Self {
        Self { memory, runs_on, streams }
    }

    /// The stream that is captured, and that graphs run on.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.streams[0]
    }

    /// All streams of the session, to be kept.
    pub(crate) fn all_streams(&self) -> Arc<[Arc<CudaStream>]> {
        Arc::clone(&self.streams)
    }

    /// All streams of the session.
    pub(crate) fn streams(&self) -> &[Arc<CudaStream>] {
        &self.streams
    }

    pub(crate) fn runs_on(&self) -> &RunStream {
        &self.runs_on
    }

    pub(crate) fn memory(&self) -> &GraphMemory {
        &self.memory
    }

    /// Waits for all that the stream of the graphs holds.
    ///
    /// # Errors
    ///
    /// Why it cannot be waited for: something may run there still.
    pub(crate) fn come_to_rest(&self) -> Result<(), CudaError> {
        come_to_rest(&self.runs_on, self.stream())
    }
}

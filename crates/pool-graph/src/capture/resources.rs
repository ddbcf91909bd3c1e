//! The resources of a session's graphs: streams, and the memory of nodes.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;
use pool_driver::error::CudaError;

use super::memory::GraphMemory;
use super::registry::{RunStream, come_to_rest};

/// The streams and the memory of a session. The memory is freed when the last owner is dropped.
#[derive(Debug)]
pub(crate) struct SessionResources {
    // Do not reorder: the memory is freed before the streams that used it.
    memory: GraphMemory,
    runs_on: RunStream,
    streams: Arc<[Arc<CudaStream>]>,
}

impl SessionResources {
    /// Creates the resources. There must be at least one stream, and graphs run on the first one.
    pub(crate) fn new(
        memory: GraphMemory,
        runs_on: RunStream,
        streams: Arc<[Arc<CudaStream>]>,
    ) -> Self {
        Self { memory, runs_on, streams }
    }

    /// Returns the stream that is captured and on which graphs run.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.streams[0]
    }

    /// Returns shared ownership of all streams of the session.
    pub(crate) fn all_streams(&self) -> Arc<[Arc<CudaStream>]> {
        Arc::clone(&self.streams)
    }

    /// Returns all streams of the session.
    pub(crate) fn streams(&self) -> &[Arc<CudaStream>] {
        &self.streams
    }

    pub(crate) fn runs_on(&self) -> &RunStream {
        &self.runs_on
    }

    pub(crate) fn memory(&self) -> &GraphMemory {
        &self.memory
    }

    /// Waits for all work on the stream that runs the graphs.
    ///
    /// # Errors
    ///
    /// Returns the reason why the wait failed. Work may still run on the stream in that case.
    pub(crate) fn come_to_rest(&self) -> Result<(), CudaError> {
        come_to_rest(&self.runs_on, self.stream())
    }
}

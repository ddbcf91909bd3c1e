//! The resources that a session's graphs share: the streams and the memory that the graphs' nodes
//! use.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;
use pool_driver::error::CudaError;

use super::memory::GraphMemory;
use super::registry::{RunStream, come_to_rest};

/// A session's streams and memory. The memory is freed when the last owner of the resources is
/// dropped.
#[derive(Debug)]
pub(crate) struct SessionResources {
    // Rust drops fields in declaration order. The memory must be freed before the streams that used
    // it are dropped.
    memory: GraphMemory,
    runs_on: RunStream,
    streams: Arc<[Arc<CudaStream>]>,
}

impl SessionResources {
    /// Creates a session's resources. The list of streams must not be empty, because the graphs run
    /// on its first stream.
    pub(crate) fn new(
        memory: GraphMemory,
        runs_on: RunStream,
        streams: Arc<[Arc<CudaStream>]>,
    ) -> Self {
        Self { memory, runs_on, streams }
    }

    /// Returns the first stream. Captures begin on this stream, and graphs run on it.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.streams[0]
    }

    /// Returns an `Arc` that shares ownership of the session's streams.
    pub(crate) fn all_streams(&self) -> Arc<[Arc<CudaStream>]> {
        Arc::clone(&self.streams)
    }

    /// Returns the session's streams.
    pub(crate) fn streams(&self) -> &[Arc<CudaStream>] {
        &self.streams
    }

    pub(crate) fn runs_on(&self) -> &RunStream {
        &self.runs_on
    }

    pub(crate) fn memory(&self) -> &GraphMemory {
        &self.memory
    }

    /// Waits until all work on the graphs' stream has completed.
    ///
    /// # Errors
    ///
    /// Returns an error if the wait fails. After an error, work may still be running on the stream.
    pub(crate) fn come_to_rest(&self) -> Result<(), CudaError> {
        come_to_rest(&self.runs_on, self.stream())
    }
}

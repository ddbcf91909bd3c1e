//! Deferred destruction of graphs. A dropped graph's objects are destroyed through the queue of
//! deferred frees in `pool-cuda`. Destroying a graph might invalidate a capture on any thread. The
//! objects are therefore destroyed only while the process has no capture in progress.

use std::mem;
use std::sync::Arc;

use pool_driver::captures_under_way::is_capture_under_way;
use pool_driver::cudarc::driver::{CudaContext, CudaStream};
use pool_driver::deferred_frees::{DeferredFreeKind, QueueEntry, Resource, retry_deferred_frees};
use pool_driver::error::CudaError;
use pool_driver::host_buffer::HostBuffer;

use super::copy_buffers::CopyBuffers;
use super::deferred_destruction::DeferredDestruction;
use super::error::CaptureError;
use super::registry::CapturedStreams;
use super::resources::SessionResources;
use super::sharing::Shares;
use crate::driver::{Executable, Graph};

/// A dropped graph's objects, or the objects that an update has replaced. The objects are dropped
/// in declaration order. Only the driver handles need to stay alive until all other captures have
/// ended. Memory and blocks are released as soon as the graph's runs no longer use them.
#[derive(Debug)]
#[expect(dead_code, reason = "most of it is kept for the order of its destructors alone")]
pub(crate) struct RetiredGraph {
    // Rust drops fields in declaration order. The executable graph must be destroyed before the
    // graph, and both must be destroyed before their memory is freed.
    pub(crate) executable: Option<Executable>,
    pub(crate) graph: Graph,
    pub(crate) host: Vec<Option<HostBuffer>>,
    pub(crate) doubtful: Vec<HostBuffer>,
    pub(crate) staged: CopyBuffers,
    pub(crate) shares: Shares,
    /// The streams and memory that the graph's pending runs use, or `None` if no runs are pending.
    pub(crate) resources: Option<Arc<SessionResources>>,
    /// The session's streams, which must outlive all graph runs on them.
    pub(crate) streams: Arc<[Arc<CudaStream>]>,
}

/// An entry in the queue of deferred frees. The entry is reserved in advance, so dropping a graph
/// allocates no memory.
pub(crate) type RetiredGraphEntry = QueueEntry<RetiredGraph>;

impl RetiredGraph {
    /// Destroys the objects immediately or, if a capture is in progress, when the last capture in
    /// the process ends. The call first waits for the graph's runs to finish, because the caller
    /// then drops the graph's state.
    pub(crate) fn end(self, entry: RetiredGraphEntry) {
        drop(entry.own(self));
        retry_deferred_frees();
    }
}

impl Resource for RetiredGraph {
    const KIND: DeferredFreeKind = DeferredFreeKind::GraphRuns;

    fn context(&self) -> Option<&CudaContext> {
        None
    }

    /// Waits for the graph's runs to finish. If the wait fails or a capture is in progress, the
    /// method returns an error, and the objects stay in the queue.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        if let Some(resources) = &self.resources {
            resources.come_to_rest()?;
        }
        if is_capture_under_way() {
            // These resources are released now because other graphs might need them. Releasing
            // these resources does not invalidate any capture.
            let given_back = (mem::take(&mut self.shares), self.resources.take());
            drop(given_back);
            return Err(CudaError::Capturing { operation: "destroy a graph" });
        }
        Ok(())
    }
}

/// A capture of a session's streams. Dropping this value ends the capture and then destroys the
/// objects whose destruction was deferred.
#[derive(Debug)]
pub(crate) struct ActiveCapture {
    // Rust drops fields in declaration order. The streams' captures must have ended before the
    // deferred objects are destroyed.
    streams: CapturedStreams,
    _deferred: DeferredDestruction,
}

impl ActiveCapture {
    /// Reserves all streams to prevent other sessions from capturing them, and waits until all work
    /// previously enqueued on them has completed.
    pub(crate) fn enter(streams: &[Arc<CudaStream>]) -> Result<Self, CaptureError> {
        let capturing =
            Self { streams: CapturedStreams::reserve(streams)?, _deferred: DeferredDestruction };
        capturing.streams.settle(streams)?;
        Ok(capturing)
    }
}

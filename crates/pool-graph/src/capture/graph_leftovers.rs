//! Deferred destruction of graphs. A graph's objects use the queue of deferred frees in
//! `pool-cuda`. Destroying a graph may invalidate a capture on any thread, so the objects are
//! destroyed once no capture of the process is in progress.

use std::mem;
use std::sync::Arc;

use pool_driver::captures_under_way::is_capture_under_way;
use pool_driver::cudarc::driver::{CudaContext, CudaStream};
use pool_driver::error::CudaError;
use pool_driver::host_buffer::HostBuffer;
use pool_driver::leftovers::{LeftoverKind, Place, Resource, give_back_leftovers};

use super::copy_buffers::CopyBuffers;
use super::deferred_destruction::DeferredDestruction;
use super::error::CaptureError;
use super::registry::CapturedStreams;
use super::resources::SessionResources;
use super::sharing::Shares;
use crate::driver::{Executable, Graph};

/// The objects of a dropped graph, or of a graph whose parameters were replaced. They are dropped
/// in this order. Only driver handles wait for other captures; memory and blocks are released as
/// soon as no run uses them.
#[derive(Debug)]
#[expect(dead_code, reason = "most of it is kept for the order of its destructors alone")]
pub(crate) struct GraphLeftovers {
    // Do not reorder: the executable graph is destroyed before the graph, and both are destroyed
    // before their memory.
    pub(crate) executable: Option<Executable>,
    pub(crate) graph: Graph,
    pub(crate) host: Vec<Option<HostBuffer>>,
    pub(crate) doubtful: Vec<HostBuffer>,
    pub(crate) staged: CopyBuffers,
    pub(crate) shares: Shares,
    /// The streams and the memory of the graph's runs; `None` once no run is pending.
    pub(crate) resources: Option<Arc<SessionResources>>,
    /// The session's streams, which outlive the runs on them.
    pub(crate) streams: Arc<[Arc<CudaStream>]>,
}

/// An entry in the queue of deferred frees. It is reserved in advance, so that dropping a graph
/// allocates nothing.
pub(crate) type LeftoversPlace = Place<GraphLeftovers>;

impl GraphLeftovers {
    /// Destroys the objects immediately, or when the last capture of the process ends. The runs of
    /// the graph are waited for first, because the graph's state is dropped afterwards.
    pub(crate) fn end(self, place: LeftoversPlace) {
        drop(place.own(self));
        give_back_leftovers();
    }
}

impl Resource for GraphLeftovers {
    const KIND: LeftoverKind = LeftoverKind::GraphRuns;

    fn context(&self) -> Option<&CudaContext> {
        None
    }

    /// Waits for the runs. The objects are dropped with this value, and each is destroyed or
    /// deferred.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        if let Some(resources) = &self.resources {
            resources.come_to_rest()?;
        }
        if is_capture_under_way() {
            // Other graphs may need these resources, and releasing them invalidates no capture.
            let given_back = (mem::take(&mut self.shares), self.resources.take());
            drop(given_back);
            return Err(CudaError::Capturing { operation: "destroy a graph" });
        }
        Ok(())
    }
}

/// A capture of a session's streams. Dropping this value ends the capture, and destroys the objects
/// that waited for its end.
#[derive(Debug)]
pub(crate) struct ActiveCapture {
    // The order matters: first the streams stop being captured, then the waiting objects are
    // destroyed.
    streams: CapturedStreams,
    _deferred: DeferredDestruction,
}

impl ActiveCapture {
    /// Reserves all of the streams, so that no other code captures them, and waits until their work
    /// has completed.
    pub(crate) fn enter(streams: &[Arc<CudaStream>]) -> Result<Self, CaptureError> {
        let capturing =
            Self { streams: CapturedStreams::reserve(streams)?, _deferred: DeferredDestruction };
        capturing.streams.settle(streams)?;
        Ok(capturing)
    }
}

//! Deferred destruction of graphs. Their objects use the queue of `pool-cuda` for deferred frees.
//! They are destroyed once no capture of the process is in progress, because the destruction of a
//! graph may invalidate a capture of any thread.

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

/// The objects of a dropped graph, or of one whose parameters were replaced: dropped in this order.
/// Only handles of the driver wait for other captures; memory and blocks are released as soon as no
/// run uses them.
#[derive(Debug)]
#[expect(dead_code, reason = "most of it is kept for the order of its destructors alone")]
pub(crate) struct GraphLeftovers {
    // Do not reorder: the executable graph is destroyed before the graph, and both before their
    // memory.
    pub(crate) executable: Option<Executable>,
    pub(crate) graph: Graph,
    pub(crate) host: Vec<Option<HostBuffer>>,
    pub(crate) doubtful: Vec<HostBuffer>,
    pub(crate) staged: CopyBuffers,
    pub(crate) shares: Shares,
    /// The streams and memory of the graph's runs; `None` once no run is pending.
    pub(crate) resources: Option<Arc<SessionResources>>,
    /// The session's streams, which outlive the runs on them.
    pub(crate) streams: Arc<[Arc<CudaStream>]>,
}

/// A place in the queue of deferred frees, reserved in advance: so a drop allocates nothing.
pub(crate) type LeftoversPlace = Place<GraphLeftovers>;

impl GraphLeftovers {
    /// Destroys them, now or when the last capture of the process ends. The runs of the graph are
    /// waited for first: its state is dropped after it.
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

    /// Waits for the runs. The parts are dropped with the value: each is destroyed, or deferred.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        if let Some(resources) = &self.resources {
            resources.come_to_rest()?;
        }
        if is_capture_under_way() {
            // Other graphs may need these, and their release invalidates no capture.
            let given_back = (mem::take(&mut self.shares), self.resources.take());
            drop(given_back);
            return Err(CudaError::Capturing { operation: "destroy a graph" });
        }
        Ok(())
    }
}

/// A capture of a session's streams, until it is dropped: objects that waited for its end are
/// destroyed then.
#[derive(Debug)]
pub(crate) struct ActiveCapture {
    // In this order: the streams are not captured any more, then the waiting objects are destroyed.
    streams: CapturedStreams,
    _deferred: DeferredDestruction,
}

impl ActiveCapture {
    /// Reserves all of the streams, which no other code may capture, and waits until their work is
    /// done.
    pub(crate) fn enter(streams: &[Arc<CudaStream>]) -> Result<Self, CaptureError> {
        let capturing =
            Self { streams: CapturedStreams::reserve(streams)?, _deferred: DeferredDestruction };
        capturing.streams.settle(streams)?;
        Ok(capturing)
    }
}

//! What is left of graphs. It goes through the queue of `pool-cuda` for all that could not be given back: it is destroyed
//! once no capture of the process is under way, because a graph that is destroyed during a capture may invalidate it,
//! whichever thread does it.

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

/// What is left of a dropped graph, or of one whose parameters were replaced: dropped in this order. Only handles of the
/// driver's wait for the captures of others; memory and blocks are given back as soon as nothing runs.
#[derive(Debug)]
#[expect(dead_code, reason = "most of it is kept for the order of its destructors alone")]
pub(crate) struct GraphLeftovers {
    // Do not reorder: the executable goes before the graph, both before the memory that they name.
    pub(crate) executable: Option<Executable>,
    pub(crate) graph: Graph,
    pub(crate) host: Vec<Option<HostBuffer>>,
    pub(crate) doubtful: Vec<HostBuffer>,
    pub(crate) staged: CopyBuffers,
    pub(crate) shares: Shares,
    /// What the graph ran on; none once nothing runs any more.
    pub(crate) resources: Option<Arc<SessionResources>>,
    /// The session's streams, which outlive what ran on them.
    pub(crate) streams: Arc<[Arc<CudaStream>]>,
}

/// A place for leftovers, made before there are any: a drop then needs no memory.
pub(crate) type LeftoversPlace = Place<GraphLeftovers>;

impl GraphLeftovers {
    /// Destroys them, now or when the last capture of the process ends. The runs of the graph are waited for first: its
    /// state goes after it.
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

    /// Waits for the runs. The parts are dropped with the value: each is given back by itself, or left over.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        if let Some(resources) = &self.resources {
            resources.come_to_rest()?;
        }
        if is_capture_under_way() {
            // Others may want these, and giving them back invalidates no capture.
            let given_back = (mem::take(&mut self.shares), self.resources.take());
            drop(given_back);
            return Err(CudaError::Capturing { operation: "destroy a graph" });
        }
        Ok(())
    }
}

/// A capture of a session's streams, until it is dropped: what had to wait for its end is destroyed then.
#[derive(Debug)]
pub(crate) struct ActiveCapture {
    // In this order: the streams are captured no more, then what waited for that is destroyed.
    streams: CapturedStreams,
    _deferred: DeferredDestruction,
}

impl ActiveCapture {
    /// Takes all of the streams, which nobody else captures, and waits until their work is done.
    pub(crate) fn enter(streams: &[Arc<CudaStream>]) -> Result<Self, CaptureError> {
        let capturing =
            Self { streams: CapturedStreams::reserve(streams)?, _deferred: DeferredDestruction };
        capturing.streams.settle(streams)?;
        Ok(capturing)
    }
}

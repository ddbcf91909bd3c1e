//! What is left of graphs, destroyed once no capture of the process is under way: a graph that is destroyed during a
//! capture may invalidate it, whichever thread does it.
//!
//! Under the lock there is only linking; what is unlinked is dropped after. A drop needs no room.

use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use pool_cuda::Chain;
use pool_cuda::cudarc::driver::CudaStream;

use super::copy_buffers::CopyBuffers;
use super::error::CaptureError;
use super::registry::{CapturedStreams, is_any_captured};
use super::resources::SessionResources;
use super::sharing::Shares;
use crate::driver::{Executable, Graph, HostBuffer};

/// What waits for the end of the captures under way.
static DEFERRED: Mutex<Chain<Option<GraphLeftovers>>> = Mutex::new(Chain::new());

/// What is left of a dropped graph, or of one whose parameters were replaced: destroyed in this order. Only what the
/// driver destroys waits for the captures of others; memory and blocks are given back as soon as nothing runs.
#[derive(Debug)]
pub(crate) struct GraphLeftovers {
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
#[derive(Debug, Default)]
pub(crate) struct LeftoversPlace(Chain<Option<GraphLeftovers>>);

impl LeftoversPlace {
    pub(crate) fn new() -> Result<Self, CaptureError> {
        Ok(Self(Chain::of(None)?))
    }

    /// Destroys leftovers, now or when the last capture of the process ends. What of the graph still runs is
    /// waited for first: its state goes after it.
    pub(crate) fn end(mut self, leftovers: GraphLeftovers) {
        if let Some(place) = self.0.iter_mut().next() {
            *place = Some(leftovers);
        }
        end_each(self.0);
        end_deferred();
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

/// Destroys, when it is dropped, what had to wait.
#[derive(Debug)]
struct DeferredDestruction;

impl Drop for DeferredDestruction {
    fn drop(&mut self) {
        end_deferred();
    }
}

/// Destroys those that had to wait, as far as that may be now.
fn end_deferred() {
    if is_any_captured() {
        return;
    }
    let due = mem::take(&mut *DEFERRED.lock());
    end_each(due);
}

/// Destroys what may be destroyed, and defers the others.
fn end_each(mut due: Chain<Option<GraphLeftovers>>) {
    while let Some(mut one) = due.pop() {
        for place in one.iter_mut() {
            *place = place.take().and_then(GraphLeftovers::destroy);
        }
        if one.iter().any(Option::is_some) {
            DEFERRED.lock().add(one);
        }
    }
}

impl GraphLeftovers {
    /// Destroys them, unless a capture is under way: then they only give back what others may want.
    fn destroy(mut self) -> Option<Self> {
        if self.resources.as_ref().is_some_and(|resources| !resources.come_to_rest()) {
            return Some(self);
        }
        if is_any_captured() {
            let given_back = (mem::take(&mut self.shares), self.resources.take());
            drop(given_back);
            return Some(self);
        }
        let Self { executable, graph, host, doubtful, staged, shares, resources, streams } = self;
        drop(executable);
        drop(graph);
        drop((host, doubtful, staged));
        drop(shares);
        drop(resources);
        drop(streams);
        None
    }
}

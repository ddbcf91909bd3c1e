//! The executable of a captured graph, and what else an update replaces.

use std::sync::Arc;

use pool_driver::host_buffer::HostBuffer;

use crate::capture::copy_buffers::CopyBuffers;
use crate::capture::error::CaptureError;
use crate::capture::graph_leftovers::{GraphLeftovers, LeftoversPlace};
use crate::capture::resources::SessionResources;
use crate::capture::sharing::Shares;
use crate::driver::{Executable, Graph};

/// Executable and graph, until they are dropped; their memory stays until they are really destroyed.
pub(super) struct Runs {
    pub(super) of: Option<Parts>,
    pub(super) resources: Arc<SessionResources>,
    /// The place for what is left when the graph is dropped.
    pub(super) place: Option<LeftoversPlace>,
}

/// What an update replaces, and the executable that it changes.
pub(super) struct Parts {
    pub(super) executable: Executable,
    pub(super) graph: Graph,
    /// The host memory that copies of the graph read.
    pub(super) host: Vec<Option<HostBuffer>>,
    /// Where each host argument is among them; one of no bytes needs no memory.
    pub(super) arguments: Vec<Option<usize>>,
    /// What an update brought of which the driver did not say whether it was performed.
    pub(super) doubtful: Vec<HostBuffer>,
    /// The page-locked memory that the graph's blocks are copied through.
    pub(super) staged: CopyBuffers,
    /// What the graph does with its blocks.
    pub(super) shares: Shares,
}

impl Drop for Runs {
    fn drop(&mut self) {
        let (Some(parts), Some(place)) = (self.of.take(), self.place.take()) else { return };
        let Parts { executable, graph, host, doubtful, staged, shares, .. } = parts;
        let (executable, resources) = (Some(executable), Some(Arc::clone(&self.resources)));
        let streams = self.resources.all_streams();
        let remains = GraphLeftovers {
            executable,
            graph,
            host,
            doubtful,
            staged,
            shares,
            resources,
            streams,
        };
        remains.end(place);
    }
}

impl Runs {
    pub(super) fn new(
        parts: Parts,
        resources: Arc<SessionResources>,
        place: LeftoversPlace,
    ) -> Self {
        Self { of: Some(parts), resources, place: Some(place) }
    }

    /// The executable and what belongs to it, which are there until the drop.
    pub(super) fn parts(&mut self) -> Result<&mut Parts, CaptureError> {
        self.of.as_mut().ok_or(CaptureError::Internal { found: "a graph without an executable" })
    }
}

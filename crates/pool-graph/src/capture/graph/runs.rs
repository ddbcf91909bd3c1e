//! A captured graph's executable graph, and the other objects that an update replaces.

use std::sync::Arc;

use pool_driver::host_buffer::HostBuffer;

use crate::capture::copy_buffers::CopyBuffers;
use crate::capture::error::CaptureError;
use crate::capture::resources::SessionResources;
use crate::capture::retired_graph::{RetiredGraph, RetiredGraphEntry};
use crate::capture::sharing::Shares;
use crate::driver::{Executable, Graph};

/// The executable graph and the objects that belong to it. The driver destroys the executable graph
/// and the graph before the memory of these objects is freed.
pub(super) struct Runs {
    pub(super) of: Option<Parts>,
    pub(super) resources: Arc<SessionResources>,
    /// The reserved queue entry for objects that cannot be destroyed when the graph is dropped.
    pub(super) entry: Option<RetiredGraphEntry>,
}

/// The executable graph, and the other objects that an update replaces.
pub(super) struct Parts {
    pub(super) executable: Executable,
    pub(super) graph: Graph,
    /// The host memory from which the graph's copies read.
    pub(super) host: Vec<Option<HostBuffer>>,
    /// The index of each host argument in `host`, or `None` for an argument of 0 bytes.
    pub(super) arguments: Vec<Option<usize>>,
    /// The host buffers of updates whose outcome is unknown.
    pub(super) doubtful: Vec<HostBuffer>,
    /// The page-locked buffers for copies to and from the graph's blocks.
    pub(super) staged: CopyBuffers,
    /// The record of how the graph uses its blocks.
    pub(super) shares: Shares,
}

impl Drop for Runs {
    fn drop(&mut self) {
        let (Some(parts), Some(entry)) = (self.of.take(), self.entry.take()) else { return };
        let Parts { executable, graph, host, doubtful, staged, shares, .. } = parts;
        let (executable, resources) = (Some(executable), Some(Arc::clone(&self.resources)));
        let streams = self.resources.all_streams();
        let remains =
            RetiredGraph { executable, graph, host, doubtful, staged, shares, resources, streams };
        remains.end(entry);
    }
}

impl Runs {
    pub(super) fn new(
        parts: Parts,
        resources: Arc<SessionResources>,
        entry: RetiredGraphEntry,
    ) -> Self {
        Self { of: Some(parts), resources, entry: Some(entry) }
    }

    /// Returns the executable graph and its objects, which exist until this value is dropped.
    pub(super) fn parts(&mut self) -> Result<&mut Parts, CaptureError> {
        self.of.as_mut().ok_or(CaptureError::Internal { found: "a graph has no executable" })
    }
}

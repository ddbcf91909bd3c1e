//! What a capture under way looks like: whether its nodes stand in one row.

use std::collections::BTreeSet;

use pool_cuda::CudaError;
use pool_cuda::cudarc::driver::CudaStream;

use super::graph_reading::{capture_under_way, count_nodes, edges};

/// Whether the graph that a stream is being captured into forks: whether the order of calls is not the
/// order of its nodes. `false` where the stream is not captured.
pub(super) fn forks(stream: &CudaStream) -> Result<bool, CudaError> {
    let Some(capture) = capture_under_way(stream)? else { return Ok(false) };
    // SAFETY: the graph is that of a capture under way.
    let nodes = unsafe { count_nodes(capture.graph) }?;
    // SAFETY: as above.
    let edges = unsafe { edges(capture.graph) }?;
    let sources: BTreeSet<usize> = edges.iter().map(|edge| edge.from.addr()).collect();
    let targets: BTreeSet<usize> = edges.iter().map(|edge| edge.to.addr()).collect();
    // So many edges from as many nodes to as many nodes, without a circle: one row.
    let rows = edges.iter().all(|edge| edge.full)
        && [sources.len(), targets.len(), nodes.saturating_sub(1)] == [edges.len(); 3];
    Ok(!rows)
}

//! What a captured graph looks like: whether its nodes stand in one row.

use std::collections::BTreeSet;

use pool_cuda::CudaError;
use pool_cuda::cudarc::driver::sys;

use super::graph_reading::{count_nodes, edges};

/// Whether a graph forks: whether the order in which it was captured is not the order of its nodes.
///
/// # Safety
///
/// The graph is neither changed nor destroyed meanwhile.
pub(super) unsafe fn forks(graph: sys::CUgraph) -> Result<bool, CudaError> {
    // SAFETY: the caller's promise.
    let nodes = unsafe { count_nodes(graph) }?;
    // SAFETY: as above.
    let edges = unsafe { edges(graph) }?;
    let sources: BTreeSet<usize> = edges.iter().map(|edge| edge.from.addr()).collect();
    let targets: BTreeSet<usize> = edges.iter().map(|edge| edge.to.addr()).collect();
    // So many edges from as many nodes to as many nodes, without a circle: one row.
    let rows = edges.iter().all(|edge| edge.full)
        && [sources.len(), targets.len(), nodes.saturating_sub(1)] == [edges.len(); 3];
    Ok(!rows)
}

//! Checks whether a captured graph is a chain.

use std::collections::BTreeSet;

use pool_driver::cudarc::driver::sys;
use pool_driver::error::CudaError;

use super::graph_reading::{child_graph, edges, kind_of, nodes};
use super::refusal::NodeKind;

/// Returns `true` if a graph, or a graph nested in one of its nodes, forks. A graph forks if the
/// order of the calls in its capture is not the order of its nodes. A node of an unreadable kind,
/// such as a conditional node, counts as a fork.
///
/// # Safety
///
/// The graph must be neither changed nor destroyed during the call.
pub(crate) unsafe fn forks(graph: sys::CUgraph) -> Result<bool, CudaError> {
    let mut open = vec![graph];
    while let Some(graph) = open.pop() {
        // SAFETY: the caller promises that the outer graph stays unchanged. A nested graph belongs
        // to the outer graph, so it also stays unchanged.
        let nodes = unsafe { nodes(graph) }?;
        // SAFETY: the graph stays unchanged, as in the previous call.
        if !unsafe { stands_in_one_row(graph, nodes.len()) }? {
            return Ok(true);
        }
        for node in nodes {
            // SAFETY: the node belongs to that graph.
            let kind = unsafe { kind_of(node) }?;
            if !kind.tells_its_memory() {
                return Ok(true);
            }
            if kind == NodeKind::ChildGraph {
                // SAFETY: the node belongs to that graph, and is of the kind `ChildGraph`.
                open.push(unsafe { child_graph(node) }?);
            }
        }
    }
    Ok(false)
}

/// # Safety
///
/// The same as for [`forks`].
unsafe fn stands_in_one_row(graph: sys::CUgraph, nodes: usize) -> Result<bool, CudaError> {
    // SAFETY: the caller promises that the graph stays unchanged.
    let edges = unsafe { edges(graph) }?;
    let sources: BTreeSet<usize> = edges.iter().map(|edge| edge.from.addr()).collect();
    let targets: BTreeSet<usize> = edges.iter().map(|edge| edge.to.addr()).collect();
    // A graph without cycles is a chain under three conditions. All edges are full. Each node is
    // the source of at most one edge and the target of at most one. The number of edges is one less
    // than the number of nodes.
    Ok(edges.iter().all(|edge| edge.full)
        && [sources.len(), targets.len(), nodes.saturating_sub(1)] == [edges.len(); 3])
}

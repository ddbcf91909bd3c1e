//! Checks if a captured graph is a chain.

use std::collections::BTreeSet;

use pool_driver::cudarc::driver::sys;
use pool_driver::error::CudaError;

use super::graph_reading::{child_graph, edges, kind_of, nodes};
use super::refusal::NodeKind;

/// Returns `true` if a graph, or a graph in one of its nodes, forks: if the order of its capture is
/// not the order of its nodes. A node of an unreadable kind, such as a conditional one, counts as a
/// fork.
///
/// # Safety
///
/// The graph must be neither changed nor destroyed meanwhile.
pub(crate) unsafe fn forks(graph: sys::CUgraph) -> Result<bool, CudaError> {
    let mut open = vec![graph];
    while let Some(graph) = open.pop() {
        // SAFETY: the caller's promise; a graph in a node is the outer graph's.
        let nodes = unsafe { nodes(graph) }?;
        // SAFETY: as above.
        if !unsafe { stands_in_one_row(graph, nodes.len()) }? {
            return Ok(true);
        }
        for node in nodes {
            // SAFETY: the node is of that graph.
            let kind = unsafe { kind_of(node) }?;
            if !kind.tells_its_memory() {
                return Ok(true);
            }
            if kind == NodeKind::ChildGraph {
                // SAFETY: as above, and it is of that kind.
                open.push(unsafe { child_graph(node) }?);
            }
        }
    }
    Ok(false)
}

/// # Safety
///
/// Same as for [`forks`].
unsafe fn stands_in_one_row(graph: sys::CUgraph, nodes: usize) -> Result<bool, CudaError> {
    // SAFETY: the caller's promise.
    let edges = unsafe { edges(graph) }?;
    let sources: BTreeSet<usize> = edges.iter().map(|edge| edge.from.addr()).collect();
    let targets: BTreeSet<usize> = edges.iter().map(|edge| edge.to.addr()).collect();
    // Full edges, each node the source of at most one and the target of at most one, one edge fewer
    // than nodes, and no circle: a chain.
    Ok(edges.iter().all(|edge| edge.full)
        && [sources.len(), targets.len(), nodes.saturating_sub(1)] == [edges.len(); 3])
}

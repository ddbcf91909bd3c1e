//! Checks whether a captured graph's nodes form a simple chain.

use std::collections::BTreeSet;

use pool_driver::cudarc::driver::sys;
use pool_driver::error::CudaError;

use super::graph_reading::{child_graph, edges, kind_of, nodes};
use super::refusal::NodeKind;

/// Returns `true` if the graph or one of its nested graphs forks. A graph forks if its nodes might
/// run in an order other than the one in which they were captured. A node with unknown memory
/// accesses, such as a conditional node, counts as a fork.
///
/// # Safety
///
/// The graph must not be changed or destroyed during this call.
pub(crate) unsafe fn forks(graph: sys::CUgraph) -> Result<bool, CudaError> {
    let mut open = vec![graph];
    while let Some(graph) = open.pop() {
        // SAFETY: the caller guarantees that the outer graph is not changed or destroyed during
        // this call. A nested graph belongs to the outer graph, so it is not changed or destroyed
        // either.
        let nodes = unsafe { nodes(graph) }?;
        // SAFETY: the caller guarantees that the graph is not changed or destroyed during this
        // call.
        if !unsafe { stands_in_one_row(graph, nodes.len()) }? {
            return Ok(true);
        }
        for node in nodes {
            // SAFETY: the node belongs to the graph, which the caller keeps alive during the call.
            let kind = unsafe { kind_of(node) }?;
            if !kind.tells_its_memory() {
                return Ok(true);
            }
            if kind == NodeKind::ChildGraph {
                // SAFETY: the node's kind is `ChildGraph`, and the node belongs to the graph that
                // the caller keeps alive.
                open.push(unsafe { child_graph(node) }?);
            }
        }
    }
    Ok(false)
}

/// # Safety
///
/// The graph must not be changed or destroyed during this call.
unsafe fn stands_in_one_row(graph: sys::CUgraph, nodes: usize) -> Result<bool, CudaError> {
    // SAFETY: the caller guarantees that the graph is not changed or destroyed during this call.
    let edges = unsafe { edges(graph) }?;
    let sources: BTreeSet<usize> = edges.iter().map(|edge| edge.from.addr()).collect();
    let targets: BTreeSet<usize> = edges.iter().map(|edge| edge.to.addr()).collect();
    // A graph without cycles is a chain if all its edges are full and no node has more than one
    // incoming or outgoing edge. The number of edges must also be one less than the number of
    // nodes.
    Ok(edges.iter().all(|edge| edge.full)
        && [sources.len(), targets.len(), nodes.saturating_sub(1)] == [edges.len(); 3])
}

//! Checks whether a captured graph's nodes form a simple chain.

use std::collections::BTreeSet;

use pool_driver::cudarc::driver::sys;
use pool_driver::error::CudaError;

use super::graph_reading::{child_graph, edges, kind_of, nodes};
use super::refusal::NodeKind;

/// Returns `true` if the graph or one of its nested graphs forks. A graph forks if its nodes may
/// run in a different order than the calls in its capture. A node whose memory accesses are
/// unknown, such as a conditional node, counts as a fork.
///
/// # Safety
///
/// No code may change or destroy the graph during this call.
pub(crate) unsafe fn forks(graph: sys::CUgraph) -> Result<bool, CudaError> {
    let mut open = vec![graph];
    while let Some(graph) = open.pop() {
        // SAFETY: the caller guarantees that no code changes or destroys the outer graph during
        // this call. A nested graph belongs to the outer graph, so no code changes or destroys it
        // either.
        let nodes = unsafe { nodes(graph) }?;
        // SAFETY: the caller guarantees that no code changes or destroys the graph during this
        // call.
        if !unsafe { stands_in_one_row(graph, nodes.len()) }? {
            return Ok(true);
        }
        for node in nodes {
            // SAFETY: the node belongs to the graph, and the caller keeps this graph alive during
            // the call.
            let kind = unsafe { kind_of(node) }?;
            if !kind.tells_its_memory() {
                return Ok(true);
            }
            if kind == NodeKind::ChildGraph {
                // SAFETY: the node's kind is `ChildGraph`, and it belongs to the graph that the
                // caller keeps alive.
                open.push(unsafe { child_graph(node) }?);
            }
        }
    }
    Ok(false)
}

/// # Safety
///
/// No code may change or destroy the graph during this call.
unsafe fn stands_in_one_row(graph: sys::CUgraph, nodes: usize) -> Result<bool, CudaError> {
    // SAFETY: the caller guarantees that no code changes or destroys the graph during this call.
    let edges = unsafe { edges(graph) }?;
    let sources: BTreeSet<usize> = edges.iter().map(|edge| edge.from.addr()).collect();
    let targets: BTreeSet<usize> = edges.iter().map(|edge| edge.to.addr()).collect();
    // A graph without cycles is a chain if all its edges are full and no node has several incoming
    // or several outgoing edges. The number of edges in a chain must also be one less than the
    // number of nodes.
    Ok(edges.iter().all(|edge| edge.full)
        && [sources.len(), targets.len(), nodes.saturating_sub(1)] == [edges.len(); 3])
}

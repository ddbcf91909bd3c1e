//! What the driver says of a graph: that of a capture under way, its nodes, its edges, the graphs in its nodes.

use std::ptr;

use pool_driver::answer::answer;
use pool_driver::cudarc::driver::{CudaStream, sys};
use pool_driver::error::CudaError;
use pool_driver::versioned::{CaptureInfo, EdgeData, capture_info, graph_edges};

use super::refusal::NodeKind;

/// A capture under way.
pub(crate) struct CaptureUnderWay {
    /// What tells it from every other capture of the process.
    pub(crate) id: u64,
}

/// An edge of a graph.
pub(crate) struct NodeEdge {
    pub(crate) from: sys::CUgraphNode,
    pub(crate) to: sys::CUgraphNode,
    /// Whether the one is complete before the other begins. Programmatic edges order no memory.
    pub(crate) full: bool,
}

/// The capture that a stream is in; `None` where there is none, or it is invalidated.
pub(crate) fn capture_under_way(stream: &CudaStream) -> Result<Option<CaptureUnderWay>, CudaError> {
    // SAFETY: the stream is live while its owner is borrowed.
    let info = unsafe { active_capture(stream.cu_stream()) }?;
    Ok(info.map(|info| CaptureUnderWay { id: info.id }))
}

/// # Safety
///
/// The stream is live.
unsafe fn active_capture(stream: sys::CUstream) -> Result<Option<CaptureInfo>, CudaError> {
    // SAFETY: the caller's promise.
    let info = unsafe { capture_info(stream) }?;
    let active = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
    Ok((info.status == active).then_some(info))
}

/// The nodes that come before whatever is put on a captured stream next; `None` where it is not captured, or
/// its capture is invalidated.
///
/// # Safety
///
/// The stream is live, and neither is the driver called for it by another thread meanwhile, nor its capture
/// ended by one.
pub(crate) unsafe fn frontier(
    stream: sys::CUstream,
) -> Result<Option<Vec<sys::CUgraphNode>>, CudaError> {
    // SAFETY: the stream is live (caller).
    let Some(CaptureInfo { nodes, count, .. }) = (unsafe { active_capture(stream) })? else {
        return Ok(None);
    };
    if count == 0 || nodes.is_null() {
        return Ok(Some(Vec::new()));
    }
    // SAFETY: the driver gave so many handles, which stay until the next call on this stream or the end of
    // the capture; neither comes meanwhile (caller).
    Ok(Some(unsafe { std::slice::from_raw_parts(nodes, count) }.to_vec()))
}

/// How many nodes a graph has.
///
/// # Safety
///
/// The graph is not destroyed meanwhile.
pub(crate) unsafe fn count_nodes(graph: sys::CUgraph) -> Result<usize, CudaError> {
    let mut count = 0;
    // SAFETY: the graph is good (caller), the place outlives the call, and no nodes are asked for.
    let asked = unsafe { sys::cuGraphGetNodes(graph, ptr::null_mut(), &raw mut count) };
    answer("cuGraphGetNodes", asked.result())?;
    Ok(count)
}

/// The nodes of a graph.
///
/// # Safety
///
/// As for [`count_nodes`].
pub(crate) unsafe fn nodes(graph: sys::CUgraph) -> Result<Vec<sys::CUgraphNode>, CudaError> {
    // SAFETY: the caller's promise.
    let mut count = unsafe { count_nodes(graph) }?;
    let mut nodes = vec![ptr::null_mut(); count];
    if count > 0 {
        let places = nodes.as_mut_ptr();
        // SAFETY: the graph is good (caller), and there is room for so many.
        let asked = unsafe { sys::cuGraphGetNodes(graph, places, &raw mut count) };
        answer("cuGraphGetNodes", asked.result())?;
    }
    Ok(nodes)
}

/// What kind of node it is.
///
/// # Safety
///
/// The node is of a graph that is not destroyed meanwhile.
pub(crate) unsafe fn kind_of(node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
    // Read as a number: a driver may know more kinds than the bindings, whose enum is `repr(u32)`.
    let mut kind = u32::MAX;
    // SAFETY: the node is good (caller), and the place outlives the call, and is as large.
    let asked = unsafe { sys::cuGraphNodeGetType(node, (&raw mut kind).cast()) };
    answer("cuGraphNodeGetType", asked.result())?;
    Ok(NodeKind::of_driver(kind))
}

/// The graph that is in a node: the node's own, not a copy, and good for as long as the graph that the node is in.
///
/// # Safety
///
/// As for [`kind_of`], and the node is of the kind [`NodeKind::ChildGraph`].
pub(crate) unsafe fn child_graph(node: sys::CUgraphNode) -> Result<sys::CUgraph, CudaError> {
    let mut graph = ptr::null_mut();
    // SAFETY: the node is good (caller), and the place outlives the call.
    let asked = unsafe { sys::cuGraphChildGraphNodeGetGraph(node, &raw mut graph) };
    answer("cuGraphChildGraphNodeGetGraph", asked.result())?;
    Ok(graph)
}

/// The edges of a graph.
///
/// # Safety
///
/// As for [`count_nodes`].
pub(crate) unsafe fn edges(graph: sys::CUgraph) -> Result<Vec<NodeEdge>, CudaError> {
    let (none, no_data) = (ptr::null_mut(), ptr::null_mut());
    let mut count = 0;
    // SAFETY: the graph is good (caller), and no edges are asked for.
    unsafe { graph_edges(graph, none, none, no_data, &mut count) }?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut from = vec![ptr::null_mut(); count];
    let (mut to, mut data) = (from.clone(), vec![EdgeData::default(); count]);
    let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
    // SAFETY: the graph is good (caller), and each place has room for so many.
    unsafe { graph_edges(graph, sources, targets, data.as_mut_ptr(), &mut count) }?;
    // All kinds but 0 order no memory.
    let edges = from.into_iter().zip(to).zip(data).take(count);
    Ok(edges.map(|((from, to), data)| NodeEdge { from, to, full: data.kind == 0 }).collect())
}

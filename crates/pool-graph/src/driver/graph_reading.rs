//! The driver's queries of a graph: the graph of a capture in progress, its nodes, its edges, and
//! child graphs.

use std::ptr;

use pool_driver::answer::answer;
use pool_driver::cudarc::driver::{CudaStream, sys};
use pool_driver::error::CudaError;
use pool_driver::versioned::{CaptureInfo, EdgeData, capture_info, graph_edges};

use super::refusal::NodeKind;

/// A capture in progress.
pub(crate) struct CaptureUnderWay {
    /// Its ID, unique in the process.
    pub(crate) id: u64,
}

/// An edge of a graph.
pub(crate) struct NodeEdge {
    pub(crate) from: sys::CUgraphNode,
    pub(crate) to: sys::CUgraphNode,
    /// `true` if the source completes before the target begins. Programmatic edges order no memory.
    pub(crate) full: bool,
}

/// Returns the capture of a stream; `None` if there is none, or it is invalidated.
pub(crate) fn capture_under_way(stream: &CudaStream) -> Result<Option<CaptureUnderWay>, CudaError> {
    // SAFETY: the stream is live while its owner is borrowed.
    let info = unsafe { active_capture(stream.cu_stream()) }?;
    Ok(info.map(|info| CaptureUnderWay { id: info.id }))
}

/// # Safety
///
/// The stream must be live.
unsafe fn active_capture(stream: sys::CUstream) -> Result<Option<CaptureInfo>, CudaError> {
    // SAFETY: the caller's promise.
    let info = unsafe { capture_info(stream) }?;
    let active = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
    Ok((info.status == active).then_some(info))
}

/// Returns the nodes that the next work on a captured stream depends on; `None` if it is not
/// captured, or its capture is invalidated.
///
/// # Safety
///
/// The stream must be live. Meanwhile no other thread may call the driver for it, or end its
/// capture.
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
    // SAFETY: the driver returned this many handles, valid until the next call on this stream or
    // the end of the capture; neither happens meanwhile (caller).
    Ok(Some(unsafe { std::slice::from_raw_parts(nodes, count) }.to_vec()))
}

/// Returns the number of a graph's nodes.
///
/// # Safety
///
/// The graph must not be destroyed meanwhile.
pub(crate) unsafe fn count_nodes(graph: sys::CUgraph) -> Result<usize, CudaError> {
    let mut count = 0;
    // SAFETY: the graph is live (caller), the place outlives the call, and no nodes are requested.
    let asked = unsafe { sys::cuGraphGetNodes(graph, ptr::null_mut(), &raw mut count) };
    answer("cuGraphGetNodes", asked.result())?;
    Ok(count)
}

/// Returns the nodes of a graph.
///
/// # Safety
///
/// Same as for [`count_nodes`].
pub(crate) unsafe fn nodes(graph: sys::CUgraph) -> Result<Vec<sys::CUgraphNode>, CudaError> {
    // SAFETY: the caller's promise.
    let mut count = unsafe { count_nodes(graph) }?;
    let mut nodes = vec![ptr::null_mut(); count];
    if count > 0 {
        let places = nodes.as_mut_ptr();
        // SAFETY: the graph is live (caller), and the array has that many entries.
        let asked = unsafe { sys::cuGraphGetNodes(graph, places, &raw mut count) };
        answer("cuGraphGetNodes", asked.result())?;
    }
    Ok(nodes)
}

/// Returns the kind of a node.
///
/// # Safety
///
/// The node must belong to a graph that is not destroyed meanwhile.
pub(crate) unsafe fn kind_of(node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
    // It is read as a number: a driver may have more kinds than the bindings, whose enum is
    // `repr(u32)`.
    let mut kind = u32::MAX;
    // SAFETY: the node is live (caller), and the place outlives the call, and has the enum's size.
    let asked = unsafe { sys::cuGraphNodeGetType(node, (&raw mut kind).cast()) };
    answer("cuGraphNodeGetType", asked.result())?;
    Ok(NodeKind::of_driver(kind))
}

/// Returns the graph in a node: the node's own, not a copy, valid for as long as the graph that
/// contains the node.
///
/// # Safety
///
/// Same as for [`kind_of`], and the node must be of the kind [`NodeKind::ChildGraph`].
pub(crate) unsafe fn child_graph(node: sys::CUgraphNode) -> Result<sys::CUgraph, CudaError> {
    let mut graph = ptr::null_mut();
    // SAFETY: the node is live (caller), and the place outlives the call.
    let asked = unsafe { sys::cuGraphChildGraphNodeGetGraph(node, &raw mut graph) };
    answer("cuGraphChildGraphNodeGetGraph", asked.result())?;
    Ok(graph)
}

/// Returns the edges of a graph.
///
/// # Safety
///
/// Same as for [`count_nodes`].
pub(crate) unsafe fn edges(graph: sys::CUgraph) -> Result<Vec<NodeEdge>, CudaError> {
    let (none, no_data) = (ptr::null_mut(), ptr::null_mut());
    let mut count = 0;
    // SAFETY: the graph is live (caller), and no edges are requested.
    unsafe { graph_edges(graph, none, none, no_data, &mut count) }?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut from = vec![ptr::null_mut(); count];
    let (mut to, mut data) = (from.clone(), vec![EdgeData::default(); count]);
    let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
    // SAFETY: the graph is live (caller), and each array has that many entries.
    unsafe { graph_edges(graph, sources, targets, data.as_mut_ptr(), &mut count) }?;
    // All kinds but 0 order no memory.
    let edges = from.into_iter().zip(to).zip(data).take(count);
    Ok(edges.map(|((from, to), data)| NodeEdge { from, to, full: data.kind == 0 }).collect())
}

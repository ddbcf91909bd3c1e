//! Driver queries about captures and graphs. These queries read the capture in progress on a
//! stream, a graph's nodes and edges, and a node's child graph.

use std::ptr;

use pool_driver::answer::answer;
use pool_driver::cudarc::driver::{CudaStream, sys};
use pool_driver::error::CudaError;
use pool_driver::versioned::{CaptureInfo, EdgeData, capture_info, graph_edges};

use super::refusal::NodeKind;

/// Information about a capture in progress on a stream.
pub(crate) struct CaptureUnderWay {
    /// The driver's capture ID, which is unique within the process.
    pub(crate) id: u64,
}

/// An edge between two nodes of a graph.
pub(crate) struct NodeEdge {
    pub(crate) from: sys::CUgraphNode,
    pub(crate) to: sys::CUgraphNode,
    /// `true` if the target node begins only after the source node has completed. Programmatic
    /// edges do not guarantee this order, so they do not order memory accesses.
    pub(crate) full: bool,
}

/// Returns the capture in progress on a stream. Returns `None` if the stream is not being captured
/// or its capture has been invalidated.
pub(crate) fn capture_under_way(stream: &CudaStream) -> Result<Option<CaptureUnderWay>, CudaError> {
    // SAFETY: the stream is live because its owner is borrowed.
    let info = unsafe { active_capture(stream.cu_stream()) }?;
    Ok(info.map(|info| CaptureUnderWay { id: info.id }))
}

/// # Safety
///
/// The stream must be live during the call.
unsafe fn active_capture(stream: sys::CUstream) -> Result<Option<CaptureInfo>, CudaError> {
    // SAFETY: the caller guarantees that the stream is live.
    let info = unsafe { capture_info(stream) }?;
    let active = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
    Ok((info.status == active).then_some(info))
}

/// Returns the nodes that the captured stream's next work depends on. Returns `None` if the stream
/// is not being captured or its capture has been invalidated.
///
/// # Safety
///
/// The stream must be live. During this call, no other thread may pass the stream to the driver or
/// end its capture.
pub(crate) unsafe fn frontier(
    stream: sys::CUstream,
) -> Result<Option<Vec<sys::CUgraphNode>>, CudaError> {
    // SAFETY: the caller guarantees that the stream is live.
    let Some(CaptureInfo { nodes, count, .. }) = (unsafe { active_capture(stream) })? else {
        return Ok(None);
    };
    if count == 0 || nodes.is_null() {
        return Ok(Some(Vec::new()));
    }
    // SAFETY: the driver returned an array of `count` handles. The array stays valid until the next
    // driver call on this stream or the end of the capture. The caller guarantees that, during this
    // call, no other driver call uses this stream and the capture does not end.
    Ok(Some(unsafe { std::slice::from_raw_parts(nodes, count) }.to_vec()))
}

/// Returns the number of nodes in a graph.
///
/// # Safety
///
/// The graph must not be destroyed during this call.
pub(crate) unsafe fn count_nodes(graph: sys::CUgraph) -> Result<usize, CudaError> {
    let mut count = 0;
    // SAFETY: the caller guarantees that the graph is live. `count` outlives the call. Because the
    // array pointer is null, the driver returns only the number of nodes.
    let asked = unsafe { sys::cuGraphGetNodes(graph, ptr::null_mut(), &raw mut count) };
    answer("cuGraphGetNodes", asked.result())?;
    Ok(count)
}

/// Returns a graph's nodes.
///
/// # Safety
///
/// The graph must not be destroyed during this call.
pub(crate) unsafe fn nodes(graph: sys::CUgraph) -> Result<Vec<sys::CUgraphNode>, CudaError> {
    // SAFETY: the caller guarantees that the graph is live.
    let mut count = unsafe { count_nodes(graph) }?;
    let mut nodes = vec![ptr::null_mut(); count];
    if count > 0 {
        let places = nodes.as_mut_ptr();
        // SAFETY: the caller guarantees that the graph is live. The array has space for `count`
        // entries.
        let asked = unsafe { sys::cuGraphGetNodes(graph, places, &raw mut count) };
        answer("cuGraphGetNodes", asked.result())?;
    }
    Ok(nodes)
}

/// Returns the kind of a node.
///
/// # Safety
///
/// The node must belong to a graph that is not destroyed during this call.
pub(crate) unsafe fn kind_of(node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
    // The kind is read as a number because a newer driver might return kinds that are missing from
    // the bindings' enum. This enum is `repr(u32)`.
    let mut kind = u32::MAX;
    // SAFETY: the caller guarantees that the node is live. `kind` outlives the call that writes to
    // it and has the same size as the enum.
    let asked = unsafe { sys::cuGraphNodeGetType(node, (&raw mut kind).cast()) };
    answer("cuGraphNodeGetType", asked.result())?;
    Ok(NodeKind::of_driver(kind))
}

/// Returns a node's child graph. The result is the graph inside the node, not a copy of it. The
/// child graph stays valid for as long as the graph that contains the node exists.
///
/// # Safety
///
/// The node must belong to a graph that is not destroyed during this call, and its kind must be
/// [`NodeKind::ChildGraph`].
pub(crate) unsafe fn child_graph(node: sys::CUgraphNode) -> Result<sys::CUgraph, CudaError> {
    let mut graph = ptr::null_mut();
    // SAFETY: the caller guarantees that the node is live. `graph` outlives the call that writes to
    // it.
    let asked = unsafe { sys::cuGraphChildGraphNodeGetGraph(node, &raw mut graph) };
    answer("cuGraphChildGraphNodeGetGraph", asked.result())?;
    Ok(graph)
}

/// Returns a graph's edges.
///
/// # Safety
///
/// The graph must not be destroyed during this call.
pub(crate) unsafe fn edges(graph: sys::CUgraph) -> Result<Vec<NodeEdge>, CudaError> {
    let (none, no_data) = (ptr::null_mut(), ptr::null_mut());
    let mut count = 0;
    // SAFETY: the caller guarantees that the graph is live. Because the array pointers are null,
    // the driver returns only the number of edges.
    unsafe { graph_edges(graph, none, none, no_data, &mut count) }?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut from = vec![ptr::null_mut(); count];
    let (mut to, mut data) = (from.clone(), vec![EdgeData::default(); count]);
    let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
    // SAFETY: the caller guarantees that the graph is live. Each of the three arrays has space for
    // `count` entries.
    unsafe { graph_edges(graph, sources, targets, data.as_mut_ptr(), &mut count) }?;
    // Only edges of type 0 establish an order between memory accesses.
    let edges = from.into_iter().zip(to).zip(data).take(count);
    Ok(edges.map(|((from, to), data)| NodeEdge { from, to, full: data.kind == 0 }).collect())
}

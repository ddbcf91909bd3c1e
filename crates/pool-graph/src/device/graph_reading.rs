//! What the driver says of a graph: that of a capture under way, its nodes, its edges.

use std::ptr;

use pool_cuda::CudaError;
use pool_cuda::cudarc::driver::{CudaStream, sys};

use super::memory::answer;

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

/// The capture that a stream is in; `None` where there is none, or it is spoiled.
pub(crate) fn capture_under_way(stream: &CudaStream) -> Result<Option<CaptureUnderWay>, CudaError> {
    // SAFETY: the stream is live while its owner is borrowed.
    let shown = unsafe { capture_info(stream.cu_stream()) }?;
    Ok(shown.map(|shown| shown.capture))
}

/// What the driver tells of a captured stream.
struct Shown {
    capture: CaptureUnderWay,
    /// The nodes that come before whatever is put on the stream next, in an array of the driver's. It is good
    /// until anybody's next call on this stream, whichever thread makes it, or until the capture is ended.
    nodes: *const sys::CUgraphNode,
    count: usize,
}

/// # Safety
///
/// The stream is live.
unsafe fn capture_info(stream: sys::CUstream) -> Result<Option<Shown>, CudaError> {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut id, mut graph, mut count) = (0, ptr::null_mut(), 0);
    let (mut nodes, mut data) = (ptr::null(), ptr::null());
    // SAFETY: the stream is live (caller), and every place outlives the call. Whoever leaves out the edges'
    // data is refused where there is any.
    let asked = unsafe {
        sys::cuStreamGetCaptureInfo_v3(
            stream,
            &raw mut status,
            &raw mut id,
            &raw mut graph,
            &raw mut nodes,
            &raw mut data,
            &raw mut count,
        )
    };
    answer("cuStreamGetCaptureInfo", asked.result())?;
    if status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE {
        return Ok(None);
    }
    Ok(Some(Shown { capture: CaptureUnderWay { id }, nodes, count }))
}

/// The nodes that come before whatever is put on a captured stream next; `None` where it is not captured, or
/// its capture is spoiled.
///
/// # Safety
///
/// The stream is live, and neither is the driver called for it by another thread meanwhile, nor its capture
/// ended by one.
pub(crate) unsafe fn frontier(
    stream: sys::CUstream,
) -> Result<Option<Vec<sys::CUgraphNode>>, CudaError> {
    // SAFETY: the stream is live (caller).
    let Some(Shown { nodes, count, .. }) = (unsafe { capture_info(stream) })? else {
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

/// The edges of a graph.
///
/// # Safety
///
/// As for [`count_nodes`].
pub(crate) unsafe fn edges(graph: sys::CUgraph) -> Result<Vec<NodeEdge>, CudaError> {
    let (none, no_data) = (ptr::null_mut(), ptr::null_mut());
    let mut count = 0;
    // SAFETY: the graph is good (caller), the place outlives the call, and no edges are asked for.
    let asked = unsafe { sys::cuGraphGetEdges_v2(graph, none, none, no_data, &raw mut count) };
    answer("cuGraphGetEdges", asked.result())?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let plain = sys::CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
    let mut from = vec![ptr::null_mut(); count];
    let (mut to, mut data) = (from.clone(), vec![plain; count]);
    let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
    // SAFETY: the graph is good (caller), and each place has room for so many.
    let asked = unsafe {
        sys::cuGraphGetEdges_v2(graph, sources, targets, data.as_mut_ptr(), &raw mut count)
    };
    answer("cuGraphGetEdges", asked.result())?;
    // Type 0 is the default: full completion. All others order no memory.
    let edges = from.into_iter().zip(to).zip(data).take(count);
    Ok(edges.map(|((from, to), data)| NodeEdge { from, to, full: data.type_ == 0 }).collect())
}

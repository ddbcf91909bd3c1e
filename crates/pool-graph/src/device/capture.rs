//! What a capture under way looks like: whether its nodes stand in one row.

use std::collections::BTreeSet;
use std::ptr;

use pool_cuda::CudaError;
use pool_cuda::cudarc::driver::{CudaStream, sys};

use super::memory::answer;

/// Whether the graph that a stream is being captured into forks: whether the order of calls is not the
/// order of its nodes. `false` where the stream is not captured.
pub(super) fn forks(stream: &CudaStream) -> Result<bool, CudaError> {
    let Some(graph) = graph_under_way(stream)? else { return Ok(false) };
    let nodes = count_nodes(graph)?;
    let edges = edges(graph)?;
    let sources: BTreeSet<usize> = edges.iter().map(|edge| edge.from).collect();
    let targets: BTreeSet<usize> = edges.iter().map(|edge| edge.to).collect();
    // So many edges from as many nodes to as many nodes, without a circle: one row.
    let rows = edges.iter().all(|edge| edge.orders_memory)
        && [sources.len(), targets.len(), nodes.saturating_sub(1)] == [edges.len(); 3];
    Ok(!rows)
}

/// An edge of a graph, its nodes as numbers.
struct Edge {
    from: usize,
    to: usize,
    /// Programmatic edges do not.
    orders_memory: bool,
}

fn graph_under_way(stream: &CudaStream) -> Result<Option<sys::CUgraph>, CudaError> {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut id, mut graph, mut count) = (0, ptr::null_mut(), 0);
    let (mut nodes, mut data) = (ptr::null(), ptr::null());
    // SAFETY: the stream is live while its owner is borrowed, and every place outlives the call.
    let asked = unsafe {
        sys::cuStreamGetCaptureInfo_v3(
            stream.cu_stream(),
            &raw mut status,
            &raw mut id,
            &raw mut graph,
            &raw mut nodes,
            &raw mut data,
            &raw mut count,
        )
    };
    answer("cuStreamGetCaptureInfo", asked.result())?;
    let active = status == sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
    Ok(active.then_some(graph))
}

fn count_nodes(graph: sys::CUgraph) -> Result<usize, CudaError> {
    let mut count = 0;
    // SAFETY: the graph is that of a capture under way, and no nodes are asked for.
    let asked = unsafe { sys::cuGraphGetNodes(graph, ptr::null_mut(), &raw mut count) };
    answer("cuGraphGetNodes", asked.result())?;
    Ok(count)
}

fn edges(graph: sys::CUgraph) -> Result<Vec<Edge>, CudaError> {
    let (none, no_data) = (ptr::null_mut(), ptr::null_mut());
    let mut count = 0;
    // SAFETY: the graph is that of a capture under way, and no edges are asked for.
    let asked = unsafe { sys::cuGraphGetEdges_v2(graph, none, none, no_data, &raw mut count) };
    answer("cuGraphGetEdges", asked.result())?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut from = vec![ptr::null_mut(); count];
    let mut to = vec![ptr::null_mut(); count];
    let full = sys::CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
    let mut data = vec![full; count];
    let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
    // SAFETY: each place has room for so many edges.
    let asked = unsafe {
        sys::cuGraphGetEdges_v2(graph, sources, targets, data.as_mut_ptr(), &raw mut count)
    };
    answer("cuGraphGetEdges", asked.result())?;
    let edge =
        |((from, to), data): ((sys::CUgraphNode, sys::CUgraphNode), sys::CUgraphEdgeData)| Edge {
            from: from.addr(),
            to: to.addr(),
            orders_memory: data.type_ == 0,
        };
    Ok(from.into_iter().zip(to).zip(data).take(count).map(edge).collect())
}

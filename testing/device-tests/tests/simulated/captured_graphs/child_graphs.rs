//! Child graphs that are added to a capture. Their uses of the arena's memory are checked like
//! uses by their node, and memory nodes in them are refused.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::{CudaGraph, CudaStream, result, sys};
use pool_core::Pool;
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, CaptureError, CaptureMode, CaptureSession, CudaArena, GraphMemoryError,
    LayoutViolation,
};

use crate::common::{
    BYTES, Made, NO_FLAGS, RELAXED, arena, memory, pool, stream, without_a_report,
};
use crate::hand_made::put_child;

/// Returns a graph with a single fill.
fn fill(stream: &Arc<CudaStream>, address: u64, value: u8, bytes: usize) -> CudaGraph {
    stream.begin_capture(RELAXED).unwrap();
    // SAFETY: code that launches the graph owns `bytes` bytes at this address.
    unsafe { result::memset_d8_async(address, value, bytes, stream.cu_stream()) }.unwrap();
    stream.end_capture(NO_FLAGS).unwrap().unwrap()
}

/// Returns a graph that contains a copy of another graph.
fn around(stream: &Arc<CudaStream>, graph: &CudaGraph) -> CudaGraph {
    stream.begin_capture(RELAXED).unwrap();
    put(stream, graph);
    stream.end_capture(NO_FLAGS).unwrap().unwrap()
}

/// Adds a copy of a graph to a capture, which refuses launches.
fn put(stream: &Arc<CudaStream>, graph: &CudaGraph) {
    put_child(stream, graph.cu_graph()).unwrap();
}

/// A library's captured graph writes a temporary, either exactly or with additional bytes. The
/// write is in the graph itself or in a graph nested in it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_a_child_graph_writes_is_verified() {
    without_a_report(|| {
        for (beyond, nested) in [(0, false), (0, true), (256, false), (256, true)] {
            let (main, other, pool) = (stream(), stream(), pool());
            let output = pool.allocate(BYTES).unwrap();
            // The body instantiates graphs.
            let session = CaptureSession::new(&main).unwrap().mode(CaptureMode::Relaxed);
            let session = session.lease(pool.lease(&[output.id()]).unwrap());
            let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                let mut view = capture.acquire::<u8>(4096)?;
                let address = view.address();
                let mut child = fill(&other, address, 7, 4096 + beyond);
                if nested {
                    child = around(&other, &child);
                }
                // SAFETY: the graph writes the view; if it writes additional bytes, the capture
                // refuses it.
                unsafe {
                    capture.enqueue(capture.main(), &[view.write()], |stream| {
                        put(stream, &child);
                        Ok(())
                    })
                }?;
                capture.copy(capture.main(), &mut capture.block(&output)?, &view)
            });
            if beyond > 0 {
                let bytes = 4096 + beyond as u64;
                let stray = LayoutViolation::StrayAccess { node: 0, offset: 0, bytes };
                assert_eq!(made.map(drop), Err(CaptureError::Layout(stray)));
                continue;
            }
            let mut graph = made.unwrap();
            assert_eq!(graph.verified().accesses, 2);
            graph.replay().unwrap();
            let mut bytes = [0_u8; 4096];
            graph.read(&output, &mut bytes).unwrap();
            assert_eq!(bytes, [7; 4096]);
        }
    });
}

/// Adds a node whose child graph contains memory nodes. Since CUDA 12.9, a graph can take ownership
/// of such a child graph.
fn add_memory_nodes(graph: sys::CUgraph) {
    let (mut child, mut node) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: all fields are integers and pointers, for which all zeros is a valid value, here and
    // below.
    let mut wanted: sys::CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    wanted.poolProps.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.poolProps.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.bytesize = 64;
    let place = &raw mut wanted;
    // SAFETY: the output variables outlive the calls, and the graphs are live, here and below. No
    // dependencies are passed.
    unsafe { sys::cuGraphCreate(&raw mut child, 0) }.result().unwrap();
    // SAFETY: as above.
    let added = unsafe { sys::cuGraphAddMemAllocNode(&raw mut node, child, ptr::null(), 0, place) };
    added.result().unwrap();
    let (before, address) = (node, wanted.dptr);
    // SAFETY: as above; one dependency is passed.
    let added =
        unsafe { sys::cuGraphAddMemFreeNode(&raw mut node, child, &raw const before, 1, address) };
    added.result().unwrap();
    // SAFETY: as above.
    let mut parameters: sys::CUgraphNodeParams = unsafe { std::mem::zeroed() };
    parameters.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH;
    // These are the graph, and `CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE`, for which older bindings have
    // no name.
    let mut words = [0; 29];
    (words[0], words[1]) = (child.addr() as i64, 1);
    parameters.__bindgen_anon_1.reserved1 = words;
    let (place, none) = (&raw mut parameters, ptr::null());
    // SAFETY: as above; the other graph owns the child from here on.
    unsafe { sys::cuGraphAddNode_v2(&raw mut node, graph, ptr::null(), none, 0, place) }
        .result()
        .unwrap();
}

/// Returns the graph into which a stream is captured.
fn captured_graph(stream: &CudaStream) -> sys::CUgraph {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut id, mut graph, mut count) = (0, ptr::null_mut(), 0);
    let (mut nodes, mut data) = (ptr::null(), ptr::null());
    // SAFETY: the stream is live, and every output variable outlives the call.
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
    asked.result().unwrap();
    graph
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_nodes_in_a_child_graph_are_refused() {
    without_a_report(|| {
        let main = stream();
        let session = CaptureSession::new(&main).unwrap();
        let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            // SAFETY: the enqueued work uses no memory.
            unsafe {
                capture.enqueue(capture.main(), &[], |stream| {
                    add_memory_nodes(captured_graph(stream));
                    Ok(())
                })
            }
        });
        assert_eq!(made.map(drop), Err(CaptureError::MemoryNodes { nodes: 2 }));
    });
}

/// A linear arena rewinds in call order, which differs from the order of a fork in any graph.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_fork_in_a_child_graph_is_seen_by_the_arena() {
    without_a_report(|| {
        let [main, other, branch] = [(); 3].map(|()| stream());
        let mut pool = Pool::<Cuda>::new(Cuda::device(0).unwrap().new_stream().unwrap());
        let scope = pool.scope();
        let view = scope.acquire_zeroed::<u8, _>(4096);
        scope.context().synchronize().unwrap();
        let (low, high) = (view.address(), view.address() + 2048);
        let arena = CudaArena::new(memory(), 1 << 16, ArenaPolicy::Linear).unwrap();
        let in_a_row = fill(&other, low, 1, 2048);
        other.begin_capture(RELAXED).unwrap();
        branch.join(&other).unwrap();
        for (stream, address) in [(&other, low), (&branch, high)] {
            // SAFETY: the range is half of the view.
            unsafe { result::memset_d8_async(address, 1, 2048, stream.cu_stream()) }.unwrap();
        }
        other.join(&branch).unwrap();
        let forked = other.end_capture(NO_FLAGS).unwrap().unwrap();
        for (child, refused) in [(&in_a_row, false), (&forked, true)] {
            for nested in [false, true] {
                let graph = around(&main, child);
                let graph = if nested { around(&main, &graph) } else { graph };
                let checked = arena.check_graph(&graph);
                let is_refused = matches!(checked, Err(GraphMemoryError::ForkedCapture { .. }));
                assert_eq!((is_refused, checked.is_ok()), (refused, !refused), "{checked:?}");
            }
        }
    });
}

//! Graph features that cudarc's safe interface lacks: updates, memory nodes, and replay orders.

use std::collections::BTreeSet;
use std::ptr;

use cudarc::driver::sys;
use driver_conformance::driver::{self, Graph, Mode, Outcome, Span, Stream};

use crate::support::{filled, join, start, with_order_of, with_seed};

/// Captures a single fill.
fn captured_fill(stream: &Stream, span: Span, value: u8) -> Outcome<Graph> {
    stream.begin_capture(Mode::ThreadLocal)?;
    driver::fill_behind(stream, span, value)?;
    stream.end_capture()
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn independent_nodes_run_in_many_orders() {
    let simulator = start();
    let mut orders = BTreeSet::new();
    for seed in 0..50 {
        with_order_of(simulator, seed);
        let stream = Stream::non_blocking().unwrap();
        let branches: Vec<Stream> = (0..4).map(|_| Stream::non_blocking().unwrap()).collect();
        let span = filled(64, 0).unwrap();
        stream.begin_capture(Mode::ThreadLocal).unwrap();
        for (index, branch) in branches.iter().enumerate() {
            join(branch, &stream).unwrap();
            driver::fill_behind(branch, span.part(index * 16, 16), 1).unwrap();
        }
        for branch in &branches {
            join(&stream, branch).unwrap();
        }
        let exec = stream.end_capture().unwrap().instantiate().unwrap();
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(driver::download(span).unwrap(), [1; 64]);
        simulator.assert_clean();
        let nodes = simulator.trace().into_iter().filter(|line| line.contains(" node "));
        orders.insert(nodes.collect::<Vec<_>>());
    }
    println!("{} orders of four nodes in 50 seeds", orders.len());
    assert!(orders.len() > 12);
}

/// Returns the result code of a driver call as a number.
macro_rules! answer {
    ($call:ident($($argument:expr),*)) => {{
        // SAFETY: streams and graphs are live.
        // Spans have the stated length.
        // Output variables outlive the call.
        let code = unsafe { sys::$call($($argument),*) };
        code as u32
    }};
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_executable_graph_is_updated() {
    let simulator = start();
    let context = cudarc::driver::CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let raw = stream.cu_stream();
    // SAFETY: the memory is not read before it is written.
    let slice = unsafe { stream.alloc::<u8>(64) }.unwrap();
    let address = slice.leak();
    let capture = |value: u8, twice: bool| {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        let mut graph = ptr::null_mut();
        assert_eq!(answer!(cuStreamBeginCapture_v2(raw, mode)), 0);
        for _ in 0..=u8::from(twice) {
            assert_eq!(answer!(cuMemsetD8Async(address, value, 64, raw)), 0);
        }
        assert_eq!(answer!(cuStreamEndCapture(raw, &raw mut graph)), 0);
        graph
    };
    let (first, second, longer) = (capture(1, false), capture(2, false), capture(3, true));
    let mut exec = ptr::null_mut();
    let mut told = sys::CUgraphExecUpdateResultInfo {
        result: sys::CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS,
        errorNode: ptr::null_mut(),
        errorFromNode: ptr::null_mut(),
    };
    assert_eq!(answer!(cuGraphInstantiateWithFlags(&raw mut exec, first, 0)), 0);
    assert_eq!(answer!(cuGraphExecUpdate_v2(exec, second, &raw mut told)), 0);
    assert_eq!(answer!(cuGraphLaunch(exec, raw)), 0);
    assert_eq!(answer!(cuGraphExecUpdate_v2(exec, longer, &raw mut told)), 910);
    let changed = sys::CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    assert_eq!((told.result, told.errorNode), (changed, ptr::null_mut()));
    let empty = {
        let mut graph = ptr::null_mut();
        assert_eq!(answer!(cuGraphCreate(&raw mut graph, 0)), 0);
        graph
    };
    let mut node = ptr::null_mut();
    assert_eq!(answer!(cuGraphAddEmptyNode(&raw mut node, empty, ptr::null(), 0)), 0);
    assert_eq!(answer!(cuGraphExecUpdate_v2(exec, empty, &raw mut told)), 910);
    let changed = sys::CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    assert_eq!((told.result, told.errorNode, told.errorFromNode), (changed, node, ptr::null_mut()));
    let mut bytes = [0_u8; 64];
    let place = bytes.as_mut_ptr().cast();
    assert_eq!(answer!(cuMemcpyDtoHAsync_v2(place, address, 64, raw)), 0);
    assert_eq!(bytes, [2; 64]);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_of_a_graph_used_outside_its_life() {
    let simulator = start();
    let device = with_seed(simulator, 0);
    let stream = Stream::non_blocking().unwrap();
    let graph = Graph::new().unwrap();
    let (allocation, span) = graph.add_allocation(&device, 4096, &[]).unwrap();
    let fill = graph.add_fill(&device, span, 1, &[allocation]).unwrap();
    let free = graph.add_free(span, &[fill]).unwrap();
    let exec = graph.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    simulator.assert_clean();
    exec.destroy().unwrap();
    graph.add_fill(&device, span, 2, &[free]).unwrap();
    let exec = graph.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    assert!(!simulator.reports().is_empty());
    assert!(stream.synchronize().is_err());
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_keeps_what_it_captured() {
    let simulator = start();
    with_seed(simulator, 0);
    let stream = Stream::non_blocking().unwrap();
    let span = filled(64, 0).unwrap();
    let graph = captured_fill(&stream, span, 5).unwrap();
    let exec = graph.instantiate().unwrap();
    graph.destroy().unwrap();
    for _ in 0..3 {
        driver::fill_behind(&stream, span, 0).unwrap();
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(driver::download(span).unwrap(), [5; 64]);
    }
    exec.destroy().unwrap();
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn copies_are_read_back_and_added_by_hand() {
    let simulator = start();
    let context = cudarc::driver::CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let raw = stream.cu_stream();
    let from = stream.clone_htod(&[3_u8; 64]).unwrap().leak();
    // SAFETY: the memory is not read before it is written.
    let to = unsafe { stream.alloc::<u8>(64) }.unwrap().leak();
    stream.synchronize().unwrap();
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    let (mut captured, mut node, mut count) = (ptr::null_mut(), ptr::null_mut(), 1);
    assert_eq!(answer!(cuStreamBeginCapture_v2(raw, mode)), 0);
    assert_eq!(answer!(cuMemcpyDtoDAsync_v2(to, from, 64, raw)), 0);
    assert_eq!(answer!(cuStreamEndCapture(raw, &raw mut captured)), 0);
    assert_eq!(answer!(cuGraphGetNodes(captured, &raw mut node, &raw mut count)), 0);
    let mut told = std::mem::MaybeUninit::<sys::CUDA_MEMCPY3D>::uninit();
    assert_eq!(answer!(cuGraphMemcpyNodeGetParams(node, told.as_mut_ptr())), 0);
    // SAFETY: the call succeeded, so it has initialised the value.
    let mut told = unsafe { told.assume_init() };
    assert_eq!((told.srcDevice, told.dstDevice, told.WidthInBytes), (from, to, 64));

    // Adds the same copy explicitly, but only for the second half.
    (told.srcXInBytes, told.dstXInBytes, told.WidthInBytes) = (32, 32, 32);
    let (mut graph, mut exec) = (ptr::null_mut(), ptr::null_mut());
    let (none, current) = (ptr::null(), context.cu_ctx());
    assert_eq!(answer!(cuMemsetD8Async(to, 0, 64, raw)), 0);
    assert_eq!(answer!(cuGraphCreate(&raw mut graph, 0)), 0);
    let told = &raw const told;
    assert_eq!(answer!(cuGraphAddMemcpyNode(&raw mut node, graph, none, 0, told, current)), 0);
    assert_eq!(answer!(cuGraphInstantiateWithFlags(&raw mut exec, graph, 0)), 0);
    assert_eq!(answer!(cuGraphLaunch(exec, raw)), 0);
    let mut bytes = [9_u8; 64];
    assert_eq!(answer!(cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), to, 64, raw)), 0);
    assert_eq!((&bytes[..32], &bytes[32..]), (&[0; 32][..], &[3; 32][..]));
    simulator.assert_clean();
}

/// Returns the number of nodes on which the next node of a captured stream depends.
fn ends(stream: sys::CUstream) -> usize {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut nodes, mut edges, mut count) = (ptr::null(), ptr::null(), usize::MAX);
    assert_eq!(
        answer!(cuStreamGetCaptureInfo_v3(
            stream,
            &raw mut status,
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut nodes,
            &raw mut edges,
            &raw mut count
        )),
        0
    );
    count
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stream_of_a_capture_is_set_behind_other_nodes() {
    let simulator = start();
    let context = cudarc::driver::CudaContext::new(0).unwrap();
    let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let span = stream.clone_htod(&[3_u8; 64]).unwrap().leak();
    let (raw, side) = (stream.cu_stream(), other.cu_stream());
    let update = |nodes: &mut [sys::CUgraphNode], flags| {
        let (count, nodes) = (nodes.len(), nodes.as_mut_ptr());
        answer!(cuStreamUpdateCaptureDependencies_v2(side, nodes, ptr::null(), count, flags))
    };
    assert_eq!(update(&mut [], 1), sys::CUresult::CUDA_ERROR_ILLEGAL_STATE as u32);
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    assert_eq!(answer!(cuStreamBeginCapture_v2(raw, mode)), 0);
    assert_eq!(answer!(cuMemsetD8Async(span, 1, 64, raw)), 0);
    other.join(&stream).unwrap();
    assert_eq!(ends(side), 1);
    assert_eq!(update(&mut [], 1), 0);
    assert_eq!(ends(side), 0);
    assert_eq!(update(&mut [], 2), sys::CUresult::CUDA_ERROR_INVALID_VALUE as u32);
    let stranger = &mut [ptr::without_provenance_mut(1)];
    assert_eq!(update(stranger, 0), sys::CUresult::CUDA_ERROR_INVALID_VALUE as u32);
    // The fill depends on nothing, so it is unordered with the first fill. It is joined afterwards.
    assert_eq!(answer!(cuMemsetD8Async(span + 32, 2, 32, side)), 0);
    stream.join(&other).unwrap();
    assert_eq!(ends(raw), 2);
    // A stream without dependencies does not have to be joined.
    other.join(&stream).unwrap();
    assert_eq!(update(&mut [], 1), 0);
    let mut graph = ptr::null_mut();
    assert_eq!(answer!(cuStreamEndCapture(raw, &raw mut graph)), 0);
    let mut count = 0;
    assert_eq!(
        answer!(cuGraphGetEdges_v2(
            graph,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut count
        )),
        0
    );
    assert_eq!(count, 0, "no node waits for another");
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_tells_its_ends() {
    let simulator = start();
    let context = cudarc::driver::CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let raw = stream.cu_stream();
    let span = stream.clone_htod(&[3_u8; 64]).unwrap().leak();
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    assert_eq!(answer!(cuStreamBeginCapture_v2(raw, mode)), 0);
    assert_eq!(answer!(cuMemsetD8Async(span, 1, 64, raw)), 0);
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut number, mut graph, mut count) = (0, ptr::null_mut(), 0);
    let (mut nodes, mut edges) = (ptr::null(), ptr::null());
    assert_eq!(
        answer!(cuStreamGetCaptureInfo_v3(
            raw,
            &raw mut status,
            &raw mut number,
            &raw mut graph,
            &raw mut nodes,
            &raw mut edges,
            &raw mut count
        )),
        0
    );
    assert_eq!(status, sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert!(number > 0 && !edges.is_null());
    let (mut only, mut all) = (ptr::null_mut(), 1);
    assert_eq!(answer!(cuGraphGetNodes(graph, &raw mut only, &raw mut all)), 0);
    assert_eq!(count, 1);
    // SAFETY: the array has one entry.
    // No call has been made on the stream since the query.
    assert_eq!(unsafe { *nodes }, only);
    assert_eq!(answer!(cuStreamEndCapture(raw, &raw mut graph)), 0);
    simulator.assert_clean();
}

/// A graph does not keep the module of its kernels loaded. Every use of the graph is reported once
/// the module is gone, and the destruction of the graph is allowed.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_is_used_after_its_module_was_unloaded() {
    const MODULE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
                          .visible .entry nothing() { ret; }\n";
    let simulator = start();
    let context = cudarc::driver::CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let raw = stream.cu_stream();
    let text = std::ffi::CString::new(MODULE).unwrap();
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    assert_eq!(answer!(cuModuleLoadData(&raw mut module, text.as_ptr().cast())), 0);
    assert_eq!(answer!(cuModuleGetFunction(&raw mut function, module, c"nothing".as_ptr())), 0);
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    let capture = || {
        let (mut graph, null) = (ptr::null_mut(), ptr::null_mut());
        assert_eq!(answer!(cuStreamBeginCapture_v2(raw, mode)), 0);
        let launched = answer!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, raw, null, null));
        assert_eq!(launched, 0);
        assert_eq!(answer!(cuStreamEndCapture(raw, &raw mut graph)), 0);
        graph
    };
    let graph = capture();
    let mut exec = ptr::null_mut();
    assert_eq!(answer!(cuGraphInstantiateWithFlags(&raw mut exec, graph, 0)), 0);
    assert_eq!(answer!(cuGraphUpload(exec, raw)), 0);
    assert_eq!(answer!(cuGraphLaunch(exec, raw)), 0);
    assert_eq!(answer!(cuStreamSynchronize(raw)), 0);
    simulator.assert_clean();
    assert_eq!(answer!(cuModuleUnload(module)), 0);
    let mut told = sys::CUgraphExecUpdateResultInfo {
        result: sys::CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS,
        errorNode: ptr::null_mut(),
        errorFromNode: ptr::null_mut(),
    };
    let mut another = ptr::null_mut();
    let uses: [(&str, &mut dyn FnMut() -> u32); 4] = [
        ("cuGraphLaunch", &mut || answer!(cuGraphLaunch(exec, raw))),
        ("cuGraphUpload", &mut || answer!(cuGraphUpload(exec, raw))),
        ("cuGraphInstantiate", &mut || {
            answer!(cuGraphInstantiateWithFlags(&raw mut another, graph, 0))
        }),
        ("cuGraphExecUpdate", &mut || answer!(cuGraphExecUpdate_v2(exec, graph, &raw mut told))),
    ];
    for (name, call) in uses {
        assert_eq!(call(), 400, "{name}");
        let reports = simulator.reports();
        assert_eq!(reports.len(), 1, "{name}");
        assert_eq!(reports[0].mistake(), cuda_sim_control::Mistake::StaleHandle);
        assert!(reports[0].to_string().contains(name), "{}", reports[0]);
        simulator.forget_reports();
    }
    assert_eq!(answer!(cuGraphExecDestroy(exec)), 0);
    assert_eq!(answer!(cuGraphDestroy(graph)), 0);
    simulator.assert_clean();
}

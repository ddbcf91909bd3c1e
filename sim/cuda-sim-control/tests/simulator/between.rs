//! Closures that a test runs before a call of the driver, and graphs inside captures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sim_control::Settings;
use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUstreamCaptureMode};

use crate::support::{settings, start};

const NO_FLAGS: CUgraphInstantiate_flags = CUgraphInstantiate_flags(0);
const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn work_is_done_before_the_call_that_it_waits_for() {
    let simulator = start();
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let seen = Arc::new(AtomicU64::new(u64::MAX));
    let (place, own) = (Arc::clone(&seen), std::thread::current().id());
    let before = simulator.calls("cuStreamSynchronize");
    let other = Arc::clone(&stream);
    simulator.before_call("cuStreamSynchronize", 2, move || {
        assert_eq!(std::thread::current().id(), own);
        place.store(simulator.calls("cuStreamSynchronize"), Ordering::SeqCst);
        // Another thread may make the same call, because the closure only runs once.
        std::thread::spawn(move || other.synchronize().unwrap()).join().unwrap();
    });
    stream.synchronize().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), u64::MAX, "it waits for the second one");
    stream.synchronize().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), before + 1);
    assert_eq!(simulator.calls("cuStreamSynchronize"), before + 3);
}

/// With the other answers, a captured launch is a child graph.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_that_is_launched_in_a_capture_is_a_node_of_it() {
    let simulator = start();
    assert!(simulator.reset(Settings { other_answers: true, ..settings(0) }));
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let mut slice = stream.alloc_zeros::<u8>(64).unwrap();
    // SAFETY: only one stream uses the slice.
    unsafe { stream.context().disable_event_tracking() };
    stream.begin_capture(RELAXED).unwrap();
    stream.memset_zeros(&mut slice).unwrap();
    let child = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    stream.begin_capture(RELAXED).unwrap();
    child.launch().unwrap();
    let mut graph = std::ptr::null_mut();
    // SAFETY: the stream is live, and the output variable outlives the call.
    let ended = unsafe { sys::cuStreamEndCapture(stream.cu_stream(), &raw mut graph) };
    ended.result().unwrap();
    let (mut node, mut count, mut kind) = (std::ptr::null_mut(), 1, 0_u32);
    // SAFETY: the graph is live.
    // The output has room for one node.
    let asked = unsafe { sys::cuGraphGetNodes(graph, &raw mut node, &raw mut count) };
    asked.result().unwrap();
    // SAFETY: the node belongs to the live graph, and the output variable outlives the call.
    let asked = unsafe { sys::cuGraphNodeGetType(node, (&raw mut kind).cast()) };
    asked.result().unwrap();
    assert_eq!((count, kind), (1, sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH as u32));
    let mut executable = std::ptr::null_mut();
    // SAFETY: the graph is live, and the output variable outlives the call.
    let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0) };
    made.result().unwrap();
    // SAFETY: the executable graph, the stream and the slice that the graph uses are live.
    unsafe { sys::cuGraphLaunch(executable, stream.cu_stream()) }.result().unwrap();
    stream.synchronize().unwrap();
    // SAFETY: no other code uses the executable graph.
    unsafe { sys::cuGraphExecDestroy(executable) }.result().unwrap();
    // SAFETY: no other code uses the graph.
    unsafe { sys::cuGraphDestroy(graph) }.result().unwrap();
    simulator.assert_clean();
}

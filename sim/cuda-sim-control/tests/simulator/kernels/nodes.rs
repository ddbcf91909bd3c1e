//! Kernels as graph nodes: captured, added explicitly, read back, changed, and ordered by edges.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use cuda_sim_control::Mistake;
use cudarc::driver::sys::{self, CUresult};
use driver_conformance::driver;

use super::{SEEDS, Size, find, found_in, join, kernel, launch, load, module_text, stream, wait};
use crate::support::{filled, start, with_seed};

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;

fn begin(stream: sys::CUstream) {
    let relaxed = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the simulator checks the handle.
    assert_eq!(unsafe { sys::cuStreamBeginCapture_v2(stream, relaxed) }, SUCCESS);
}

fn end(stream: sys::CUstream) -> (sys::CUgraph, sys::CUgraphExec) {
    let (mut graph, mut exec) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the output variable outlives the call.
    assert_eq!(unsafe { sys::cuStreamEndCapture(stream, &raw mut graph) }, SUCCESS);
    // SAFETY: the output variable outlives the call.
    let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0) };
    assert_eq!(made, SUCCESS);
    (graph, exec)
}

fn run(exec: sys::CUgraphExec, stream: sys::CUstream) {
    // SAFETY: the simulator checks the handles.
    assert_eq!(unsafe { sys::cuGraphLaunch(exec, stream) }, SUCCESS);
    assert_eq!(wait(stream), SUCCESS);
}

fn first_node(graph: sys::CUgraph) -> sys::CUgraphNode {
    let (mut node, mut count) = (ptr::null_mut(), 1);
    // SAFETY: the output has room for one node.
    assert_eq!(unsafe { sys::cuGraphGetNodes(graph, &raw mut node, &raw mut count) }, SUCCESS);
    node
}

fn parameters_of(node: sys::CUgraphNode) -> sys::CUDA_KERNEL_NODE_PARAMS {
    let mut place = MaybeUninit::uninit();
    // SAFETY: the output variable outlives the call.
    let told = unsafe { sys::cuGraphKernelNodeGetParams_v2(node, place.as_mut_ptr()) };
    assert_eq!(told, SUCCESS);
    // SAFETY: a successful call initialises the whole structure.
    unsafe { place.assume_init() }
}

/// `out[0] = value`.
const STORE: &str = "cvt.u32.u64 %r3, %l2; st.global.u32 [%l1], %r3;";

fn word(span: driver::Span) -> u32 {
    u32::from_le_bytes(driver::download(span).unwrap().try_into().unwrap())
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_node_keeps_the_parameters_that_it_was_captured_with() {
    let simulator = start();
    with_seed(simulator, 0);
    let (stream, kernel, span) = (stream(), kernel(STORE), filled(4, 0).unwrap());
    begin(stream);
    assert_eq!(launch(kernel, Size(1, 1, 0), stream, [span.address(), 11]), SUCCESS);
    let (graph, exec) = end(stream);
    run(exec, stream);
    assert_eq!(word(span), 11);

    let node = first_node(graph);
    let read = parameters_of(node);
    assert_eq!((read.func, read.gridDimX, read.blockDimX), (kernel, 1, 1));
    // SAFETY: the driver's array contains an address for each of the two parameters.
    let places = unsafe { read.kernelParams.cast::<[*mut u64; 2]>().read() };
    // SAFETY: each parameter has 64 bits.
    let values = places.map(|place| unsafe { place.read_unaligned() });
    assert_eq!(values, [span.address(), 11]);

    // Sets other parameters, first only in the executable graph and then in the graph.
    let (mut address, mut value) = (span.address(), 12_u64);
    let mut places: [*mut c_void; 2] =
        [ptr::from_mut(&mut address).cast(), ptr::from_mut(&mut value).cast()];
    let changed = sys::CUDA_KERNEL_NODE_PARAMS { kernelParams: places.as_mut_ptr(), ..read };
    // SAFETY: the parameters outlive the call.
    let set = unsafe { sys::cuGraphExecKernelNodeSetParams_v2(exec, node, &raw const changed) };
    assert_eq!(set, SUCCESS);
    run(exec, stream);
    assert_eq!(word(span), 12);
    // SAFETY: the parameters outlive the call.
    let set = unsafe { sys::cuGraphKernelNodeSetParams_v2(node, &raw const changed) };
    assert_eq!(set, SUCCESS);
    assert_eq!(parameters_of(node).func, kernel);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_is_added_by_hand() {
    let simulator = start();
    with_seed(simulator, 0);
    let (stream, kernel, span) = (stream(), kernel(STORE), filled(4, 0).unwrap());
    let (mut address, mut value) = (span.address(), 21_u64);
    let mut places: [*mut c_void; 2] =
        [ptr::from_mut(&mut address).cast(), ptr::from_mut(&mut value).cast()];
    let wanted = sys::CUDA_KERNEL_NODE_PARAMS {
        func: kernel,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        kernelParams: places.as_mut_ptr(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    };
    let (mut graph, mut node, mut exec) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the output variable outlives the call.
    assert_eq!(unsafe { sys::cuGraphCreate(&raw mut graph, 0) }, SUCCESS);
    let (none, wanted) = (ptr::null(), &raw const wanted);
    // SAFETY: the output variable and the parameters outlive the call.
    let added = unsafe { sys::cuGraphAddKernelNode_v2(&raw mut node, graph, none, 0, wanted) };
    assert_eq!(added, SUCCESS);
    // SAFETY: the output variable outlives the call.
    let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0) };
    assert_eq!(made, SUCCESS);
    run(exec, stream);
    assert_eq!(word(span), 21);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn branches_whose_kernels_touch_the_same_bytes() {
    let simulator = start();
    let program = |joined: bool| {
        let (one, two, kernel) = (stream(), stream(), kernel("st.global.u32 [%l4], %i;"));
        let span = filled(512, 0).unwrap();
        begin(one);
        join(two, one);
        assert_eq!(launch(kernel, Size(1, 64, 0), one, [span.address(), 0]), SUCCESS);
        if joined {
            join(two, one);
        }
        assert_eq!(launch(kernel, Size(1, 64, 0), two, [span.address() + 252, 0]), SUCCESS);
        join(one, two);
        let (_, exec) = end(one);
        run(exec, one);
    };
    assert_eq!(found_in(simulator, Mistake::Race, || program(false)), SEEDS);
    assert_eq!(found_in(simulator, Mistake::Race, || program(true)), 0);
}

/// Launches a kernel that may start before the previous one ends.
fn launch_dependent(
    function: sys::CUfunction,
    stream: sys::CUstream,
    programmatic: i32,
    mut parameters: [u64; 2],
) {
    let mut attribute = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID_enum::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: programmatic },
    };
    let config = sys::CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 64,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: stream,
        attrs: &raw mut attribute,
        numAttrs: 1,
    };
    let [first, second] = &mut parameters;
    let mut places: [*mut c_void; 2] = [ptr::from_mut(first).cast(), ptr::from_mut(second).cast()];
    let places = places.as_mut_ptr();
    // SAFETY: kernels in these tests take two 64-bit numbers.
    // All arguments outlive the call.
    let launched =
        unsafe { sys::cuLaunchKernelEx(&raw const config, function, places, ptr::null_mut()) };
    assert_eq!(launched, SUCCESS);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_programmatic_edge_orders_no_memory() {
    let simulator = start();
    let program = |programmatic: i32, second: &str| {
        let text = module_text(&[("first", "st.global.u32 [%l4], %i;"), ("second", second)]);
        let (stream, module) = (stream(), load(&text).unwrap());
        let span = filled(256, 0).unwrap();
        begin(stream);
        let parameters = [span.address(), 0];
        assert_eq!(launch(find(module, c"first"), Size(1, 64, 0), stream, parameters), SUCCESS);
        launch_dependent(find(module, c"second"), stream, programmatic, parameters);
        let (_, exec) = end(stream);
        run(exec, stream);
    };
    let reads = "ld.global.u32 %r3, [%l4];";
    let waits = "griddepcontrol.wait; ld.global.u32 %r3, [%l4];";
    assert_eq!(found_in(simulator, Mistake::Race, || program(1, reads)), SEEDS);
    assert_eq!(found_in(simulator, Mistake::Race, || program(0, reads)), 0);
    assert_eq!(found_in(simulator, Mistake::Race, || program(1, waits)), 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_uses_memory_of_its_graph_until_it_is_freed() {
    let simulator = start();
    let program = |too_late: bool| {
        let (stream, out) = (stream(), filled(4, 0).unwrap());
        let double = "ld.global.u32 %r3, [%l2]; add.u32 %r3, %r3, %r3; st.global.u32 [%l1], %r3;";
        let text = module_text(&[("store", STORE), ("double", double)]);
        let module = load(&text).unwrap();
        begin(stream);
        let mut address = 0;
        // SAFETY: the output variable outlives the call.
        assert_eq!(unsafe { sys::cuMemAllocAsync(&raw mut address, 64, stream) }, SUCCESS);
        // SAFETY: the simulator checks the address and the handle.
        let free = || assert_eq!(unsafe { sys::cuMemFreeAsync(address, stream) }, SUCCESS);
        let one = Size(1, 1, 0);
        assert_eq!(launch(find(module, c"store"), one, stream, [address, 21]), SUCCESS);
        if too_late {
            free();
        }
        let parameters = [out.address(), address];
        assert_eq!(launch(find(module, c"double"), one, stream, parameters), SUCCESS);
        if !too_late {
            free();
        }
        let (_, exec) = end(stream);
        for _ in 0..3 {
            // SAFETY: the simulator checks the handles.
            let launched = unsafe { sys::cuGraphLaunch(exec, stream) };
            if too_late {
                return assert_eq!(wait(stream), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
            }
            assert_eq!([launched, wait(stream)], [SUCCESS; 2]);
        }
        assert_eq!(word(out), 42);
    };
    assert_eq!(found_in(simulator, Mistake::UseAfterFree, || program(false)), 0);
    for seed in 0..SEEDS {
        with_seed(simulator, seed);
        program(true);
        assert_eq!(simulator.reports().len(), 1);
    }
}

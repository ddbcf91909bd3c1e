//! Nodes that driver calls add to a capture explicitly. They use memory, kernels, graphs and events
//! that no session knows.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaGraph, CudaStream, DriverError, LaunchConfig, PushKernelArg, result, sys,
};
use pool_kernels::elementwise;

use crate::common::{NO_FLAGS, RELAXED};
use crate::support::function;

/// The kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Kernel,
    Copy,
    Fill,
    Host,
    ChildGraph,
    Empty,
    Wait,
    Record,
    /// An allocation together with its free.
    Allocate,
    Conditional,
    ExternalSignal,
    ExternalWait,
    BatchMemoryOperations,
}

pub(crate) const KINDS: [Kind; 13] = [
    Kind::Kernel,
    Kind::Copy,
    Kind::Fill,
    Kind::Host,
    Kind::ChildGraph,
    Kind::Empty,
    Kind::Wait,
    Kind::Record,
    Kind::Allocate,
    Kind::Conditional,
    Kind::ExternalSignal,
    Kind::ExternalWait,
    Kind::BatchMemoryOperations,
];

/// The flag with which `cuEventRecordWithFlags` and `cuStreamWaitEvent` create a node instead of a
/// dependency of the capture.
const EXTERNAL: u32 = 1;
/// The size of the foreign memory in bytes.
const BYTES: usize = 777;

/// The objects that the nodes use, and the stream on which the nodes are enqueued. None of the
/// objects belong to a graph.
pub(crate) struct Foreign {
    stream: Arc<CudaStream>,
    /// The address of `2 * BYTES` bytes of memory.
    address: u64,
    event: sys::CUevent,
    kernel: CudaFunction,
    child: CudaGraph,
}

// SAFETY: only one thread at a time uses the handles, because the threads of the tests wait for
// each other.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

impl Foreign {
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Self {
        let context = stream.context();
        context.bind_to_thread().unwrap();
        // SAFETY: no other code uses the memory, and it contains only bytes.
        let address = unsafe { result::malloc_sync(2 * BYTES) }.unwrap();
        stream.begin_capture(RELAXED).unwrap();
        // SAFETY: the memory lives as long as this value, and the graph does not live longer.
        unsafe { result::memset_d8_async(address, 1, BYTES, stream.cu_stream()) }.unwrap();
        let child = stream.end_capture(NO_FLAGS).unwrap().unwrap();
        let event = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING;
        let event = result::event::create(event).unwrap();
        let kernel = function(context, elementwise::MODULE, elementwise::SCALE.f32);
        stream.synchronize().unwrap();
        Self { stream: Arc::clone(stream), address, event, kernel, child }
    }

    /// Adds a node on the stream, or without a stream if the kind allows this.
    pub(crate) fn put(&self, kind: Kind) {
        self.try_put(kind).unwrap();
    }

    /// Does the same, but returns the error if the driver refuses.
    pub(crate) fn try_put(&self, kind: Kind) -> Result<(), DriverError> {
        self.stream.context().bind_to_thread()?;
        let (stream, address) = (self.stream.cu_stream(), self.address);
        match kind {
            Kind::Kernel => self.launch(),
            Kind::Copy => {
                let to = address + BYTES as u64;
                // SAFETY: this value owns the memory, which has `2 * BYTES` bytes.
                unsafe { result::memcpy_dtod_async(to, address, BYTES, stream) }
            }
            // SAFETY: this value owns the memory.
            Kind::Fill => unsafe { result::memset_d8_async(address, 7, BYTES, stream) },
            Kind::Host => {
                // SAFETY: the function does nothing, and receives no data.
                unsafe { sys::cuLaunchHostFunc(stream, Some(nothing), ptr::null_mut()) }.result()
            }
            // A capture refuses launches of graphs.
            Kind::ChildGraph => put_child(&self.stream, self.child.cu_graph()),
            Kind::Empty => self.add_empty(),
            Kind::Conditional => self.add_conditional(),
            Kind::ExternalSignal => {
                self.add(sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL)
            }
            Kind::ExternalWait => self.add(sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT),
            Kind::BatchMemoryOperations => {
                self.add(sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
            }
            Kind::Wait => {
                // SAFETY: the event and the stream are live.
                unsafe { sys::cuStreamWaitEvent(stream, self.event, EXTERNAL) }.result()
            }
            Kind::Record => {
                // SAFETY: the event and the stream are live.
                unsafe { sys::cuEventRecordWithFlags(self.event, stream, EXTERNAL) }.result()
            }
            Kind::Allocate => {
                // SAFETY: no work uses the allocation.
                let allocated = unsafe { result::malloc_async(stream, BYTES) }?;
                // SAFETY: the allocation is freed once.
                unsafe { result::free_async(allocated, stream) }
            }
        }
    }

    fn launch(&self) -> Result<(), DriverError> {
        let (factor, count) = (2.0_f32, 8_u64);
        let mut launch = self.stream.launch_builder(&self.kernel);
        launch.arg(&factor).arg(&self.address).arg(&count);
        // SAFETY: the kernel uses eight elements of this value's memory.
        unsafe { launch.launch(LaunchConfig::for_num_elems(8)) }.map(drop)
    }

    /// Adds an empty node to the graph of the capture, without dependencies.
    fn add_empty(&self) -> Result<(), DriverError> {
        let (graph, mut node) = (self.captured_graph()?, ptr::null_mut());
        // SAFETY: the graph belongs to a capture in progress, and the output variable outlives the
        // call.
        unsafe { sys::cuGraphAddEmptyNode(&raw mut node, graph, ptr::null(), 0) }.result()
    }

    /// Adds a conditional node after the stream's nodes, and makes it the stream's last node.
    fn add_conditional(&self) -> Result<(), DriverError> {
        let (graph, context) = (self.captured_graph()?, self.stream.context().cu_ctx());
        let mut handle = 0;
        // SAFETY: the graph belongs to a capture in progress, and the output variable outlives the
        // call.
        unsafe { sys::cuGraphConditionalHandleCreate(&raw mut handle, graph, context, 0, 0) }
            .result()?;
        let conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
            handle,
            type_: sys::CUgraphConditionalNodeType_enum::CU_GRAPH_COND_TYPE_IF,
            size: 1,
            phGraph_out: ptr::null_mut(),
            ctx: context,
        };
        // SAFETY: all fields are integers and pointers; all zeros is a valid value, of the first
        // node kind.
        let mut parameters: sys::CUgraphNodeParams = unsafe { std::mem::zeroed() };
        parameters.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        parameters.__bindgen_anon_1.conditional = conditional;
        self.add_with(parameters)
    }

    /// Adds a node of a kind that the simulated driver accepts without reading it.
    fn add(&self, kind: sys::CUgraphNodeType) -> Result<(), DriverError> {
        // SAFETY: all fields are integers and pointers; all zeros is a valid value, of the first
        // node kind.
        let mut parameters: sys::CUgraphNodeParams = unsafe { std::mem::zeroed() };
        parameters.type_ = kind;
        self.add_with(parameters)
    }

    fn add_with(&self, mut parameters: sys::CUgraphNodeParams) -> Result<(), DriverError> {
        let (graph, before) = self.captured()?;
        let (mut node, place) = (ptr::null_mut(), &raw mut parameters);
        let (first, count) = (before.as_ptr(), before.len());
        // SAFETY: the graph belongs to a capture in progress and owns the nodes, and the output
        // variables outlive the call.
        unsafe { sys::cuGraphAddNode_v2(&raw mut node, graph, first, ptr::null(), count, place) }
            .result()?;
        self.set_last(node)
    }

    /// Adds an empty node after the stream's nodes, and makes it the stream's last node.
    pub(crate) fn put_empty(&self) {
        let (graph, before) = self.captured().unwrap();
        let mut node = ptr::null_mut();
        let (first, count) = (before.as_ptr(), before.len());
        // SAFETY: the graph belongs to a capture in progress and owns the nodes, and the output
        // variable outlives the call.
        unsafe { sys::cuGraphAddEmptyNode(&raw mut node, graph, first, count) }.result().unwrap();
        self.set_last(node).unwrap();
    }

    /// Adds a node after the only node of a graph, which may still be in capture.
    pub(crate) fn add_behind(graph: sys::CUgraph, kind: sys::CUgraphNodeType) {
        let (mut before, mut node, mut count) = (ptr::null_mut(), ptr::null_mut(), 1);
        // SAFETY: the graph is live and has one node, and the array has one entry.
        unsafe { sys::cuGraphGetNodes(graph, &raw mut before, &raw mut count) }.result().unwrap();
        // SAFETY: all fields are integers and pointers; all zeros is a valid value, of the first
        // node kind.
        let mut parameters: sys::CUgraphNodeParams = unsafe { std::mem::zeroed() };
        parameters.type_ = kind;
        let (place, none) = (&raw mut parameters, ptr::null());
        // SAFETY: the graph is live and owns the node, and the output variables outlive the call.
        unsafe { sys::cuGraphAddNode_v2(&raw mut node, graph, &raw const before, none, 1, place) }
            .result()
            .unwrap();
    }

    /// Adds a node with a copy of a graph after the stream's nodes.
    pub(crate) fn put_child(&self, child: sys::CUgraph) {
        put_child(&self.stream, child).unwrap();
    }

    /// Returns a graph with one node, which contains a copy of another graph. The caller must
    /// destroy the graph.
    pub(crate) fn around(child: sys::CUgraph) -> sys::CUgraph {
        let (mut graph, mut node) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the output variable outlives the call.
        unsafe { sys::cuGraphCreate(&raw mut graph, 0) }.result().unwrap();
        // SAFETY: both graphs are live, and the output variable outlives the call.
        unsafe { sys::cuGraphAddChildGraphNode(&raw mut node, graph, ptr::null(), 0, child) }
            .result()
            .unwrap();
        graph
    }

    fn set_last(&self, node: sys::CUgraphNode) -> Result<(), DriverError> {
        set_last(&self.stream, node)
    }

    fn captured_graph(&self) -> Result<sys::CUgraph, DriverError> {
        self.captured().map(|(graph, _)| graph)
    }

    fn captured(&self) -> Result<(sys::CUgraph, Vec<sys::CUgraphNode>), DriverError> {
        captured(&self.stream)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.stream.context().bind_to_thread().unwrap();
        // SAFETY: this value owns the memory. No work uses it any more, except for a graph that a
        // test replays deliberately.
        unsafe { result::free_sync(self.address) }.unwrap();
        // SAFETY: this value owns the event.
        unsafe { result::event::destroy(self.event) }.unwrap();
    }
}

/// Adds a node with a copy of a graph after the nodes of a captured stream, and makes it the
/// stream's last node.
pub(crate) fn put_child(stream: &CudaStream, child: sys::CUgraph) -> Result<(), DriverError> {
    let (graph, before) = captured(stream)?;
    let mut node = ptr::null_mut();
    let (first, count) = (before.as_ptr(), before.len());
    // SAFETY: both graphs are live, the nodes belong to the first one, and the output variable
    // outlives the call.
    unsafe { sys::cuGraphAddChildGraphNode(&raw mut node, graph, first, count, child) }.result()?;
    set_last(stream, node)
}

fn set_last(stream: &CudaStream, mut node: sys::CUgraphNode) -> Result<(), DriverError> {
    let set = sys::CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    let (stream, place) = (stream.cu_stream(), &raw mut node);
    // SAFETY: the stream is captured, and the node belongs to the captured graph.
    unsafe { sys::cuStreamUpdateCaptureDependencies_v2(stream, place, ptr::null(), 1, set as u32) }
        .result()
}

/// Returns the graph of the stream's capture, and the nodes on which the next node depends.
fn captured(stream: &CudaStream) -> Result<(sys::CUgraph, Vec<sys::CUgraphNode>), DriverError> {
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
    asked.result()?;
    if count == 0 {
        return Ok((graph, Vec::new()));
    }
    // SAFETY: the array contains `count` handles, and is valid until the next call on the
    // stream.
    Ok((graph, unsafe { std::slice::from_raw_parts(nodes, count) }.to_vec()))
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

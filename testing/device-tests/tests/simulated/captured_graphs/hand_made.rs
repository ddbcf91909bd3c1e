//! Nodes that are put into a capture by hand, by calls of the driver: memory, kernels, graphs and events that
//! no session knows of.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaGraph, CudaStream, DriverError, LaunchConfig, PushKernelArg, result, sys,
};
use pool_kernels::elementwise;

use crate::common::{NO_FLAGS, RELAXED};
use crate::support::function;

/// What is put there.
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
    /// With its free.
    Allocate,
    Conditional,
}

pub(crate) const KINDS: [Kind; 10] = [
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
];

/// Of `cuEventRecordWithFlags` and `cuStreamWaitEvent`: a node, and not an order of the capture.
const EXTERNAL: u32 = 1;
/// Of foreign memory.
const BYTES: usize = 777;

/// What nodes are made of, none of it a graph's; and the stream that they are put on.
pub(crate) struct Foreign {
    stream: Arc<CudaStream>,
    /// Twice as many bytes.
    address: u64,
    event: sys::CUevent,
    kernel: CudaFunction,
    child: CudaGraph,
}

// SAFETY: the handles are used by one thread at a time, as the tests wait for each other's.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

impl Foreign {
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Self {
        let context = stream.context();
        context.bind_to_thread().unwrap();
        // SAFETY: nobody has it, and what it holds are bytes.
        let address = unsafe { result::malloc_sync(2 * BYTES) }.unwrap();
        stream.begin_capture(RELAXED).unwrap();
        // SAFETY: the memory stays as long as this value, and with it the graph.
        unsafe { result::memset_d8_async(address, 1, BYTES, stream.cu_stream()) }.unwrap();
        let child = stream.end_capture(NO_FLAGS).unwrap().unwrap();
        let event = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING;
        let event = result::event::create(event).unwrap();
        let kernel = function(context, elementwise::MODULE, elementwise::SCALE.f32);
        stream.synchronize().unwrap();
        Self { stream: Arc::clone(stream), address, event, kernel, child }
    }

    /// Puts a node on the stream, or where it may be put beside it.
    pub(crate) fn put(&self, kind: Kind) {
        self.try_put(kind).unwrap();
    }

    /// The same where the driver may refuse it.
    pub(crate) fn try_put(&self, kind: Kind) -> Result<(), DriverError> {
        self.stream.context().bind_to_thread()?;
        let (stream, address) = (self.stream.cu_stream(), self.address);
        match kind {
            Kind::Kernel => self.launch(),
            Kind::Copy => {
                let to = address + BYTES as u64;
                // SAFETY: memory of this value, twice as many bytes.
                unsafe { result::memcpy_dtod_async(to, address, BYTES, stream) }
            }
            // SAFETY: memory of this value.
            Kind::Fill => unsafe { result::memset_d8_async(address, 7, BYTES, stream) },
            Kind::Host => {
                // SAFETY: a function that does nothing, and no data.
                unsafe { sys::cuLaunchHostFunc(stream, Some(nothing), ptr::null_mut()) }.result()
            }
            Kind::ChildGraph => {
                // SAFETY: the graph is this value's.
                unsafe { sys::cuGraphLaunch(self.child.cu_graph_exec(), stream) }.result()
            }
            Kind::Empty => self.add_empty(),
            Kind::Conditional => self.add_conditional(),
            Kind::Wait => {
                // SAFETY: event and stream are live.
                unsafe { sys::cuStreamWaitEvent(stream, self.event, EXTERNAL) }.result()
            }
            Kind::Record => {
                // SAFETY: event and stream are live.
                unsafe { sys::cuEventRecordWithFlags(self.event, stream, EXTERNAL) }.result()
            }
            Kind::Allocate => {
                // SAFETY: nobody uses what is allocated.
                let allocated = unsafe { result::malloc_async(stream, BYTES) }?;
                // SAFETY: it is freed once.
                unsafe { result::free_async(allocated, stream) }
            }
        }
    }

    /// By cudarc's safe call, on the stream that the graph was captured from.
    pub(crate) fn launch_child(&self) {
        self.child.launch().unwrap();
    }

    fn launch(&self) -> Result<(), DriverError> {
        let (factor, count) = (2.0_f32, 8_u64);
        let mut launch = self.stream.launch_builder(&self.kernel);
        launch.arg(&factor).arg(&self.address).arg(&count);
        // SAFETY: eight elements of this value's memory.
        unsafe { launch.launch(LaunchConfig::for_num_elems(8)) }.map(drop)
    }

    /// Into the graph of the capture, and behind nothing.
    fn add_empty(&self) -> Result<(), DriverError> {
        let (graph, mut node) = (self.captured_graph()?, ptr::null_mut());
        // SAFETY: the graph is that of a capture under way, and the place outlives the call.
        unsafe { sys::cuGraphAddEmptyNode(&raw mut node, graph, ptr::null(), 0) }.result()
    }

    /// The same.
    fn add_conditional(&self) -> Result<(), DriverError> {
        let (graph, context) = (self.captured_graph()?, self.stream.context().cu_ctx());
        let (mut handle, mut node) = (0, ptr::null_mut());
        // SAFETY: the graph is that of a capture under way, and the place outlives the call.
        unsafe { sys::cuGraphConditionalHandleCreate(&raw mut handle, graph, context, 0, 0) }
            .result()?;
        let conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
            handle,
            type_: sys::CUgraphConditionalNodeType_enum::CU_GRAPH_COND_TYPE_IF,
            size: 1,
            phGraph_out: ptr::null_mut(),
            ctx: context,
        };
        // SAFETY: integers and pointers: all zero is a value, of the first kind of nodes.
        let mut parameters: sys::CUgraphNodeParams = unsafe { std::mem::zeroed() };
        parameters.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        parameters.__bindgen_anon_1.conditional = conditional;
        let place = &raw mut parameters;
        // SAFETY: as above; no dependencies are given.
        unsafe { sys::cuGraphAddNode_v2(&raw mut node, graph, ptr::null(), ptr::null(), 0, place) }
            .result()
    }

    fn captured_graph(&self) -> Result<sys::CUgraph, DriverError> {
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let (mut id, mut graph, mut count) = (0, ptr::null_mut(), 0);
        let (mut nodes, mut data) = (ptr::null(), ptr::null());
        // SAFETY: the stream is live, and every place outlives the call.
        let asked = unsafe {
            sys::cuStreamGetCaptureInfo_v3(
                self.stream.cu_stream(),
                &raw mut status,
                &raw mut id,
                &raw mut graph,
                &raw mut nodes,
                &raw mut data,
                &raw mut count,
            )
        };
        asked.result()?;
        Ok(graph)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.stream.context().bind_to_thread().unwrap();
        // SAFETY: the memory is this value's, and nothing uses it any more, but for a graph that a test
        // replays all the same.
        unsafe { result::free_sync(self.address) }.unwrap();
        // SAFETY: the event is this value's.
        unsafe { result::event::destroy(self.event) }.unwrap();
    }
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

//! The driver's calls of a capture, and what a capture under way leaves behind when it is given up.
//!
//! This module, `captured/handles.rs` and `device/` call the driver. What the proofs rely on:
//!
//! 1. **Streams live** while the `Arc` that they are asked through is borrowed, and their context is
//!    the thread's current one: the session binds it before it begins.
//! 2. **Places outlive the call** that they are given to: they are locals.
//! 3. **Nodes and graphs** are handles that the driver gave; what is done with them stays within the
//!    life of the graph.

use std::ptr;
use std::sync::Arc;

use pool_cuda::cudarc::driver::{CudaContext, CudaStream, result, sys};
use pool_cuda::{CudaError, is_capturing, unheeding_captures};

use crate::captured::Graph;
use crate::device::answer;
use crate::device::graph_reading::capture_under_way;

/// Which calls of other threads spoil a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// Unsafe calls of every thread are refused, and spoil it.
    Global,
    /// Those of the capturing thread alone.
    #[default]
    ThreadLocal,
    /// None.
    Relaxed,
}

impl CaptureMode {
    fn of_driver(self) -> sys::CUstreamCaptureMode {
        match self {
            Self::Global => sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            Self::ThreadLocal => sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            Self::Relaxed => sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }
}

/// Makes a context the thread's current one.
pub(crate) fn bind(context: &CudaContext) -> Result<(), CudaError> {
    if result::ctx::get_current() == Ok(Some(context.cu_ctx())) {
        return Ok(());
    }
    // SAFETY: the context is live while its owner is borrowed.
    answer("cuCtxSetCurrent", unsafe { result::ctx::set_current(context.cu_ctx()) })
}

/// Waits for a stream that is not captured, also where another one is.
pub(crate) fn wait_for(stream: &CudaStream) -> Result<(), CudaError> {
    // SAFETY: the stream is live (1).
    let waited = unheeding_captures(|| unsafe { sys::cuStreamSynchronize(stream.cu_stream()) });
    answer("cuStreamSynchronize", waited.result())
}

/// A capture that has begun. Dropped, it is given up: the stream is captured no more.
pub(super) struct UnderWay<'r> {
    stream: Arc<CudaStream>,
    /// What the driver calls it; none while it has not been asked.
    id: Option<u64>,
    ended: bool,
    /// Called when somebody else has ended it, and has its graph.
    stolen: &'r dyn Fn(),
}

impl<'r> UnderWay<'r> {
    /// Begins; the context is bound.
    pub(super) fn begin(
        stream: &Arc<CudaStream>,
        mode: CaptureMode,
        stolen: &'r dyn Fn(),
    ) -> Result<Self, CudaError> {
        // SAFETY: the stream is live (1).
        let begun = unsafe { sys::cuStreamBeginCapture_v2(stream.cu_stream(), mode.of_driver()) };
        answer("cuStreamBeginCapture", begun.result())?;
        let mut under_way = Self { stream: Arc::clone(stream), id: None, ended: false, stolen };
        under_way.id = capture_under_way(stream)?.map(|capture| capture.id);
        Ok(under_way)
    }

    /// Ends it; none where it was spoiled without an error.
    pub(super) fn end(mut self) -> Result<Option<Graph>, CudaError> {
        self.end_once()
    }

    fn end_once(&mut self) -> Result<Option<Graph>, CudaError> {
        self.ended = true;
        if self.is_stolen() {
            (self.stolen)();
            return Ok(None);
        }
        let ended = self.ask_to_end();
        // Whatever the driver says, the stream must not be left captured.
        if ended.is_err() && is_capturing(&self.stream) == Ok(true) {
            drop(self.ask_to_end());
        }
        ended
    }

    /// Whether the stream is captured no more, or by another capture. One that is spoiled is there still.
    fn is_stolen(&self) -> bool {
        match capture_under_way(&self.stream) {
            Ok(Some(capture)) => self.id.is_some_and(|id| id != capture.id),
            Ok(None) => is_capturing(&self.stream) == Ok(false),
            Err(_) => false,
        }
    }

    fn ask_to_end(&self) -> Result<Option<Graph>, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is live (1), the place good (2).
        let ended = unsafe { sys::cuStreamEndCapture(self.stream.cu_stream(), &raw mut graph) };
        answer("cuStreamEndCapture", ended.result())?;
        // SAFETY: the driver gave it this moment, and nobody else has it.
        Ok(unsafe { Graph::new(graph, self.stream.context()) })
    }
}

/// The body failed or unwound: what was captured is thrown away.
impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let _ = bind(self.stream.context());
            drop(self.end_once());
        }
    }
}

/// The handles of the nodes that come before whatever is put on a stream next; `None` where the
/// stream is not captured, or its capture is spoiled.
pub(super) fn frontier(stream: &CudaStream) -> Result<Option<Vec<u64>>, CudaError> {
    let handles =
        |nodes: Vec<sys::CUgraphNode>| nodes.into_iter().map(|node| node.addr() as u64).collect();
    Ok(capture_under_way(stream)?.map(|capture| handles(capture.frontier)))
}

/// Sets bytes on a captured stream.
///
/// # Safety
///
/// The range is memory of the stream's device that lives as long as the graph.
pub(super) unsafe fn set_bytes(
    stream: &CudaStream,
    address: u64,
    value: u8,
    bytes: usize,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise, and (1).
    answer("cuMemsetD8Async", unsafe {
        result::memset_d8_async(address, value, bytes, stream.cu_stream())
    })
}

/// Copies on the device, on a captured stream.
///
/// # Safety
///
/// As for [`set_bytes`], for both ranges, which are apart.
pub(super) unsafe fn copy(
    stream: &CudaStream,
    to: u64,
    from: u64,
    bytes: usize,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise, and (1).
    answer("cuMemcpyDtoDAsync", unsafe {
        result::memcpy_dtod_async(to, from, bytes, stream.cu_stream())
    })
}

/// Copies from page-locked host memory, on a captured stream.
///
/// # Safety
///
/// As for [`set_bytes`], and the host range lives as long as the graph, too.
pub(super) unsafe fn copy_from_host(
    stream: &CudaStream,
    to: u64,
    from: *const u8,
    bytes: usize,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise, and (1).
    let copied = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream.cu_stream()) };
    answer("cuMemcpyHtoDAsync", copied.result())
}

/// The event through which streams of a capture wait for each other: one is enough, for a wait means
/// the record before it.
#[derive(Debug)]
pub(super) struct OrderEvent {
    event: sys::CUevent,
    context: Arc<CudaContext>,
}

impl OrderEvent {
    /// Outside of the capture; the context is bound.
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let flags = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING;
        let event = answer("cuEventCreate", result::event::create(flags))?;
        Ok(Self { event, context: Arc::clone(context) })
    }

    /// Makes a stream wait for all that another one holds now.
    pub(super) fn order(&self, later: &CudaStream, earlier: &CudaStream) -> Result<(), CudaError> {
        // SAFETY: event and stream are live (1).
        let recorded = unsafe { result::event::record(self.event, earlier.cu_stream()) };
        answer("cuEventRecord", recorded)?;
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: as above.
        let waited = unsafe { result::stream::wait_event(later.cu_stream(), self.event, flags) };
        answer("cuStreamWaitEvent", waited)
    }
}

impl Drop for OrderEvent {
    fn drop(&mut self) {
        let _ = bind(&self.context);
        // SAFETY: the event is live, and this is its last use.
        let _ = unsafe { result::event::destroy(self.event) };
    }
}

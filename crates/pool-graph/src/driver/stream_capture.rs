//! A capture in progress. [`StreamCapture`] begins a capture, reads the last nodes of the captured
//! streams, and ends the capture. Dropping a `StreamCapture` discards its capture.
//!
//! The safety proofs in this module rely on the facts listed in [the parent module](super).

use std::ptr;
use std::sync::{Arc, Weak};

use pool_driver::answer::answer;
use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::code::DriverCode;
use pool_driver::context::bind;
use pool_driver::cudarc::driver::{CudaContext, CudaStream, result, sys};
use pool_driver::deferred_frees::{DeferredFreeKind, QueueEntry, ResourceOwner};
use pool_driver::error::CudaError;
use pool_driver::event::Event;
use pool_driver::handle::{ContextHandle, HandleKind};
use pool_driver::versioned::set_behind_nothing;
use result::stream::StreamKind;

use super::graph_reading::{self, capture_under_way};
use super::handles::{Graph, GraphEntry};
use super::kept_values::{KeepingHandle, KeptValues};

/// The rules that determine which driver calls invalidate the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// The driver refuses potentially unsafe calls on all threads, and each such call invalidates
    /// the capture.
    Global,
    /// The driver refuses potentially unsafe calls on the capturing thread, and each such call
    /// invalidates the capture. Calls on other threads are not affected.
    #[default]
    ThreadLocal,
    /// The driver refuses only calls that affect the captured streams, such as a wait for all the
    /// work in the context. On an H200 with driver 580, `cuCtxSynchronize` was the only tested call
    /// that invalidated a capture in this mode.
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

/// The stream on which a capture begins. CUDA requires that a capture end on the stream on which it
/// began. No other code has this stream's handle. Other code therefore cannot end the capture and
/// obtain its graph. An attempt to end the capture on another captured stream invalidates the
/// capture and fails with `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` ("the capture was not initiated in
/// this stream", driver API).
#[derive(Debug)]
struct Origin(ResourceOwner<KeepingHandle<OriginKind>>);

// SAFETY: calls on a stream may be made from any thread. The handle in this value never changes.
unsafe impl Sync for Origin {}

enum OriginKind {}

// SAFETY: calls on a stream may be made from any thread.
unsafe impl HandleKind for OriginKind {
    type Handle = sys::CUstream;

    const KIND: DeferredFreeKind = DeferredFreeKind::Stream;

    unsafe fn destroy(stream: sys::CUstream) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the stream is live and is never used after this call.
        let destroyed = with_relaxed_capture_mode(|| unsafe { result::stream::destroy(stream) });
        answer("cuStreamDestroy", destroyed)
    }
}

impl Origin {
    /// Creates a stream in a context that must be current on the calling thread. The new stream
    /// shares ownership of the values that the captured work needs, because the stream might be
    /// destroyed before the capture ends.
    fn new(context: &Arc<CudaContext>, values: &Arc<KeptValues>) -> Result<Self, CudaError> {
        let entry = QueueEntry::new()?;
        let made = with_relaxed_capture_mode(|| result::stream::create(StreamKind::NonBlocking));
        let stream = answer("cuStreamCreate", made)?;
        // SAFETY: the stream has just been created in this context.
        let handle = unsafe { ContextHandle::new(stream, context) };
        Ok(Self(entry.own(KeepingHandle::new(handle, Arc::clone(values)))))
    }

    fn stream(&self) -> sys::CUstream {
        self.0.handle().get()
    }

    /// Removes all of the origin's dependencies so that its later work does not depend on any node.
    fn let_go(&self) -> Result<(), CudaError> {
        // SAFETY: the stream is live because its owner is borrowed.
        unsafe { set_behind_nothing(self.stream()) }
    }

    /// Returns `true` if the capture might still be in progress. The method also returns `true` if
    /// the driver reports an error.
    fn may_be_captured(&self) -> bool {
        // SAFETY: the stream is live because its owner is borrowed.
        let status = unsafe { result::stream::is_capturing(self.stream()) };
        status != Ok(sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Ends the capture. If the driver returns a graph, the reserved entry in the queue of deferred
    /// frees is assigned to that graph.
    fn ask_to_end(&self, entry: &mut Option<GraphEntry>) -> Result<Option<Graph>, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is live because its owner is borrowed. `graph` outlives the call that
        // writes to it.
        let ended = unsafe { sys::cuStreamEndCapture(self.stream(), &raw mut graph) };
        answer("cuStreamEndCapture", ended.result())?;
        let Some(entry) = entry.take() else { return Ok(None) };
        // SAFETY: the driver has just returned the graph, and no other code has its handle.
        Ok(unsafe { Graph::new(graph, self.0.handle().context(), self.0.values(), entry) })
    }
}

/// A capture in progress. The stream passed to [`begin`](Self::begin) takes part in the capture
/// from the start. Dropping this value discards the capture, and the stream leaves capture mode.
pub(crate) struct StreamCapture {
    origin: Arc<Origin>,
    stream: Arc<CudaStream>,
    event: Arc<Event>,
    id: u64,
    /// The entry reserved for the graph in the queue of deferred frees, or `None` if the capture
    /// has produced a graph.
    entry: Option<GraphEntry>,
    ended: bool,
}

impl StreamCapture {
    /// Begins capturing a stream. The stream's context must be current on the calling thread. The
    /// capture and its graph share ownership of `values`. Returns `None` if another thread has
    /// already invalidated the capture.
    pub(crate) fn begin(
        stream: &Arc<CudaStream>,
        mode: CaptureMode,
        event: &Arc<Event>,
        values: &Arc<KeptValues>,
    ) -> Result<Option<Self>, CudaError> {
        let entry = Some(GraphEntry::new()?);
        let origin = Origin::new(stream.context(), values)?;
        // SAFETY: the origin's stream is live because its owner is borrowed.
        let begun = unsafe { sys::cuStreamBeginCapture_v2(origin.stream(), mode.of_driver()) };
        answer("cuStreamBeginCapture", begun.result())?;
        let (stream, event) = (Arc::clone(stream), Arc::clone(event));
        // After this point, dropping `under_way` ends the capture.
        let origin = Arc::new(origin);
        let mut under_way = Self { origin, stream, event, id: 0, entry, ended: false };
        // SAFETY: both streams are live because their owners are borrowed.
        unsafe { under_way.event.order_handles(under_way.cu_stream(), under_way.origin.stream()) }?;
        let Some(capture) = capture_under_way(&under_way.stream)? else { return Ok(None) };
        under_way.id = capture.id;
        Ok(Some(under_way))
    }

    /// Returns an observer that can read the last nodes of the capture's streams while the capture
    /// is in progress.
    pub(crate) fn observer(&self) -> CaptureObserver {
        let (origin, event) = (Arc::downgrade(&self.origin), Arc::clone(&self.event));
        CaptureObserver { origin, event, capture: self.id }
    }

    /// Makes the origin wait for the captured stream, and then ends the capture. Returns `None` if
    /// the capture was invalidated even though the driver reported no error.
    pub(crate) fn end(mut self) -> Result<Option<Graph>, CudaError> {
        // SAFETY: both streams are live because their owners are borrowed.
        unsafe { self.event.order_handles(self.origin.stream(), self.cu_stream()) }?;
        self.end_once()
    }

    fn cu_stream(&self) -> sys::CUstream {
        self.stream.cu_stream()
    }

    fn end_once(&mut self) -> Result<Option<Graph>, CudaError> {
        self.ended = true;
        let ended = self.origin.ask_to_end(&mut self.entry);
        // If the capture could not be ended, the streams might still be in capture mode, so the
        // call is retried. If the second attempt returns a graph, that graph is destroyed.
        if ended.is_err() && self.origin.may_be_captured() {
            drop(self.origin.ask_to_end(&mut self.entry));
        }
        if ended.is_err() {
            forget_error_of_capture(self.stream.context());
        }
        ended
    }
}

/// Removes a capture-related error that a cudarc destructor stored in the context. If this error
/// were not removed, the next cudarc call would return it. Errors with other causes stay in the
/// context.
fn forget_error_of_capture(context: &CudaContext) {
    if let Err(error) = context.check_err()
        && DriverCode::from(error).capture_advice().is_none()
    {
        context.record_err::<()>(Err(error));
    }
}

/// Discards the capture if the body failed or panicked.
impl Drop for StreamCapture {
    fn drop(&mut self) {
        if !self.ended {
            // If the context cannot be made current, the capture cannot be ended here. The driver
            // then ends the capture when the origin is destroyed.
            let _unbound = bind(self.stream.context());
            drop(self.end_once());
        }
    }
}

/// Reads the last nodes of a capture's streams during the capture.
///
/// The driver returns a stream's last nodes as an array that might change during the next call on
/// the same stream. Other threads can make driver calls on these streams because cudarc's safe
/// functions accept the session's streams. The observer therefore queries only the origin. No other
/// code has access to the origin. First, the observer makes the origin wait for the queried stream.
/// Then the observer reads the origin's last nodes and removes its dependencies. The origin has its
/// own array because the driver copies the list of nodes when one stream waits for another. The
/// capture cannot end during these calls, because only the owner of the origin can end the capture.
#[derive(Debug)]
pub(crate) struct CaptureObserver {
    origin: Weak<Origin>,
    event: Arc<Event>,
    /// The driver's capture ID, which is unique within the process.
    capture: u64,
}

/// A stream's state relative to a capture.
pub(crate) enum StreamPosition {
    /// The stream is not being captured, or its capture has been invalidated.
    Outside,
    /// The stream takes part in a different capture.
    Elsewhere,
    /// The stream's next work depends on the captured nodes with these handles.
    Behind(Vec<u64>),
}

impl CaptureObserver {
    /// Returns a stream's state relative to this capture.
    pub(crate) fn look(&self, stream: &CudaStream) -> Result<StreamPosition, CudaError> {
        let (Some(capture), Some(origin)) = (capture_under_way(stream)?, self.origin.upgrade())
        else {
            return Ok(StreamPosition::Outside);
        };
        if capture.id != self.capture {
            return Ok(StreamPosition::Elsewhere);
        }
        // SAFETY: both streams are live because their owners are borrowed.
        unsafe { self.event.order_handles(origin.stream(), stream.cu_stream()) }?;
        // SAFETY: the origin's stream is live, and no other code has its handle. Only the thread
        // that runs the captured body uses this stream, and that thread holds the lock on the
        // capture's account during this call. The same thread ends the capture on this stream after
        // the body has returned.
        let nodes = unsafe { graph_reading::frontier(origin.stream()) };
        origin.let_go()?;
        let handles = |nodes: Vec<sys::CUgraphNode>| nodes.iter().map(handle).collect();
        Ok(nodes?.map_or(StreamPosition::Outside, |nodes| StreamPosition::Behind(handles(nodes))))
    }
}

fn handle(node: &sys::CUgraphNode) -> u64 {
    node.addr() as u64
}

//! A capture in progress. It can be begun, queried for the last nodes of its streams, and ended. A
//! capture that is dropped is discarded.
//!
//! The proofs rely on the facts listed in [the parent module](super).

use std::ptr;
use std::sync::{Arc, Weak};

use pool_driver::answer::answer;
use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::code::DriverCode;
use pool_driver::context::bind;
use pool_driver::cudarc::driver::{CudaContext, CudaStream, result, sys};
use pool_driver::error::CudaError;
use pool_driver::event::Event;
use pool_driver::handle::{ContextHandle, HandleKind};
use pool_driver::leftovers::{LeftoverKind, Place, ResourceOwner};
use pool_driver::versioned::set_behind_nothing;
use result::stream::StreamKind;

use super::graph_reading::{self, capture_under_way};
use super::handles::{Graph, GraphPlace};
use super::kept_values::{KeepingHandle, KeptValues};

/// The calls of other threads that invalidate a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// Unsafe calls on any thread are refused, and invalidate the capture.
    Global,
    /// Only unsafe calls on the capturing thread are refused, and invalidate the capture.
    #[default]
    ThreadLocal,
    /// No calls are refused, and no call invalidates the capture.
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

/// The stream on which a capture begins. No other code has its handle, and a capture must end on
/// the stream on which it began. No other code can therefore end the capture and receive its graph.
/// Trying to end the capture on one of its other streams fails with
/// `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` ("the capture was not initiated in this stream", driver
/// API), and invalidates the capture.
#[derive(Debug)]
struct Origin(ResourceOwner<KeepingHandle<OriginKind>>);

// SAFETY: the driver's calls on a stream may be made from any thread, and the value itself never
// changes.
unsafe impl Sync for Origin {}

enum OriginKind {}

// SAFETY: the driver's calls on a stream may be made from any thread.
unsafe impl HandleKind for OriginKind {
    type Handle = sys::CUstream;

    const KIND: LeftoverKind = LeftoverKind::Stream;

    unsafe fn destroy(stream: sys::CUstream) -> Result<(), CudaError> {
        // SAFETY: the caller promises that the stream is live and that this is its last use.
        let destroyed = with_relaxed_capture_mode(|| unsafe { result::stream::destroy(stream) });
        answer("cuStreamDestroy", destroyed)
    }
}

impl Origin {
    /// Creates a stream in a context, which must be bound. The stream owns the values that the
    /// captured work needs, because a stream that is destroyed ends its capture.
    fn new(context: &Arc<CudaContext>, values: &Arc<KeptValues>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        let made = with_relaxed_capture_mode(|| result::stream::create(StreamKind::NonBlocking));
        let stream = answer("cuStreamCreate", made)?;
        // SAFETY: the stream has just been created in this context.
        let handle = unsafe { ContextHandle::new(stream, context) };
        Ok(Self(place.own(KeepingHandle::new(handle, Arc::clone(values)))))
    }

    fn stream(&self) -> sys::CUstream {
        self.0.handle().get()
    }

    /// Removes the origin's dependencies again.
    fn let_go(&self) -> Result<(), CudaError> {
        // SAFETY: the stream is live (1).
        unsafe { set_behind_nothing(self.stream()) }
    }

    /// Returns `true` if the capture may still be in progress, or if the driver returns an error.
    fn may_be_captured(&self) -> bool {
        // SAFETY: the stream is live (1).
        let status = unsafe { result::stream::is_capturing(self.stream()) };
        status != Ok(sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Ends the capture. If there is a graph, it takes the reserved entry in the queue of deferred
    /// frees.
    fn ask_to_end(&self, place: &mut Option<GraphPlace>) -> Result<Option<Graph>, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is live (1), and the output variable is valid (2).
        let ended = unsafe { sys::cuStreamEndCapture(self.stream(), &raw mut graph) };
        answer("cuStreamEndCapture", ended.result())?;
        let Some(place) = place.take() else { return Ok(None) };
        // SAFETY: the driver has just returned the graph, and no other code has its handle.
        Ok(unsafe { Graph::new(graph, self.0.handle().context(), self.0.values(), place) })
    }
}

/// A capture in progress, in which a stream takes part from the beginning. Dropping this value
/// discards the capture, and the stream is then no longer captured.
pub(crate) struct StreamCapture {
    origin: Arc<Origin>,
    stream: Arc<CudaStream>,
    event: Arc<Event>,
    id: u64,
    /// The entry in the queue of deferred frees that is reserved for the graph. `None` once the
    /// capture has ended with a graph.
    place: Option<GraphPlace>,
    ended: bool,
}

impl StreamCapture {
    /// Begins a capture of a stream, whose context must be bound. The capture and its graph own
    /// `values`. Returns `None` if another thread has already invalidated the capture.
    pub(crate) fn begin(
        stream: &Arc<CudaStream>,
        mode: CaptureMode,
        event: &Arc<Event>,
        values: &Arc<KeptValues>,
    ) -> Result<Option<Self>, CudaError> {
        let place = Some(GraphPlace::new()?);
        let origin = Origin::new(stream.context(), values)?;
        // SAFETY: the stream is live (1).
        let begun = unsafe { sys::cuStreamBeginCapture_v2(origin.stream(), mode.of_driver()) };
        answer("cuStreamBeginCapture", begun.result())?;
        let (stream, event) = (Arc::clone(stream), Arc::clone(event));
        // From here on, dropping the value ends the capture.
        let origin = Arc::new(origin);
        let mut under_way = Self { origin, stream, event, id: 0, place, ended: false };
        // SAFETY: both streams are live (1).
        unsafe { under_way.event.order_handles(under_way.cu_stream(), under_way.origin.stream()) }?;
        let Some(capture) = capture_under_way(&under_way.stream)? else { return Ok(None) };
        under_way.id = capture.id;
        Ok(Some(under_way))
    }

    /// Returns an observer of the streams' last nodes, which works while the capture is in
    /// progress.
    pub(crate) fn observer(&self) -> CaptureObserver {
        let (origin, event) = (Arc::downgrade(&self.origin), Arc::clone(&self.event));
        CaptureObserver { origin, event, capture: self.id }
    }

    /// Ends the capture after the current work of its stream. Returns `None` if the capture was
    /// invalidated without an error.
    pub(crate) fn end(mut self) -> Result<Option<Graph>, CudaError> {
        // SAFETY: both streams are live (1).
        unsafe { self.event.order_handles(self.origin.stream(), self.cu_stream()) }?;
        self.end_once()
    }

    fn cu_stream(&self) -> sys::CUstream {
        self.stream.cu_stream()
    }

    fn end_once(&mut self) -> Result<Option<Graph>, CudaError> {
        self.ended = true;
        let ended = self.origin.ask_to_end(&mut self.place);
        // After any error, the streams must not stay captured. If there is a graph, it is
        // destroyed.
        if ended.is_err() && self.origin.may_be_captured() {
            drop(self.origin.ask_to_end(&mut self.place));
        }
        if ended.is_err() {
            forget_error_of_capture(self.stream.context());
        }
        ended
    }
}

/// Removes the error that a cudarc destructor has stored in the context, if a capture caused that
/// error. Otherwise the next call of cudarc would return it. An error with another cause stays in
/// the context.
fn forget_error_of_capture(context: &CudaContext) {
    if let Err(error) = context.check_err()
        && DriverCode::from(error).capture_advice().is_none()
    {
        context.record_err::<()>(Err(error));
    }
}

/// Discards the capture, because the body failed or unwound.
impl Drop for StreamCapture {
    fn drop(&mut self) {
        if !self.ended {
            // If the context cannot be made current, ending the capture fails. The driver then ends
            // the capture when the origin is destroyed.
            let _unbound = bind(self.stream.context());
            drop(self.end_once());
        }
    }
}

/// An observer of the last nodes of a capture's streams while the capture is in progress.
///
/// The driver returns a stream's last nodes in an array that the next call on *that stream* may
/// change. Other threads may also use the streams of a session in safe calls of cudarc. The
/// observer therefore queries the origin, which no other code can use. It orders the origin after
/// the stream, reads the origin's last nodes, and removes the origin's dependencies again. The
/// driver copies the nodes in both steps. The capture cannot end during these calls, because it
/// must end on its origin.
#[derive(Debug)]
pub(crate) struct CaptureObserver {
    origin: Weak<Origin>,
    event: Arc<Event>,
    /// The driver's capture ID, unique in the process.
    capture: u64,
}

/// The position of a stream relative to a capture.
pub(crate) enum StreamPosition {
    /// The stream is not captured, or its capture has been invalidated.
    Outside,
    /// The stream takes part in another capture.
    Elsewhere,
    /// The stream's next work follows these nodes of the capture, given by handle.
    Behind(Vec<u64>),
}

impl CaptureObserver {
    /// Returns the position of a stream relative to this capture.
    pub(crate) fn look(&self, stream: &CudaStream) -> Result<StreamPosition, CudaError> {
        let (Some(capture), Some(origin)) = (capture_under_way(stream)?, self.origin.upgrade())
        else {
            return Ok(StreamPosition::Outside);
        };
        if capture.id != self.capture {
            return Ok(StreamPosition::Elsewhere);
        }
        // SAFETY: both streams are live (1).
        unsafe { self.event.order_handles(origin.stream(), stream.cu_stream()) }?;
        // SAFETY: the stream is live (1). No other code has its handle: a single thread runs the
        // captured body, and queries while it holds the lock of the account. Only that thread ends
        // the capture, on this stream, after the body.
        let nodes = unsafe { graph_reading::frontier(origin.stream()) };
        origin.let_go()?;
        let handles = |nodes: Vec<sys::CUgraphNode>| nodes.iter().map(handle).collect();
        Ok(nodes?.map_or(StreamPosition::Outside, |nodes| StreamPosition::Behind(handles(nodes))))
    }
}

fn handle(node: &sys::CUgraphNode) -> u64 {
    node.addr() as u64
}

//! A capture in progress: begun, queried for the ends of its streams, ended, and cleaned up when it
//! is discarded.
//!
//! The facts for the proofs are in [the module of its calls](super).

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

/// The calls of other threads that invalidate a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// Unsafe calls of every thread are refused, and invalidate it.
    Global,
    /// Unsafe calls of the capturing thread alone are refused, and invalidate it.
    #[default]
    ThreadLocal,
    /// No call of any thread is refused, and none invalidates it.
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

/// The stream that a capture begins on. No other code has its handle, and a capture must end on its
/// first stream. So no other code can end one and get its graph: on the streams that take part,
/// this is `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` ("the capture was not initiated in this stream",
/// driver API), and invalidates the capture.
#[derive(Debug)]
struct Origin(ResourceOwner<ContextHandle<OriginKind>>);

// SAFETY: the driver's calls on a stream may be made from any thread; the value itself never changes.
unsafe impl Sync for Origin {}

enum OriginKind {}

// SAFETY: as above.
unsafe impl HandleKind for OriginKind {
    type Handle = sys::CUstream;

    const KIND: LeftoverKind = LeftoverKind::Stream;

    unsafe fn destroy(stream: sys::CUstream) -> Result<(), CudaError> {
        // SAFETY: the stream is live, and this is its last use (caller).
        let destroyed = with_relaxed_capture_mode(|| unsafe { result::stream::destroy(stream) });
        answer("cuStreamDestroy", destroyed)
    }
}

impl Origin {
    /// Creates a stream of a context, which must be bound.
    fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        let made = with_relaxed_capture_mode(|| result::stream::create(StreamKind::NonBlocking));
        let stream = answer("cuStreamCreate", made)?;
        // SAFETY: the stream has just been created, in this context.
        Ok(Self(place.own(unsafe { ContextHandle::new(stream, context) })))
    }

    fn stream(&self) -> sys::CUstream {
        self.0.get()
    }

    /// Removes the origin's dependencies again.
    fn let_go(&self) -> Result<(), CudaError> {
        // SAFETY: the stream is live (1).
        unsafe { set_behind_nothing(self.stream()) }
    }

    /// Returns `true` if the capture may still be in progress, and if the driver returns an error.
    fn may_be_captured(&self) -> bool {
        // SAFETY: the stream is live (1).
        let status = unsafe { result::stream::is_capturing(self.stream()) };
        status != Ok(sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Ends the capture. A graph gets the reserved place in the queue of deferred frees.
    fn ask_to_end(&self, place: &mut Option<GraphPlace>) -> Result<Option<Graph>, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is live (1), and the place is valid (2).
        let ended = unsafe { sys::cuStreamEndCapture(self.stream(), &raw mut graph) };
        answer("cuStreamEndCapture", ended.result())?;
        let Some(place) = place.take() else { return Ok(None) };
        // SAFETY: the driver has just returned it, and no other code has it.
        Ok(unsafe { Graph::new(graph, self.0.context(), place) })
    }
}

/// A capture in progress, in which a stream takes part from the beginning. Its drop discards it:
/// the stream is no longer captured.
pub(crate) struct StreamCapture {
    origin: Arc<Origin>,
    stream: Arc<CudaStream>,
    event: Arc<Event>,
    id: u64,
    /// The place in the queue of deferred frees for the graph; `None` once the capture has ended
    /// with one.
    place: Option<GraphPlace>,
    ended: bool,
}

impl StreamCapture {
    /// Begins a capture of a stream, whose context must be bound. Fails if another thread
    /// invalidated it at once.
    pub(crate) fn begin(
        stream: &Arc<CudaStream>,
        mode: CaptureMode,
        event: &Arc<Event>,
    ) -> Result<Option<Self>, CudaError> {
        let place = Some(GraphPlace::new()?);
        let origin = Origin::new(stream.context())?;
        // SAFETY: the stream is live (1).
        let begun = unsafe { sys::cuStreamBeginCapture_v2(origin.stream(), mode.of_driver()) };
        answer("cuStreamBeginCapture", begun.result())?;
        let (stream, event) = (Arc::clone(stream), Arc::clone(event));
        // From here on its drop ends it.
        let origin = Arc::new(origin);
        let mut under_way = Self { origin, stream, event, id: 0, place, ended: false };
        // SAFETY: both streams are live (1).
        unsafe { under_way.event.order_handles(under_way.cu_stream(), under_way.origin.stream()) }?;
        let Some(capture) = capture_under_way(&under_way.stream)? else { return Ok(None) };
        under_way.id = capture.id;
        Ok(Some(under_way))
    }

    /// Returns an observer of its streams' last nodes, for as long as it is in progress.
    pub(crate) fn observer(&self) -> CaptureObserver {
        let (origin, event) = (Arc::downgrade(&self.origin), Arc::clone(&self.event));
        CaptureObserver { origin, event, capture: self.id }
    }

    /// Ends the capture after the current work of its stream. Returns `None` if it was invalidated
    /// without an error.
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
        // On any error, the streams must not be left captured. The graph, if there is one, is
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

/// Takes the error that a destructor of cudarc has stored in the context, if a capture was its
/// cause: otherwise the next call of cudarc would return it. An error with another cause stays in
/// the context.
fn forget_error_of_capture(context: &CudaContext) {
    if let Err(error) = context.check_err()
        && DriverCode::from(error).capture_advice().is_none()
    {
        context.record_err::<()>(Err(error));
    }
}

/// The body failed or unwound: the capture is discarded.
impl Drop for StreamCapture {
    fn drop(&mut self) {
        if !self.ended {
            // If the context cannot be made current, the end fails; the driver's capture is then
            // ended with its origin.
            let _unbound = bind(self.stream.context());
            drop(self.end_once());
        }
    }
}

/// An observer of the last nodes of a capture's streams, while it is in progress.
///
/// The driver returns a stream's last nodes in an array that the next call on *that stream* may
/// change. Other threads have the streams of a session, for safe calls of cudarc, too. So the
/// origin is queried, which no other code has. It is ordered after the stream, its nodes are
/// queried, and its dependencies are removed again. The driver copies in both steps. The capture
/// cannot end meanwhile, because it must end on its origin.
#[derive(Debug)]
pub(crate) struct CaptureObserver {
    origin: Weak<Origin>,
    event: Arc<Event>,
    /// The driver's capture ID, unique in the process.
    capture: u64,
}

/// The position of a stream in a capture.
pub(crate) enum StreamPosition {
    /// The stream is not captured, or its capture is invalidated.
    Outside,
    /// The stream is in another capture.
    Elsewhere,
    /// The stream is after these nodes of the capture, by handle.
    Behind(Vec<u64>),
}

impl CaptureObserver {
    /// Returns the position of a stream in a capture.
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
        // SAFETY: the stream is live (1). No other code has its handle: one thread runs the
        // captured body, and queries under the lock of its account. Only that thread ends the
        // capture, on this stream, after the body.
        let nodes = unsafe { graph_reading::frontier(origin.stream()) };
        origin.let_go()?;
        let handles = |nodes: Vec<sys::CUgraphNode>| nodes.iter().map(handle).collect();
        Ok(nodes?.map_or(StreamPosition::Outside, |nodes| StreamPosition::Behind(handles(nodes))))
    }
}

fn handle(node: &sys::CUgraphNode) -> u64 {
    node.addr() as u64
}

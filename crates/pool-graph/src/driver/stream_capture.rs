//! A capture under way: begun, asked where its streams stand, ended, and what it leaves behind when it is given up.
//!
//! What the proofs rely on is in [the module of its calls](super).

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

/// Which calls of other threads invalidate a capture.
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

/// The stream that a capture begins on. Nobody else has its name, and a capture is ended where it began,
/// so nobody else can end one and have its graph: on the streams that take part, this is
/// `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` ("the capture was not initiated in this stream", driver API), and
/// invalidates the capture.
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
    /// A stream of a context, which is bound.
    fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        let made = with_relaxed_capture_mode(|| result::stream::create(StreamKind::NonBlocking));
        let stream = answer("cuStreamCreate", made)?;
        // SAFETY: the stream was made this moment, in this context.
        Ok(Self(place.own(unsafe { ContextHandle::new(stream, context) })))
    }

    fn stream(&self) -> sys::CUstream {
        self.0.get()
    }

    /// Sets the origin behind no node again.
    fn let_go(&self) -> Result<(), CudaError> {
        // SAFETY: the stream is live (1).
        unsafe { set_behind_nothing(self.stream()) }
    }

    /// Whether the capture may be under way still: also where the driver does not say.
    fn may_be_captured(&self) -> bool {
        // SAFETY: the stream is live (1).
        let status = unsafe { result::stream::is_capturing(self.stream()) };
        status != Ok(sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Ends the capture. The graph takes the place among the leftovers, where there is a graph.
    fn ask_to_end(&self, place: &mut Option<GraphPlace>) -> Result<Option<Graph>, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is live (1), the place good (2).
        let ended = unsafe { sys::cuStreamEndCapture(self.stream(), &raw mut graph) };
        answer("cuStreamEndCapture", ended.result())?;
        let Some(place) = place.take() else { return Ok(None) };
        // SAFETY: the driver gave it this moment, and nobody else has it.
        Ok(unsafe { Graph::new(graph, self.0.context(), place) })
    }
}

/// A capture that has begun, of a stream that takes part from the first. Dropped, it is given up: the
/// stream is captured no more.
pub(crate) struct StreamCapture {
    origin: Arc<Origin>,
    stream: Arc<CudaStream>,
    event: Arc<Event>,
    id: u64,
    /// The place among the leftovers for the graph; none once the capture was ended with one.
    place: Option<GraphPlace>,
    ended: bool,
}

impl StreamCapture {
    /// Begins a capture of a stream, whose context is bound; none where another thread invalidated it at once.
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

    /// What tells where its streams stand, for as long as it is under way.
    pub(crate) fn observer(&self) -> CaptureObserver {
        let (origin, event) = (Arc::downgrade(&self.origin), Arc::clone(&self.event));
        CaptureObserver { origin, event, capture: self.id }
    }

    /// Ends the capture behind what its stream holds now; none where it was invalidated without an error.
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
        // Whatever the driver says, the streams must not be left captured. The graph, if there is one, is destroyed.
        if ended.is_err() && self.origin.may_be_captured() {
            drop(self.origin.ask_to_end(&mut self.place));
        }
        if ended.is_err() {
            forget_error_of_capture(self.stream.context());
        }
        ended
    }
}

/// Takes the error that a destructor of cudarc has left with the context, if a capture was its cause: otherwise the next
/// call of cudarc's would return it. The context keeps an error that has another cause.
fn forget_error_of_capture(context: &CudaContext) {
    if let Err(error) = context.check_err()
        && DriverCode::from(error).capture_advice().is_none()
    {
        context.record_err::<()>(Err(error));
    }
}

/// The body failed or unwound: what was captured is thrown away.
impl Drop for StreamCapture {
    fn drop(&mut self) {
        if !self.ended {
            // Where the context cannot be made the current one, ending fails by itself; the driver's capture is then
            // ended with its origin.
            let _unbound = bind(self.stream.context());
            drop(self.end_once());
        }
    }
}

/// Tells where the streams of a capture stand, while that is under way.
///
/// The driver shows the nodes that a stream has come to in an array that the next call on *that stream* may
/// change, and other threads have the streams of a session, for safe calls of cudarc's, too. So the origin is
/// asked, which nobody else has: it comes behind the stream, is asked where it stands, and is set back behind
/// nothing. Both are copies that the driver makes; and while it is asked its capture is not ended, for that
/// is done where it began.
#[derive(Debug)]
pub(crate) struct CaptureObserver {
    origin: Weak<Origin>,
    event: Arc<Event>,
    /// What the driver calls the capture, and no other one of the process.
    capture: u64,
}

/// Where a stream stands in a capture.
pub(crate) enum StreamPosition {
    /// The stream is not captured, or its capture is invalidated.
    Outside,
    /// The stream is in another capture.
    Elsewhere,
    /// The stream is behind these nodes of the capture, named by their handles.
    Behind(Vec<u64>),
}

impl CaptureObserver {
    /// Where a stream stands in a capture.
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
        // SAFETY: the stream is live (1). Nobody else has its handle: the body that is captured is one
        // thread's, and asks under the lock of its account. The capture, which ends there alone, is ended
        // by that thread, after the body.
        let nodes = unsafe { graph_reading::frontier(origin.stream()) };
        origin.let_go()?;
        let handles = |nodes: Vec<sys::CUgraphNode>| nodes.iter().map(handle).collect();
        Ok(nodes?.map_or(StreamPosition::Outside, |nodes| StreamPosition::Behind(handles(nodes))))
    }
}

fn handle(node: &sys::CUgraphNode) -> u64 {
    node.addr() as u64
}

//! Events of our own. A call on one of cudarc's events may return an error that an earlier,
//! unrelated call left with the context; a call on these does not.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::answer::answer;
use crate::capture_mode::with_relaxed_capture_mode;
use crate::code::DriverCode;
use crate::context::{bind, bound_handle};
use crate::error::CudaError;
use crate::handle::{ContextHandle, HandleKind};
use crate::leftovers::{LeftoverKind, Place, ResourceOwner};

/// A point in a stream's order that other streams, or the host, can wait for.
pub struct Event(ResourceOwner<ContextHandle<EventKind>>);

// SAFETY: the driver's calls on an event may be made from any thread; the value itself never changes.
unsafe impl Sync for Event {}

enum EventKind {}

// SAFETY: as above.
unsafe impl HandleKind for EventKind {
    type Handle = sys::CUevent;

    const KIND: LeftoverKind = LeftoverKind::Event;

    /// Destroys the event. Work recorded with it stays in its stream, and streams that wait for it
    /// continue to do so.
    unsafe fn destroy(event: sys::CUevent) -> Result<(), CudaError> {
        // SAFETY: the event is live, and this is its last use (caller).
        answer("cuEventDestroy", unsafe { result::event::destroy(event) })
    }
}

impl Event {
    /// Makes an event of a context, which becomes the current one.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        bind(context)?;
        let without_time = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING;
        let handle = answer("cuEventCreate", result::event::create(without_time))?;
        // SAFETY: the event was just made, in this context.
        Ok(Self(place.own(unsafe { ContextHandle::new(handle, context) })))
    }

    /// Marks the current position of a stream of the event's context. Streams that wait for an
    /// earlier mark of this event still wait for that one. The context becomes the current one.
    pub fn record(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let stream = bound_handle(stream)?;
        // SAFETY: the stream is live while its owner is borrowed, and its context is the current one.
        unsafe { self.record_handle(stream) }
    }

    /// Makes a stream, of any context, wait for the mark. The stream's context becomes the current one.
    pub fn hold_back(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let stream = bound_handle(stream)?;
        // SAFETY: as in `record`.
        unsafe { self.hold_back_handle(stream) }
    }

    /// Makes a stream wait for all current work of another one of the event's context. The context
    /// of `later` becomes the current one. One event is enough for any number of streams, because a
    /// wait is for the record before it.
    pub fn order(&self, later: &CudaStream, earlier: &CudaStream) -> Result<(), CudaError> {
        self.record(earlier)?;
        self.hold_back(later)
    }

    /// Does the same as [`order`](Self::order), for streams that are known by their handles.
    ///
    /// # Safety
    ///
    /// Both streams are live. If a handle is that of a default stream, its context is the current
    /// one.
    pub unsafe fn order_handles(
        &self,
        later: sys::CUstream,
        earlier: sys::CUstream,
    ) -> Result<(), CudaError> {
        // SAFETY: the event is live until `self` is dropped; the caller guarantees the stream.
        unsafe { self.record_handle(earlier) }?;
        // SAFETY: as above.
        unsafe { self.hold_back_handle(later) }
    }

    /// # Safety
    ///
    /// Same as for [`order_handles`](Self::order_handles).
    unsafe fn record_handle(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        // SAFETY: the event is live until `self` is dropped; the caller guarantees the stream.
        answer("cuEventRecord", unsafe { result::event::record(self.0.get(), stream) })
    }

    /// # Safety
    ///
    /// Same as for [`order_handles`](Self::order_handles).
    unsafe fn hold_back_handle(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: as in `record_handle`.
        let waits = unsafe { result::stream::wait_event(stream, self.0.get(), flags) };
        answer("cuStreamWaitEvent", waits)
    }

    /// Returns `true` if the work before the mark is done.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        // SAFETY: the event is live until `self` is dropped.
        match with_relaxed_capture_mode(|| unsafe { result::event::query(self.0.get()) }) {
            Ok(()) => Ok(true),
            Err(error) if DriverCode::from(error) == DriverCode::NOT_READY => Ok(false),
            Err(error) => Err(CudaError::Call { call: "cuEventQuery", code: error.into() }),
        }
    }

    /// Waits, on the host, until the work before the mark is done.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: as in `is_done`.
        let waited =
            with_relaxed_capture_mode(|| unsafe { result::event::synchronize(self.0.get()) });
        answer("cuEventSynchronize", waited)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Event").field(&self.0.get()).finish()
    }
}

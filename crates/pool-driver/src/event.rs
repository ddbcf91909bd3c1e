//! This crate's own events. A call on one of cudarc's events may return an error that an earlier,
//! unrelated call left in the context; a call on an [`Event`] does not.

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

/// A point in stream order that other streams, or the host, can wait for.
pub struct Event(ResourceOwner<ContextHandle<EventKind>>);

// SAFETY: the driver's calls on an event may be made from any thread, and the value itself never
// changes.
unsafe impl Sync for Event {}

enum EventKind {}

// SAFETY: as above.
unsafe impl HandleKind for EventKind {
    type Handle = sys::CUevent;

    const KIND: LeftoverKind = LeftoverKind::Event;

    /// Destroys the event. Work that was recorded with it stays in its stream, and streams that
    /// wait for it continue to do so.
    unsafe fn destroy(event: sys::CUevent) -> Result<(), CudaError> {
        // SAFETY: the event is live, and this is its last use (caller).
        let destroyed = with_relaxed_capture_mode(|| unsafe { result::event::destroy(event) });
        answer("cuEventDestroy", destroyed)
    }
}

impl Event {
    /// Creates an event of a context, and makes the context current.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        bind(context)?;
        let without_time = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING;
        let handle = answer("cuEventCreate", result::event::create(without_time))?;
        // SAFETY: the event was created above, in this context.
        Ok(Self(place.own(unsafe { ContextHandle::new(handle, context) })))
    }

    /// Records the event at the current end of a stream of the event's context. Streams that wait
    /// for an earlier record of this event still wait for that record. Makes the context current.
    pub fn record(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let stream = bound_handle(stream)?;
        // SAFETY: the stream is live while its owner is borrowed, and its context is current.
        unsafe { self.record_handle(stream) }
    }

    /// Makes a stream of any context wait for the recorded point. Makes the stream's context
    /// current.
    pub fn hold_back(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let stream = bound_handle(stream)?;
        // SAFETY: as in `record`.
        unsafe { self.hold_back_handle(stream) }
    }

    /// Makes `later` wait for all current work of `earlier`, which must be a stream of the event's
    /// context. Makes the context of `later` current. One event is enough for any number of
    /// streams, because each wait refers to the record before it.
    pub fn order(&self, later: &CudaStream, earlier: &CudaStream) -> Result<(), CudaError> {
        self.record(earlier)?;
        self.hold_back(later)
    }

    /// Does the same as [`order`](Self::order), for streams given by their handles.
    ///
    /// # Safety
    ///
    /// Both streams must be live. If a handle refers to a default stream, its context must be
    /// current.
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
    /// The same contract as [`order_handles`](Self::order_handles).
    unsafe fn record_handle(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        // SAFETY: the event is live until `self` is dropped; the caller guarantees the stream.
        answer("cuEventRecord", unsafe { result::event::record(self.0.get(), stream) })
    }

    /// # Safety
    ///
    /// The same contract as [`order_handles`](Self::order_handles).
    unsafe fn hold_back_handle(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: as in `record_handle`.
        let waits = unsafe { result::stream::wait_event(stream, self.0.get(), flags) };
        answer("cuStreamWaitEvent", waits)
    }

    /// Returns `true` if all work before the recorded point is done.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        // SAFETY: the event is live until `self` is dropped.
        match with_relaxed_capture_mode(|| unsafe { result::event::query(self.0.get()) }) {
            Ok(()) => Ok(true),
            Err(error) if DriverCode::from(error) == DriverCode::NOT_READY => Ok(false),
            Err(error) => Err(CudaError::Call { call: "cuEventQuery", code: error.into() }),
        }
    }

    /// Blocks the host until all work before the recorded point is done.
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

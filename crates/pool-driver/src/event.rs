//! Implements events that, unlike cudarc's events, never return errors from earlier calls. A call
//! that uses cudarc's events might return an error from an earlier, unrelated call. A call that
//! uses an [`Event`] never returns an error from an earlier call.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::answer::answer;
use crate::capture_mode::with_relaxed_capture_mode;
use crate::code::DriverCode;
use crate::context::{bind, bound_handle};
use crate::deferred_frees::{DeferredFreeKind, QueueEntry, ResourceOwner};
use crate::error::CudaError;
use crate::handle::{ContextHandle, HandleKind};

/// A point in a stream's work that other streams or the host can wait for.
pub struct Event(ResourceOwner<ContextHandle<EventKind>>);

// SAFETY: the driver's event functions can be called from any thread. The value itself never
// changes.
unsafe impl Sync for Event {}

enum EventKind {}

// SAFETY: the driver's event functions can be called from any thread.
unsafe impl HandleKind for EventKind {
    type Handle = sys::CUevent;

    const KIND: DeferredFreeKind = DeferredFreeKind::Event;

    /// Destroys the event. This does not affect work enqueued before the event was recorded.
    /// A stream that is already waiting for the event continues to wait.
    unsafe fn destroy(event: sys::CUevent) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the event is alive and is not used again.
        let destroyed = with_relaxed_capture_mode(|| unsafe { result::event::destroy(event) });
        answer("cuEventDestroy", destroyed)
    }
}

impl Event {
    /// Creates an event in a context and makes the context current.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let entry = QueueEntry::new()?;
        bind(context)?;
        let without_time = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING;
        let handle = answer("cuEventCreate", result::event::create(without_time))?;
        // SAFETY: the event has just been created in this context.
        Ok(Self(entry.own(unsafe { ContextHandle::new(handle, context) })))
    }

    /// Records the event after all work currently enqueued on a stream, which must belong to the
    /// event's context. A stream that waits for an earlier recording of this event continues to
    /// wait for that recording. This method makes the stream's context current.
    pub fn record(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let stream = bound_handle(stream)?;
        // SAFETY: the stream is alive while its owner is borrowed. The stream's context is current.
        unsafe { self.record_handle(stream) }
    }

    /// Makes a stream wait for all work that precedes the recorded event. The stream can belong to
    /// any context. This method makes the stream's context current.
    pub fn hold_back(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let stream = bound_handle(stream)?;
        // SAFETY: the stream is alive while its owner is borrowed. The stream's context is current.
        unsafe { self.hold_back_handle(stream) }
    }

    /// Makes `later` wait for all work enqueued so far on `earlier`. `earlier` must belong to the
    /// event's context. This method makes `later`'s context current. One event can order any number
    /// of streams, because each wait refers to the event's most recent recording.
    pub fn order(&self, later: &CudaStream, earlier: &CudaStream) -> Result<(), CudaError> {
        self.record(earlier)?;
        self.hold_back(later)
    }

    /// Orders two streams like [`order`](Self::order), but identifies them by their handles.
    ///
    /// # Safety
    ///
    /// Both streams must be alive. If a handle refers to a default stream, the stream's context
    /// must be current.
    pub unsafe fn order_handles(
        &self,
        later: sys::CUstream,
        earlier: sys::CUstream,
    ) -> Result<(), CudaError> {
        // SAFETY: the event is alive until `self` is dropped. The caller guarantees that the stream
        // is alive.
        unsafe { self.record_handle(earlier) }?;
        // SAFETY: the event is alive until `self` is dropped. The caller guarantees that the stream
        // is alive.
        unsafe { self.hold_back_handle(later) }
    }

    /// # Safety
    ///
    /// The safety contract of [`order_handles`](Self::order_handles) applies.
    unsafe fn record_handle(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        // SAFETY: the event is alive until `self` is dropped. The caller guarantees that the stream
        // is alive.
        answer("cuEventRecord", unsafe { result::event::record(self.0.get(), stream) })
    }

    /// # Safety
    ///
    /// The safety contract of [`order_handles`](Self::order_handles) applies.
    unsafe fn hold_back_handle(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event is alive until `self` is dropped. The caller guarantees that the stream
        // is alive.
        let waits = unsafe { result::stream::wait_event(stream, self.0.get(), flags) };
        answer("cuStreamWaitEvent", waits)
    }

    /// Returns `true` if all work that precedes the recorded event has completed.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        // SAFETY: the event is alive until `self` is dropped.
        match with_relaxed_capture_mode(|| unsafe { result::event::query(self.0.get()) }) {
            Ok(()) => Ok(true),
            Err(error) if DriverCode::from(error) == DriverCode::NOT_READY => Ok(false),
            Err(error) => Err(CudaError::Call { call: "cuEventQuery", code: error.into() }),
        }
    }

    /// Blocks the host until all work that precedes the recorded event has completed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the event is alive until `self` is dropped.
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

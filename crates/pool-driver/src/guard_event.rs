//! Records an event after work on a stream unknown to the pool. The pool's stream can use the event
//! to wait for this work. A cudarc guard (`SyncOnDrop`) records this event when it is dropped.
//!
//! Each guard receives a new event that has never been recorded. The event of a forgotten guard is
//! never recorded, which later reveals that the guard was not dropped.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};

use crate::answer::answer;
use crate::capture_mode::with_relaxed_capture_mode;
use crate::context::{bind, bound_handle};
use crate::deferred_frees::{DeferredFreeKind, QueueEntry, Resource, ResourceOwner};
use crate::error::CudaError;
use crate::versioned::is_recorded;

/// An event for one of cudarc's guards.
pub struct GuardEvent(ResourceOwner<Handle>);

/// A cudarc event, stored at a fixed address so that references to it stay valid when the `Handle`
/// moves. The `Vec` always contains one event. cudarc's event is never dropped, because its
/// destructor would leak any event that it cannot destroy.
struct Handle(Vec<ManuallyDrop<CudaEvent>>);

/// Identifies a [`GuardEvent`] while the event is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UseEnd(sys::CUevent);

// SAFETY: the driver's event functions may be called from any thread.
unsafe impl Send for UseEnd {}

impl GuardEvent {
    /// Creates an event in a context and makes the context current.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let mut home = Vec::new();
        let requested = size_of::<CudaEvent>();
        home.try_reserve_exact(1).map_err(|_| CudaError::Bookkeeping { requested })?;
        let entry = QueueEntry::new()?;
        bind(context)?;
        // This function temporarily removes an error left in the context by an earlier, unrelated
        // call, because cudarc would otherwise return this error.
        let earlier = context.check_err();
        let made = context.new_event(Some(sys::CUevent_flags_enum::CU_EVENT_DEFAULT));
        context.record_err(earlier);
        home.push(ManuallyDrop::new(answer("cuEventCreate", made)?));
        Ok(Self(entry.own(Handle(home))))
    }

    /// Returns the cudarc event's address. The address is valid until the `GuardEvent` is dropped.
    #[must_use]
    pub fn place(&self) -> NonNull<CudaEvent> {
        NonNull::from(self.0.event()).cast()
    }

    /// Returns the event's identifier. The identifier is valid until the `GuardEvent` is dropped.
    #[must_use]
    pub fn name(&self) -> UseEnd {
        UseEnd(self.0.event().cu_event())
    }
}

impl Handle {
    fn event(&self) -> &ManuallyDrop<CudaEvent> {
        &self.0[0]
    }
}

impl Resource for Handle {
    const KIND: DeferredFreeKind = DeferredFreeKind::Event;

    fn context(&self) -> Option<&CudaContext> {
        Some(self.event().context())
    }

    /// Destroys the event. Streams that are already waiting for the event continue to wait.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        bind(self.event().context())?;
        // SAFETY: the event is alive. The caller guarantees that no other code uses the event.
        let destroyed = with_relaxed_capture_mode(|| unsafe {
            result::event::destroy(self.event().cu_event())
        });
        answer("cuEventDestroy", destroyed)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let context: *const Arc<CudaContext> = self.event().context();
        // SAFETY: the event's destructor never runs, so only this code drops the event's reference
        // to the context.
        drop(unsafe { ptr::read(context) });
    }
}

impl UseEnd {
    /// Returns `true` if the guard has recorded the event.
    ///
    /// # Safety
    ///
    /// The event must be alive.
    pub unsafe fn is_recorded(self) -> Result<bool, CudaError> {
        // SAFETY: the caller guarantees that the event is alive. The event was created with timing
        // enabled.
        unsafe { is_recorded(self.0) }
    }

    /// Makes a stream wait for the event and makes the stream's context current.
    ///
    /// # Safety
    ///
    /// The safety contract of [`is_recorded`](Self::is_recorded) applies.
    pub unsafe fn hold_back(self, stream: &CudaStream) -> Result<(), CudaError> {
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        let stream = bound_handle(stream)?;
        // SAFETY: the caller guarantees that the event is alive. The stream is alive while its
        // owner is borrowed.
        let waits = unsafe { result::stream::wait_event(stream, self.0, flags) };
        answer("cuStreamWaitEvent", waits)
    }
}

impl fmt::Debug for GuardEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GuardEvent").field(&self.name()).finish()
    }
}

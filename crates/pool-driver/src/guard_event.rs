//! The event that marks the end of a use of a pool's memory on a stream that the pool does not
//! know. cudarc's `SyncOnDrop` records the event after the use, when the guard is dropped.
//!
//! Each use receives a new event that has never been recorded. The event therefore shows later if
//! the guard was dropped, because the event of a forgotten guard is never recorded.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};

use crate::answer::answer;
use crate::capture_mode::with_relaxed_capture_mode;
use crate::context::{bind, bound_handle};
use crate::error::CudaError;
use crate::leftovers::{LeftoverKind, Place, Resource, ResourceOwner};
use crate::versioned::is_recorded;

/// An event for one cudarc guard.
pub struct GuardEvent(ResourceOwner<Handle>);

/// cudarc's event, stored at a fixed address so that references to it stay valid when this value
/// moves. The `Vec` always contains one event. cudarc's destructor never runs, because it leaks an
/// event that it cannot destroy.
struct Handle(Vec<ManuallyDrop<CudaEvent>>);

/// Identifies a [`GuardEvent`] for as long as that event lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UseEnd(sys::CUevent);

// SAFETY: the driver's calls on an event may be made from any thread.
unsafe impl Send for UseEnd {}

impl GuardEvent {
    /// Creates an event of a context, and makes the context current.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let mut home = Vec::new();
        let requested = size_of::<CudaEvent>();
        home.try_reserve_exact(1).map_err(|_| CudaError::Bookkeeping { requested })?;
        let place = Place::new()?;
        bind(context)?;
        // cudarc would return an error that an earlier, unrelated call left in the context. The
        // error stays in the context.
        let earlier = context.check_err();
        let made = context.new_event(Some(sys::CUevent_flags_enum::CU_EVENT_DEFAULT));
        context.record_err(earlier);
        home.push(ManuallyDrop::new(answer("cuEventCreate", made)?));
        Ok(Self(place.own(Handle(home))))
    }

    /// Returns the address of cudarc's event, which is valid while this value lives.
    #[must_use]
    pub fn place(&self) -> NonNull<CudaEvent> {
        NonNull::from(self.0.event()).cast()
    }

    /// Returns the event's identifier, which is valid while this value lives.
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
    const KIND: LeftoverKind = LeftoverKind::Event;

    fn context(&self) -> Option<&CudaContext> {
        Some(self.event().context())
    }

    /// Destroys the event. Streams that wait for it continue to do so.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        bind(self.event().context())?;
        // SAFETY: the event is live, and no other code uses it (caller).
        let destroyed = with_relaxed_capture_mode(|| unsafe {
            result::event::destroy(self.event().cu_event())
        });
        answer("cuEventDestroy", destroyed)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let context: *const Arc<CudaContext> = self.event().context();
        // SAFETY: the event's destructor never runs, so its reference to the context is dropped
        // only here.
        drop(unsafe { ptr::read(context) });
    }
}

impl UseEnd {
    /// Returns `true` if the guard has recorded the event.
    ///
    /// # Safety
    ///
    /// The event must still be live.
    pub unsafe fn is_recorded(self) -> Result<bool, CudaError> {
        // SAFETY: the event is live (caller), and was created with timing enabled.
        unsafe { is_recorded(self.0) }
    }

    /// Makes a stream wait for the event, and makes the stream's context current.
    ///
    /// # Safety
    ///
    /// The same contract as [`is_recorded`](Self::is_recorded).
    pub unsafe fn hold_back(self, stream: &CudaStream) -> Result<(), CudaError> {
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        let stream = bound_handle(stream)?;
        // SAFETY: the event is live (caller), and the stream is live while its owner is borrowed.
        let waits = unsafe { result::stream::wait_event(stream, self.0, flags) };
        answer("cuStreamWaitEvent", waits)
    }
}

impl fmt::Debug for GuardEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GuardEvent").field(&self.name()).finish()
    }
}

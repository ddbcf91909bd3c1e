//! The event that ends a use of a pool's memory on a stream that the pool does not know. cudarc's
//! `SyncOnDrop` records it after the use, when the guard is dropped.
//!
//! Each use gets a new event, which was never recorded. So the event later shows whether the guard
//! was dropped: the event of a forgotten guard is not recorded.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};

use crate::answer::answer;
use crate::context::{bind, bound_handle};
use crate::error::CudaError;
use crate::leftovers::{LeftoverKind, Place, Resource, ResourceOwner};
use crate::versioned::is_recorded;

/// An event for one guard of cudarc's.
pub struct GuardEvent(ResourceOwner<Handle>);

/// cudarc's event, at a fixed address: references to it stay valid when this value moves. There is
/// always one. cudarc's destructor is not run, because it loses an event that it cannot destroy.
struct Handle(Vec<ManuallyDrop<CudaEvent>>);

/// The name of a [`GuardEvent`], valid for as long as that lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UseEnd(sys::CUevent);

// SAFETY: the driver's calls on an event may be made from any thread.
unsafe impl Send for UseEnd {}

impl GuardEvent {
    /// Makes an event of a context, which becomes the current one.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let mut home = Vec::new();
        let requested = size_of::<CudaEvent>();
        home.try_reserve_exact(1).map_err(|_| CudaError::Bookkeeping { requested })?;
        let place = Place::new()?;
        bind(context)?;
        // cudarc would return an error that an earlier, unrelated call left with the context. It keeps that error.
        let earlier = context.check_err();
        let made = context.new_event(Some(sys::CUevent_flags_enum::CU_EVENT_DEFAULT));
        context.record_err(earlier);
        home.push(ManuallyDrop::new(answer("cuEventCreate", made)?));
        Ok(Self(place.own(Handle(home))))
    }

    /// Returns the address of cudarc's event, valid for as long as this lives.
    #[must_use]
    pub fn place(&self) -> NonNull<CudaEvent> {
        NonNull::from(self.0.event()).cast()
    }

    /// Returns the name of the event, valid for as long as this lives.
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
        // SAFETY: the event is live and nothing else has it (caller).
        answer("cuEventDestroy", unsafe { result::event::destroy(self.event().cu_event()) })
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
    /// The event of this name is live.
    pub unsafe fn is_recorded(self) -> Result<bool, CudaError> {
        // SAFETY: the event is live (caller), and was made to measure time.
        unsafe { is_recorded(self.0) }
    }

    /// Makes a stream wait for the event. The stream's context becomes the current one.
    ///
    /// # Safety
    ///
    /// Same as for [`is_recorded`](Self::is_recorded).
    pub unsafe fn hold_back(self, stream: &CudaStream) -> Result<(), CudaError> {
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        let stream = bound_handle(stream)?;
        // SAFETY: the event is live (caller), the stream while its owner is borrowed.
        let waits = unsafe { result::stream::wait_event(stream, self.0, flags) };
        answer("cuStreamWaitEvent", waits)
    }
}

impl fmt::Debug for GuardEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GuardEvent").field(&self.name()).finish()
    }
}

//! The event by which one stream of a capture is made to come after another one.

use std::sync::Arc;

use pool_driver::cudarc::driver::{CudaContext, CudaStream, result, sys};
use pool_driver::error::CudaError;
use pool_driver::leftovers::{LeftoverKind, Place, Resource, ResourceOwner};

use super::calls::{answer, bind};

/// The event through which streams of a capture wait for each other: one is enough, for a wait means
/// the record before it.
#[derive(Debug)]
pub(crate) struct OrderEvent(ResourceOwner<EventHandle>);

// SAFETY: the driver's calls on an event may be made from any thread; the value itself never changes.
unsafe impl Sync for OrderEvent {}

/// What the driver knows the event by.
#[derive(Debug)]
struct EventHandle {
    event: sys::CUevent,
    context: Arc<CudaContext>,
}

// SAFETY: as above.
unsafe impl Send for EventHandle {}

impl Resource for EventHandle {
    const KIND: LeftoverKind = LeftoverKind::Event;

    fn context(&self) -> Option<&CudaContext> {
        Some(&self.context)
    }

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        bind(&self.context)?;
        // SAFETY: the event is live, and this is its last use (caller).
        answer("cuEventDestroy", unsafe { result::event::destroy(self.event) })
    }
}

impl OrderEvent {
    /// An event of a context, which is bound and captures nothing yet.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        let flags = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING;
        let event = answer("cuEventCreate", result::event::create(flags))?;
        Ok(Self(place.own(EventHandle { event, context: Arc::clone(context) })))
    }

    /// Makes a stream wait for all that another one holds now.
    pub(crate) fn order(&self, later: &CudaStream, earlier: &CudaStream) -> Result<(), CudaError> {
        // SAFETY: both streams are live (1).
        unsafe { self.order_handles(later.cu_stream(), earlier.cu_stream()) }
    }

    /// Makes a stream wait for all that another one holds now, by their handles.
    ///
    /// # Safety
    ///
    /// Both streams are live.
    pub(super) unsafe fn order_handles(
        &self,
        later: sys::CUstream,
        earlier: sys::CUstream,
    ) -> Result<(), CudaError> {
        // SAFETY: the event is live, and the stream by the caller's promise.
        let recorded = unsafe { result::event::record(self.0.event, earlier) };
        answer("cuEventRecord", recorded)?;
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: as above.
        let waited = unsafe { result::stream::wait_event(later, self.0.event, flags) };
        answer("cuStreamWaitEvent", waited)
    }
}

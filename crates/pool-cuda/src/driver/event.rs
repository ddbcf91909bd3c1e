//! An event of our own: cudarc's answers what earlier calls left behind, and this one does not.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::driver::calls::{answer, bind, bound};
use crate::driver::capture::unheeding_captures;
use crate::driver::code::DriverCode;
use crate::driver::error::CudaError;
use crate::driver::leftovers::{Leftover, Place};

/// A point in a stream's order that other streams, or the host, can wait for.
pub(crate) struct Event {
    handle: sys::CUevent,
    context: Arc<CudaContext>,
    place: Place,
}

// SAFETY: the driver's calls on an event may be made from any thread.
unsafe impl Send for Event {}

impl Event {
    /// An event of a context, which becomes the current one.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        bind(context)?;
        let without_time = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING;
        let handle = answer("cuEventCreate", result::event::create(without_time))?;
        Ok(Self { handle, context: Arc::clone(context), place })
    }

    /// Marks the place that a stream of the event's context has come to. Who waited for an earlier mark
    /// still waits for that one. The context becomes the current one.
    pub(crate) fn record(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let stream = bound(stream)?;
        // SAFETY: the event is live until `self` is dropped, the stream while its owner is borrowed.
        let recorded = unsafe { result::event::record(self.handle, stream) };
        answer("cuEventRecord", recorded)
    }

    /// Makes a stream, of any context, wait for the mark. Its context becomes the current one.
    pub(crate) fn hold_back(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let flags = sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT;
        let stream = bound(stream)?;
        // SAFETY: as in `record`.
        let waits = unsafe { result::stream::wait_event(stream, self.handle, flags) };
        answer("cuStreamWaitEvent", waits)
    }

    /// Whether what comes before the mark is done.
    pub(crate) fn is_done(&self) -> Result<bool, CudaError> {
        // SAFETY: as in `record`.
        match unheeding_captures(|| unsafe { result::event::query(self.handle) }) {
            Ok(()) => Ok(true),
            Err(error) if DriverCode::from(error) == DriverCode::NOT_READY => Ok(false),
            Err(error) => Err(CudaError::Call { call: "cuEventQuery", code: error.into() }),
        }
    }

    /// Waits, on the host, until what comes before the mark is done.
    pub(crate) fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: as in `record`.
        let waited = unheeding_captures(|| unsafe { result::event::synchronize(self.handle) });
        answer("cuEventSynchronize", waited)
    }
}

/// An event that has no owner any more.
#[derive(Debug)]
pub(crate) struct LeftEvent {
    handle: sys::CUevent,
    context: Arc<CudaContext>,
}

// SAFETY: as for `Event`.
unsafe impl Send for LeftEvent {}

impl LeftEvent {
    /// Destroys it. What was recorded with it stays in its stream, and whoever waits still does.
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] where the driver refuses; the event is then still there.
    pub(crate) fn destroy(&self) -> Result<(), CudaError> {
        bind(&self.context)?;
        // SAFETY: the event is live, because this was not answered with success before, and nobody else
        // has it.
        answer("cuEventDestroy", unsafe { result::event::destroy(self.handle) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let left = LeftEvent { handle: self.handle, context: Arc::clone(&self.context) };
        self.place.give_back(Leftover::Event(left));
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Event").field(&self.handle).finish()
    }
}

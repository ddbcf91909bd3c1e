//! Events.

use std::ffi::c_void;
use std::mem;
use std::ptr::{self, NonNull};

use cudarc::driver::sys;

use super::refusal::{Outcome, outcome};
use super::stream::Stream;

/// `cuEventElapsedTime` as declared in CUDA 12.0. Newer drivers also export this form.
type ElapsedTime = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

/// An event of the current context. It has no timing unless `timed` created it.
#[derive(Debug)]
pub struct Event(sys::CUevent);

// SAFETY: the driver's calls on an event may be made from any thread.
unsafe impl Send for Event {}
// SAFETY: the driver's calls on an event may be made from any thread, and the value never changes.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event that has not been recorded.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn new() -> Outcome<Self> {
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the output variable outlives the call.
        unsafe { call!(cuEventCreate(&raw mut event, flags)) }?;
        Ok(Self(event))
    }

    /// Creates an event that measures time and has not been recorded.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn timed() -> Outcome<Self> {
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags_enum::CU_EVENT_DEFAULT as u32;
        // SAFETY: the output variable outlives the call.
        unsafe { call!(cuEventCreate(&raw mut event, flags)) }?;
        Ok(Self(event))
    }

    /// Queries the time from the event to itself. The result shows whether the event was ever
    /// recorded.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn elapsed(&self) -> Outcome<()> {
        let mut place = ptr::null_mut();
        // SAFETY: the name ends with a zero byte.
        // The output variable outlives the call, and the status may be null.
        let found = unsafe {
            sys::cuGetProcAddress_v2(
                c"cuEventElapsedTime".as_ptr(),
                &raw mut place,
                12_000,
                0,
                ptr::null_mut(),
            )
        };
        outcome(found)?;
        let Some(place) = NonNull::new(place) else {
            return outcome(sys::CUresult::CUDA_ERROR_NOT_FOUND);
        };
        // SAFETY: the driver returned the address of the call as declared in CUDA 12.0, whose type
        // is `ElapsedTime`.
        let elapsed = unsafe { mem::transmute::<NonNull<c_void>, ElapsedTime>(place) };
        let mut milliseconds = 0.0;
        // SAFETY: the event is live (1), and the output variable outlives the call.
        outcome(unsafe { elapsed(&raw mut milliseconds, self.0, self.0) })
    }

    /// Creates an event and records it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn recorded(stream: &Stream) -> Outcome<Self> {
        let event = Self::new()?;
        event.record(stream)?;
        Ok(event)
    }

    /// Records the event after the stream's current work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn record(&self, stream: &Stream) -> Outcome<()> {
        // SAFETY: the event and the stream are live (1).
        unsafe { call!(cuEventRecord(self.0, stream.raw())) }
    }

    /// Returns success if the recorded work has finished, or 600 `NOT_READY`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn query(&self) -> Outcome<()> {
        // SAFETY: the event is live (1).
        unsafe { call!(cuEventQuery(self.0)) }
    }

    /// Waits until the recorded work has finished.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn synchronize(&self) -> Outcome<()> {
        // SAFETY: the event is live (1).
        unsafe { call!(cuEventSynchronize(self.0)) }
    }

    /// Destroys the event.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: the event is live, and this is its last use (1).
        unsafe { call!(cuEventDestroy_v2(self.0)) }
    }

    /// Returns a second handle for the same event.
    ///
    /// # Safety
    ///
    /// If one handle has been destroyed, using the other may crash the process. The caller must
    /// accept this.
    #[must_use]
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }
}

/// Waiting for events.
impl Stream {
    /// Orders the stream's later work after an event.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn wait(&self, event: &Event) -> Outcome<()> {
        self.wait_as(event, sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT as u32)
    }

    /// Orders the stream's later work after an event that is intentionally outside the capture.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn wait_external(&self, event: &Event) -> Outcome<()> {
        self.wait_as(event, sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_EXTERNAL as u32)
    }

    fn wait_as(&self, event: &Event, flags: u32) -> Outcome<()> {
        // SAFETY: the stream and the event are live (1).
        unsafe { call!(cuStreamWaitEvent(self.raw(), event.0, flags)) }
    }
}

//! Events.

use std::ffi::c_void;
use std::mem;
use std::ptr::{self, NonNull};

use cudarc::driver::sys;

use super::refusal::{Outcome, outcome};
use super::stream::Stream;

/// `cuEventElapsedTime` in the form of CUDA 12.0, which newer drivers also export.
type ElapsedTime = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

/// An event of the current context, without timing unless created by `timed`.
#[derive(Debug)]
pub struct Event(sys::CUevent);

// SAFETY: the driver's calls on an event may be made from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the value itself never changes.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event that is not recorded.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn new() -> Outcome<Self> {
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the place outlives the call.
        unsafe { call!(cuEventCreate(&raw mut event, flags)) }?;
        Ok(Self(event))
    }

    /// Creates an event that measures time and is not recorded.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn timed() -> Outcome<Self> {
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags_enum::CU_EVENT_DEFAULT as u32;
        // SAFETY: the place outlives the call.
        unsafe { call!(cuEventCreate(&raw mut event, flags)) }?;
        Ok(Self(event))
    }

    /// Queries the time from the event to itself, which shows if it was ever recorded.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn elapsed(&self) -> Outcome<()> {
        let mut place = ptr::null_mut();
        // SAFETY: the name ends with a zero byte, and the place outlives the call. The status may
        // be null.
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
        // SAFETY: the driver returned the address of the call in its form of CUDA 12.0, which is
        // `ElapsedTime`.
        let elapsed = unsafe { mem::transmute::<NonNull<c_void>, ElapsedTime>(place) };
        let mut milliseconds = 0.0;
        // SAFETY: the event is live (1), and the place outlives the call.
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
        // SAFETY: event and stream are live (1).
        unsafe { call!(cuEventRecord(self.0, stream.raw())) }
    }

    /// Returns success if the recorded work is done, or 600 `NOT_READY`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn query(&self) -> Outcome<()> {
        // SAFETY: the event is live (1).
        unsafe { call!(cuEventQuery(self.0)) }
    }

    /// Waits for the recorded work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn synchronize(&self) -> Outcome<()> {
        // SAFETY: the event is live (1).
        unsafe { call!(cuEventSynchronize(self.0)) }
    }

    /// Destroys it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: the event is live and this was its last use (1).
        unsafe { call!(cuEventDestroy_v2(self.0)) }
    }

    /// Returns a second handle of the same event.
    ///
    /// # Safety
    ///
    /// Using one of them after the other was destroyed may crash the process. The caller must allow that.
    #[must_use]
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }
}

/// Waits for events.
impl Stream {
    /// Orders its later work after an event.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn wait(&self, event: &Event) -> Outcome<()> {
        self.wait_as(event, sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_DEFAULT as u32)
    }

    /// The same for an event that is intentionally outside the capture.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn wait_external(&self, event: &Event) -> Outcome<()> {
        self.wait_as(event, sys::CUevent_wait_flags_enum::CU_EVENT_WAIT_EXTERNAL as u32)
    }

    fn wait_as(&self, event: &Event, flags: u32) -> Outcome<()> {
        // SAFETY: stream and event are live (1).
        unsafe { call!(cuStreamWaitEvent(self.raw(), event.0, flags)) }
    }
}

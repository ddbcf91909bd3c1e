//! Streams: creating, querying, waiting, and the two default ones.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys;

use super::refusal::Outcome;
use crate::gate::Gate;

/// A stream of the current context.
#[derive(Debug)]
pub struct Stream(sys::CUstream);

// SAFETY: the driver's calls on a stream may be made from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the value itself never changes.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream that the legacy default stream does not wait for.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn non_blocking() -> Outcome<Self> {
        Self::create(sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32)
    }

    /// Creates a stream that waits for the legacy default stream, and the reverse.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn blocking() -> Outcome<Self> {
        Self::create(sys::CUstream_flags_enum::CU_STREAM_DEFAULT as u32)
    }

    fn create(flags: u32) -> Outcome<Self> {
        let mut stream = ptr::null_mut();
        // SAFETY: the place outlives the call.
        unsafe { call!(cuStreamCreate(&raw mut stream, flags)) }?;
        Ok(Self(stream))
    }

    /// Returns the legacy default stream, by its own handle.
    #[must_use]
    pub fn legacy() -> Self {
        Self(ptr::without_provenance_mut(1))
    }

    /// Returns the default stream of the calling thread.
    #[must_use]
    pub fn per_thread() -> Self {
        Self(ptr::without_provenance_mut(2))
    }

    /// Returns success if all its work is done, or 600 `NOT_READY`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn query(&self) -> Outcome<()> {
        // SAFETY: the stream is live (1).
        unsafe { call!(cuStreamQuery(self.0)) }
    }

    /// Waits for all its work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn synchronize(&self) -> Outcome<()> {
        // SAFETY: the stream is live (1).
        unsafe { call!(cuStreamSynchronize(self.0)) }
    }

    /// Puts a closed gate into the stream: its later work waits until the gate opens.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn hold(&self, gate: &'static Gate) -> Outcome<()> {
        let data = ptr::from_ref(gate).cast_mut().cast::<c_void>();
        // SAFETY: the stream is live (1); the function expects a gate, and this one is never freed.
        unsafe { call!(cuLaunchHostFunc(self.0, Some(pass), data)) }
    }

    /// Destroys it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: the stream is live and this was its last use (1).
        unsafe { call!(cuStreamDestroy_v2(self.0)) }
    }

    /// Returns a second handle of the same stream.
    ///
    /// # Safety
    ///
    /// Using one of them after the other was destroyed may crash the process. The caller must allow that.
    #[must_use]
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.0
    }
}

/// The host function with which the stream waits at the gate.
unsafe extern "C" fn pass(gate: *mut c_void) {
    // SAFETY: `hold`, its only user, passes a `&'static Gate`.
    let gate = unsafe { &*gate.cast_const().cast::<Gate>() };
    gate.pass();
}

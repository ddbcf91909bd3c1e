//! Streams: creating, querying and synchronizing them, and the two default streams.

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
// SAFETY: the driver's calls on a stream may be made from any thread, and the value never changes.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream that does not synchronize with the legacy default stream.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn non_blocking() -> Outcome<Self> {
        Self::create(sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32)
    }

    /// Creates a stream that synchronizes with the legacy default stream: each waits for the
    /// other's earlier work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn blocking() -> Outcome<Self> {
        Self::create(sys::CUstream_flags_enum::CU_STREAM_DEFAULT as u32)
    }

    fn create(flags: u32) -> Outcome<Self> {
        let mut stream = ptr::null_mut();
        // SAFETY: the output variable outlives the call.
        unsafe { call!(cuStreamCreate(&raw mut stream, flags)) }?;
        Ok(Self(stream))
    }

    /// Returns the legacy default stream, using the handle that CUDA reserves for it.
    #[must_use]
    pub fn legacy() -> Self {
        Self(ptr::without_provenance_mut(1))
    }

    /// Returns the default stream of the calling thread.
    #[must_use]
    pub fn per_thread() -> Self {
        Self(ptr::without_provenance_mut(2))
    }

    /// Returns success if all work of the stream has finished, or 600 `NOT_READY`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn query(&self) -> Outcome<()> {
        // SAFETY: the stream is live (1).
        unsafe { call!(cuStreamQuery(self.0)) }
    }

    /// Waits until all work of the stream has finished.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn synchronize(&self) -> Outcome<()> {
        // SAFETY: the stream is live (1).
        unsafe { call!(cuStreamSynchronize(self.0)) }
    }

    /// Enqueues a closed gate. Later work on the stream waits until the gate opens.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn hold(&self, gate: &'static Gate) -> Outcome<()> {
        let data = ptr::from_ref(gate).cast_mut().cast::<c_void>();
        // SAFETY: the stream is live (1).
        // The function expects a gate, and this gate is never freed.
        unsafe { call!(cuLaunchHostFunc(self.0, Some(pass), data)) }
    }

    /// Destroys the stream.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: the stream is live, and this is its last use (1).
        unsafe { call!(cuStreamDestroy_v2(self.0)) }
    }

    /// Returns a second handle for the same stream.
    ///
    /// # Safety
    ///
    /// If one handle has been destroyed, using the other may crash the process. The caller must
    /// accept this.
    #[must_use]
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.0
    }
}

/// The host function that makes the stream wait at the gate.
unsafe extern "C" fn pass(gate: *mut c_void) {
    // SAFETY: only `hold` passes this function to the driver, with a `&'static Gate`.
    let gate = unsafe { &*gate.cast_const().cast::<Gate>() };
    gate.pass();
}

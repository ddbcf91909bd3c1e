//! The driver's calls on streams of a capture: waiting, fills and copies.
//!
//! A call that orders (recording an event, waiting for one, waiting on the host, asking whether a stream is captured) is
//! never excused: where it fails, the use that needed it fails, whatever the code is. Only a context that is gone, which
//! `pool_driver::gone::is_gone` confirms by a second call, has nothing that runs and nothing to give back.
//!
//! This room, `source/device.rs` and `arena/installed.rs` call the driver. What the proofs of this room rely on:
//!
//! 1. **Streams live** while the `Arc`, or the `Origin` of a capture, that they are asked through is borrowed, and
//!    their context is the thread's current one: the session binds it before it begins. None is a default stream,
//!    which cannot take part in a capture, so their handles mean the same in every context.
//! 2. **Places outlive the call** that they are given to: they are locals.
//! 3. **Nodes and graphs** are handles that the driver gave; what is done with them stays within the
//!    life of the graph.

use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use pool_driver::error::CudaError;

/// What a call answered, with its name.
pub(crate) fn answer<T>(
    call: &'static str,
    result: Result<T, DriverError>,
) -> Result<T, CudaError> {
    result.map_err(|error| CudaError::Call { call, code: error.into() })
}

/// Makes a context the thread's current one.
pub(crate) fn bind(context: &CudaContext) -> Result<(), CudaError> {
    if result::ctx::get_current() == Ok(Some(context.cu_ctx())) {
        return Ok(());
    }
    // SAFETY: the context is live while its owner is borrowed.
    answer("cuCtxSetCurrent", unsafe { result::ctx::set_current(context.cu_ctx()) })
}

/// Waits for a stream that is not captured, also where another one is.
pub(crate) fn wait_for(stream: &CudaStream) -> Result<(), CudaError> {
    // SAFETY: the stream is live (1).
    let waited =
        with_relaxed_capture_mode(|| unsafe { sys::cuStreamSynchronize(stream.cu_stream()) });
    answer("cuStreamSynchronize", waited.result())
}

/// Sets bytes on a captured stream.
///
/// # Safety
///
/// The range is memory of the stream's device that lives as long as the graph.
pub(crate) unsafe fn set_bytes(
    stream: &CudaStream,
    address: u64,
    value: u8,
    bytes: usize,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise, and (1).
    answer("cuMemsetD8Async", unsafe {
        result::memset_d8_async(address, value, bytes, stream.cu_stream())
    })
}

/// Copies on the device, on a captured stream.
///
/// # Safety
///
/// As for [`set_bytes`], for both ranges, which are apart.
pub(crate) unsafe fn copy(
    stream: &CudaStream,
    to: u64,
    from: u64,
    bytes: usize,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise, and (1).
    answer("cuMemcpyDtoDAsync", unsafe {
        result::memcpy_dtod_async(to, from, bytes, stream.cu_stream())
    })
}

/// Copies from page-locked host memory, on a captured stream.
///
/// # Safety
///
/// As for [`set_bytes`], and the host range lives as long as the graph, too.
pub(crate) unsafe fn copy_from_host(
    stream: &CudaStream,
    to: u64,
    from: *const u8,
    bytes: usize,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise, and (1).
    let copied = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream.cu_stream()) };
    answer("cuMemcpyHtoDAsync", copied.result())
}

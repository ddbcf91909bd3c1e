//! Captures: which one a stream is in, and calls that no capture shall hear of.

use std::ptr;

use cudarc::driver::{CudaStream, result, sys};

use crate::driver::{answer, bound};
use crate::error::CudaError;

/// The capture that a stream is in, as the driver numbers them. A spoiled one counts as 0.
pub(crate) type Capture = Option<u64>;

/// Whether a stream is being captured into a graph, by whomever. Its context becomes the current one.
///
/// # Errors
///
/// [`CudaError::Call`] where the driver does not say.
pub fn is_capturing(stream: &CudaStream) -> Result<bool, CudaError> {
    let handle = bound(stream)?;
    // SAFETY: the stream is live while its owner is borrowed.
    let status = unsafe { result::stream::is_capturing(handle) };
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    Ok(answer("cuStreamIsCapturing", status)? != none)
}

/// Which capture a stream is in.
pub(crate) fn capture_of(stream: &CudaStream) -> Result<Capture, CudaError> {
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    let (handle, mut status, mut id) = (bound(stream)?, none, 0);
    // SAFETY: the stream is live while its owner is borrowed, and both places outlive the call.
    let asked = unsafe { capture_info(handle, &raw mut status, &raw mut id) };
    answer("cuStreamGetCaptureInfo", asked.result())?;
    Ok((status != none).then_some(id))
}

/// # Safety
///
/// The stream is live, and both places are valid.
#[cfg(any(
    feature = "cuda-12030",
    feature = "cuda-12040",
    feature = "cuda-12050",
    feature = "cuda-12060",
    feature = "cuda-12080",
    feature = "cuda-12090",
    feature = "cuda-13000",
    feature = "cuda-13010"
))]
unsafe fn capture_info(
    stream: sys::CUstream,
    status: *mut sys::CUstreamCaptureStatus,
    id: *mut u64,
) -> sys::CUresult {
    // Whoever leaves out the edges' data is refused where there is any. What is told of nodes and edges
    // is not looked at: it is the driver's, and any thread's next call on the stream may change it.
    let (mut graph, mut nodes, mut edges, mut count) =
        (ptr::null_mut(), ptr::null(), ptr::null(), 0);
    // SAFETY: the caller's promise, and the other places outlive the call.
    unsafe {
        sys::cuStreamGetCaptureInfo_v3(
            stream,
            status,
            id,
            &raw mut graph,
            &raw mut nodes,
            &raw mut edges,
            &raw mut count,
        )
    }
}

/// As the other one, before CUDA 12.3.
///
/// # Safety
///
/// The stream is live, and both places are valid.
#[cfg(not(any(
    feature = "cuda-12030",
    feature = "cuda-12040",
    feature = "cuda-12050",
    feature = "cuda-12060",
    feature = "cuda-12080",
    feature = "cuda-12090",
    feature = "cuda-13000",
    feature = "cuda-13010"
)))]
unsafe fn capture_info(
    stream: sys::CUstream,
    status: *mut sys::CUstreamCaptureStatus,
    id: *mut u64,
) -> sys::CUresult {
    let (graph, nodes, count) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the caller's promise; the driver takes null for what is not asked.
    unsafe { sys::cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count) }
}

/// Makes a call that a capture of another stream may forbid to this thread, and would be spoiled by,
/// though it has nothing to do with it: waiting for an event, page-locked memory, trimming.
pub fn unheeding_captures<T>(call: impl FnOnce() -> T) -> T {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the place outlives the call, which gives back the mode that was before.
    let exchanged = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    let answer = call();
    if exchanged == sys::CUresult::CUDA_SUCCESS {
        // SAFETY: as above. It cannot be refused what it was told by the driver itself.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    }
    answer
}

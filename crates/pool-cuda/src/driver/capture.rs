//! Captures: which one a stream is in, and calls that no capture shall hear of.

use cudarc::driver::{CudaStream, result, sys};

use crate::driver::calls::{answer, bound};
use crate::driver::error::CudaError;
use crate::driver::versioned::capture_info;

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
    let handle = bound(stream)?;
    // SAFETY: the stream is live while its owner is borrowed. What is told of nodes is not looked at.
    let info = unsafe { capture_info(handle) }?;
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    Ok((info.status != none).then_some(info.id))
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

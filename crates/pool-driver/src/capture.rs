//! Queries whether a stream is being captured, and if so, to which capture it belongs.

use cudarc::driver::{CudaStream, result, sys};

use crate::answer::answer;
use crate::context::bound_handle;
use crate::error::CudaError;
use crate::versioned::capture_info;

/// The ID of the capture to which a stream belongs, or `None` if the stream is not being captured.
/// The ID of an invalidated capture is 0.
pub type CaptureId = Option<u64>;

/// Returns `true` if the stream is being captured into a graph. This function makes the stream's
/// context current.
///
/// # Errors
///
/// Returns [`CudaError::Call`] if the driver cannot report the stream's capture status.
pub fn is_capturing(stream: &CudaStream) -> Result<bool, CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the stream is alive while its owner is borrowed.
    let status = unsafe { result::stream::is_capturing(handle) };
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    Ok(answer("cuStreamIsCapturing", status)? != none)
}

/// Returns the capture to which a stream belongs. This function makes the stream's context current.
pub fn capture_of(stream: &CudaStream) -> Result<CaptureId, CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the stream is alive while its owner is borrowed. This function does not read the
    // array of nodes that the driver call returns.
    let info = unsafe { capture_info(handle) }?;
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    Ok((info.status != none).then_some(info.id))
}

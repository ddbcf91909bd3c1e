//! Queries the capture of a stream.

use cudarc::driver::{CudaStream, result, sys};

use crate::answer::answer;
use crate::context::bound_handle;
use crate::error::CudaError;
use crate::versioned::capture_info;

/// The driver's ID of the capture that a stream is part of, or `None` if the stream is not
/// captured. The ID of an invalidated capture is 0.
pub type Capture = Option<u64>;

/// Returns `true` if a stream is being captured into a graph, by any code. Makes the stream's
/// context current.
///
/// # Errors
///
/// Returns [`CudaError::Call`] if the driver cannot report the status.
pub fn is_capturing(stream: &CudaStream) -> Result<bool, CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the stream is live while its owner is borrowed.
    let status = unsafe { result::stream::is_capturing(handle) };
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    Ok(answer("cuStreamIsCapturing", status)? != none)
}

/// Returns the capture that a stream is part of. Makes the stream's context current.
pub fn capture_of(stream: &CudaStream) -> Result<Capture, CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the stream is live while its owner is borrowed. The returned array of nodes is not
    // read.
    let info = unsafe { capture_info(handle) }?;
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    Ok((info.status != none).then_some(info.id))
}

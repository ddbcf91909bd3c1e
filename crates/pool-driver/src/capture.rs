//! Which capture a stream is in.

use cudarc::driver::{CudaStream, result, sys};

use crate::answer::answer;
use crate::context::bound_handle;
use crate::error::CudaError;
use crate::versioned::capture_info;

/// The capture that a stream is in, as the driver numbers captures; `None` outside of one. A spoiled capture
/// counts as 0.
pub type Capture = Option<u64>;

/// Whether a stream is being captured into a graph, by whomever. The stream's context becomes the current one.
///
/// # Errors
///
/// [`CudaError::Call`] where the driver does not say.
pub fn is_capturing(stream: &CudaStream) -> Result<bool, CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the stream is live while its owner is borrowed.
    let status = unsafe { result::stream::is_capturing(handle) };
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    Ok(answer("cuStreamIsCapturing", status)? != none)
}

/// Which capture a stream is in. The stream's context becomes the current one.
pub fn capture_of(stream: &CudaStream) -> Result<Capture, CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the stream is live while its owner is borrowed. The array of nodes in the answer is not looked at.
    let info = unsafe { capture_info(handle) }?;
    let none = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    Ok((info.status != none).then_some(info.id))
}

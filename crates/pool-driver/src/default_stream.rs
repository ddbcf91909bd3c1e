//! Default streams: the legacy one of a context, and the per-thread one.

use cudarc::driver::CudaStream;

use crate::context::ordinal;
use crate::error::CudaError;

/// The handle of the per-thread default stream (`CU_STREAM_PER_THREAD`). The handles below it are
/// those of the legacy default stream.
const PER_THREAD: usize = 2;

/// Returns `true` if a stream is a default stream, to which any code may get another reference.
#[must_use]
pub fn is_default(stream: &CudaStream) -> bool {
    stream.cu_stream().addr() <= PER_THREAD
}

/// Returns `true` if a stream is the per-thread default stream.
#[must_use]
pub fn is_per_thread(stream: &CudaStream) -> bool {
    stream.cu_stream().addr() == PER_THREAD
}

/// Checks that a stream is the same one on every thread, as the stream of a pool must be.
///
/// # Errors
///
/// [`CudaError::WrongContext`] for the per-thread default stream.
pub fn refuse_per_thread(stream: &CudaStream) -> Result<(), CudaError> {
    if is_per_thread(stream) {
        return Err(CudaError::WrongContext { ordinal: ordinal(stream.context()) });
    }
    Ok(())
}

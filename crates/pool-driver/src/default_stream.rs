//! Identifies a context's legacy default stream and the per-thread default stream.

use cudarc::driver::CudaStream;

use crate::context::ordinal;
use crate::error::CudaError;

/// The handle of the per-thread default stream (`CU_STREAM_PER_THREAD`). All smaller handles refer
/// to the legacy default stream.
const PER_THREAD: usize = 2;

/// Returns `true` if a stream is a default stream. Any code can obtain additional references to a
/// default stream.
#[must_use]
pub fn is_default(stream: &CudaStream) -> bool {
    stream.cu_stream().addr() <= PER_THREAD
}

/// Returns `true` if a stream is the per-thread default stream.
#[must_use]
pub fn is_per_thread(stream: &CudaStream) -> bool {
    stream.cu_stream().addr() == PER_THREAD
}

/// Checks that the stream's handle refers to the same stream on every thread, as a pool requires.
///
/// # Errors
///
/// Returns [`CudaError::WrongContext`] if the stream is the per-thread default stream.
pub fn refuse_per_thread(stream: &CudaStream) -> Result<(), CudaError> {
    if is_per_thread(stream) {
        return Err(CudaError::WrongContext { ordinal: ordinal(stream.context()) });
    }
    Ok(())
}

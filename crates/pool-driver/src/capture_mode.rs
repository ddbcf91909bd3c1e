//! The capture mode of a thread's driver calls while streams are captured into graphs.

use cudarc::driver::sys;

/// Makes a call in the thread's relaxed capture mode. Without it, a capture of another stream would
/// forbid such a call on this thread and would be invalidated by it, although the call is unrelated
/// to that capture. This concerns calls that wait for a stream or an event, allocate or free
/// page-locked or plain memory, or trim a memory pool.
pub fn with_relaxed_capture_mode<T>(call: impl FnOnce() -> T) -> T {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the variable outlives the call, which stores the thread's former mode in it.
    let exchanged = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    let answer = call();
    if exchanged == sys::CUresult::CUDA_SUCCESS {
        // SAFETY: as above. The mode came from the driver itself, which therefore accepts it.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    }
    answer
}

//! The capture mode of a thread's calls while streams are captured into graphs.

use cudarc::driver::sys;

/// Makes a call in the relaxed capture mode of the thread. A capture of another stream would forbid
/// such a call to this thread, and would be invalidated by it, although the call is unrelated to
/// that capture. Such calls wait for a stream or an event, allocate or free page-locked or plain
/// memory, or trim a memory pool.
pub fn with_relaxed_capture_mode<T>(call: impl FnOnce() -> T) -> T {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the place outlives the call, which writes the thread's former mode there.
    let exchanged = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    let answer = call();
    if exchanged == sys::CUresult::CUDA_SUCCESS {
        // SAFETY: as above. The mode came from the driver itself, which cannot refuse it.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    }
    answer
}

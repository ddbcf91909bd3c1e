//! How the calls of a thread are treated while streams are captured into graphs.

use cudarc::driver::sys;

/// Makes a call in the relaxed capture mode of the thread: for what a capture of another stream would forbid to
/// this thread, and would be spoiled by, though it has nothing to do with that capture. Such calls are waiting for
/// a stream or an event, allocating page-locked or plain memory, freeing it, and trimming a memory pool.
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

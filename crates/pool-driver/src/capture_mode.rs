//! Allows driver calls that the capture of an unrelated stream would otherwise forbid.

use cudarc::driver::sys;

/// Runs a closure that calls the driver while the calling thread is in relaxed capture mode. In
/// every other mode, capturing an unrelated stream would forbid some driver calls. Making one of
/// these calls would invalidate the capture. A capture in thread-local mode forbids these calls
/// only on its own thread. A capture in global mode also forbids these calls on all other threads.
///
/// **The project uses this function for every driver call that a capture of an unrelated stream
/// forbids.** The only exceptions are calls that use the captured stream itself. On an H200 with
/// driver 580, the following calls failed with `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` and
/// invalidated the capture:
///
/// - memory: `cuMemAlloc`, `cuMemFree`, `cuMemHostAlloc`; `cuMemAllocAsync` and `cuMemFreeAsync` on
///   another stream; `cuMemPoolCreate`, `cuMemPoolTrimTo`;
/// - waits and queries: `cuStreamQuery`, `cuStreamSynchronize`, `cuEventQuery`,
///   `cuEventSynchronize`;
/// - graphs: `cuGraphInstantiate`.
///
/// The following calls succeeded during a capture of an unrelated stream: `cuMemGetInfo`,
/// `cuMemcpy*` and `cuMemset*` (with and without a stream), `cuLaunchKernel`, `cuGraphLaunch`,
/// `cuStreamCreate`, `cuEventCreate`, `cuEventRecord` on another stream, `cuModuleLoadData`, and
/// `cuDeviceGraphMemTrim`. The project also uses this function for all untested calls that do more
/// than enqueue work or query a capture. The untested calls destroy handles, grant access to
/// memory, read the times of events, upload or update executable graphs, or open devices.
///
/// In every mode, a capture forbids calls to `cuCtxSynchronize` in its own context (see
/// [`captures_under_way`](crate::captures_under_way)).
pub fn with_relaxed_capture_mode<T>(call: impl FnOnce() -> T) -> T {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the variable outlives the call. The call stores the thread's previous mode in this
    // variable.
    let exchanged = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    let answer = call();
    if exchanged == sys::CUresult::CUDA_SUCCESS {
        // SAFETY: the variable outlives the call. The driver accepts the previous mode because it
        // returned that mode itself.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    }
    answer
}

//! The capture mode of a thread's driver calls while streams are captured into graphs.

use cudarc::driver::sys;

/// Makes a call in the thread's relaxed capture mode. Without it, a capture of another stream would
/// forbid such a call on this thread and would be invalidated by it, although the call is unrelated
/// to that capture. A capture in a strict mode forbids calls on its own thread, and in the global
/// mode also on all other threads.
///
/// **Every call of this project that a strict capture forbids is made in this function**, unless
/// its stream is the captured one. On an H200 with driver 580, these calls failed with
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` and invalidated the capture:
///
/// - memory: `cuMemAlloc`, `cuMemFree`, `cuMemHostAlloc`; `cuMemAllocAsync` and `cuMemFreeAsync` on
///   another stream; `cuMemPoolCreate`, `cuMemPoolTrimTo`;
/// - waits and queries: `cuStreamQuery`, `cuStreamSynchronize`, `cuEventQuery`,
///   `cuEventSynchronize`;
/// - graphs: `cuGraphInstantiate`.
///
/// These calls were allowed: `cuMemGetInfo`, `cuMemcpy*` and `cuMemset*`, with and without a
/// stream, `cuLaunchKernel`, `cuGraphLaunch`, `cuStreamCreate`, `cuEventCreate`, `cuEventRecord` on
/// another stream, `cuModuleLoadData` and `cuDeviceGraphMemTrim`. Calls in neither list are made in
/// this function unless they only enqueue work or query a capture: the calls that destroy handles,
/// open access to memory, read times of events, upload or update executable graphs, or open a
/// device.
///
/// One call is forbidden in every mode: `cuCtxSynchronize` in the context of a capture
/// ([`captures_under_way`](crate::captures_under_way)).
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

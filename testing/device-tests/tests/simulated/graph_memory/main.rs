//! Tests `pool-graph` on the simulated driver, whose checkers detect races, stale addresses and
//! leaks.
//!
//! Each test needs its own process: `cargo xtask sim-test` runs them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

mod faults;
mod reuse;

#[path = "../backend/support.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::sync::Arc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaStream};

const MIB: u64 = 1 << 20;

/// Captures the work that the body enqueues, and ends the capture even if the body fails.
fn capture<T>(
    stream: &Arc<CudaStream>,
    body: impl FnOnce() -> Result<T, DriverError>,
) -> Result<(T, CudaGraph), DriverError> {
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let enqueued = body();
    let end = || stream.end_capture(CUgraphInstantiate_flags(0));
    // If the failure came before the driver's call, the capture has not ended yet.
    let graph = end().inspect_err(|_| drop(end()));
    let invalid = DriverError(cudarc::driver::sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    Ok((enqueued?, graph?.ok_or(invalid)?))
}

fn fill(stream: &CudaStream, address: u64, value: u8) -> Result<(), DriverError> {
    // SAFETY: the callers pass addresses of live blocks and regions of 4096 bytes.
    unsafe { result::memset_d8_async(address, value, 4096, stream.cu_stream()) }
}

fn copy(stream: &CudaStream, to: u64, from: u64) -> Result<(), DriverError> {
    // SAFETY: as above.
    unsafe { result::memcpy_dtod_async(to, from, 4096, stream.cu_stream()) }
}

//! Common setup for tests of captures: streams, pools and arenas of one device, and many orders.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::CudaStream;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, CaptureError, CapturedGraph, CudaArena, DeviceMemory,
    GraphPoolConfig,
};

use crate::support::{orders, start, start_anew};

pub(crate) const BYTES: u64 = 4096;
pub(crate) const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
pub(crate) const NO_FLAGS: CUgraphInstantiate_flags = CUgraphInstantiate_flags(0);

pub(crate) type Made<S = ()> = Result<CapturedGraph<S>, CaptureError>;

/// Converts a small number to a byte.
pub(crate) fn byte(number: usize) -> u8 {
    u8::try_from(number).unwrap()
}

pub(crate) fn stream() -> Arc<CudaStream> {
    Cuda::device(0).unwrap().context().new_stream().unwrap()
}

pub(crate) fn memory() -> DeviceMemory {
    DeviceMemory::new(&Cuda::device(0).unwrap())
}

pub(crate) fn pool() -> CUDAGraphMemoryPool {
    CUDAGraphMemoryPool::with_config(memory(), GraphPoolConfig { initial: 0, maximum: u64::MAX })
}

pub(crate) fn arena() -> CudaArena {
    CudaArena::new(memory(), 1 << 16, ArenaPolicy::Monotone).unwrap()
}

/// Runs an attack in many orders, without reports and without leaks.
pub(crate) fn without_a_report(attack: impl Fn()) {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        attack();
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

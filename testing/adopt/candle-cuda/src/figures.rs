//! Times of passes, and the peak of the driver's memory pool.

use std::error::Error;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candle_core::cuda_backend::cudarc::driver::sys::{self, CUmemPool_attribute, CUmemoryPool};
use candle_core::cuda_backend::cudarc::driver::{CudaStream, DriverError, result};

/// The number of measured passes.
const PASSES: usize = 200;

/// Returns the median time from the first call of a pass to its end on the device.
pub(crate) fn median_of_passes(
    stream: &Arc<CudaStream>,
    mut pass: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::with_capacity(PASSES);
    for number in 0..PASSES + 20 {
        stream.synchronize()?;
        let start = Instant::now();
        pass()?;
        stream.synchronize()?;
        if number >= 20 {
            times.push(start.elapsed());
        }
    }
    times.sort_unstable();
    Ok(times[PASSES / 2])
}

/// The high-water mark of the device's memory pool, from which cudarc allocates slices.
pub(crate) struct HighWater {
    pool: CUmemoryPool,
    before: u64,
}

impl HighWater {
    /// Sets the mark to the bytes that are used now.
    pub(crate) fn begin(stream: &Arc<CudaStream>) -> Result<Self, DriverError> {
        stream.synchronize()?;
        // SAFETY: the context's device exists.
        let pool = unsafe { result::device::get_default_mem_pool(stream.context().cu_device()) }?;
        let before = read(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        let mut zero = 0_u64;
        let mark = CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        // SAFETY: the attribute is a `u64`, and 0 resets it.
        unsafe { sys::cuMemPoolSetAttribute(pool, mark, (&raw mut zero).cast::<c_void>()) }
            .result()?;
        Ok(Self { pool, before })
    }

    /// Returns the largest number of bytes that were used in addition since the begin.
    pub(crate) fn end(&self) -> Result<u64, DriverError> {
        let high = read(self.pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?;
        Ok(high.saturating_sub(self.before))
    }
}

fn read(pool: CUmemoryPool, attribute: CUmemPool_attribute) -> Result<u64, DriverError> {
    let mut value = 0_u64;
    // SAFETY: both attributes are a `u64`.
    unsafe { sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast::<c_void>()) }
        .result()?;
    Ok(value)
}

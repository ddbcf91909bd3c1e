//! Gives `cuMemAllocAsync` the best conditions.

use cudarc::driver::{DriverError, result, sys};

/// Makes the memory pool of `cuMemAllocAsync` keep all its memory while this process runs, and
/// returns the pool. The device must come from the driver.
pub(crate) fn keep_all_memory(device: sys::CUdevice) -> Result<sys::CUmemoryPool, DriverError> {
    // SAFETY: the device came from the driver.
    let pool = unsafe { result::device::get_default_mem_pool(device) }?;
    let mut threshold = u64::MAX;
    let attribute = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the pool belongs to the device, and the attribute is 64 bits long.
    unsafe { result::mem_pool::set_attribute(pool, attribute, (&raw mut threshold).cast()) }?;
    Ok(pool)
}

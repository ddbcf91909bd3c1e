//! The crate's driver calls for memory, copies and waits, each in one function with typed errors.
//! Streams and contexts are passed as the cudarc values that own them, so they are live; the caller
//! guarantees that the addresses are valid. Each function makes its context current immediately
//! before its call.
//!
//! cudarc's own safe calls are not used here, because they return errors that an earlier, unrelated
//! call left in the context. No code in this module touches cudarc's record of such errors.

use std::ffi::c_void;
use std::ptr::NonNull;

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::answer::answer;
use crate::capture_mode::with_relaxed_capture_mode;
use crate::captures_under_way::ContextWait;
use crate::context::{bind, bound_handle, is_active};
use crate::error::{CudaError, MemoryInfo};
use crate::gone::is_current_gone;
use crate::reclaim::Reclaim;

/// An address on a device.
pub type Address = sys::CUdeviceptr;

/// Returns the free and the total memory of a context's device.
pub fn device_memory(context: &CudaContext) -> Result<MemoryInfo, CudaError> {
    bind(context)?;
    let (free, total) = answer("cuMemGetInfo", result::mem_get_info())?;
    Ok(MemoryInfo { free, total })
}

/// Blocks the host until all work of a context is done. This is needed after an unknown use of the
/// context's memory on a stream.
///
/// # Errors
///
/// Returns [`CudaError::UnknownUse`] with that stream while a session captures; the driver is then
/// not called.
pub fn synchronize_context(context: &CudaContext, stream: Option<u64>) -> Result<(), CudaError> {
    let _wait = ContextWait::begin().ok_or(CudaError::UnknownUse { stream })?;
    bind(context)?;
    synchronize_current()
}

fn synchronize_current() -> Result<(), CudaError> {
    answer("cuCtxSynchronize", result::ctx::synchronize())
}

/// Blocks the host until all work of the other devices' primary contexts is done, if those devices
/// have one. Another context may be current afterwards.
///
/// # Errors
///
/// Returns the errors of [`synchronize_context`]. A device is skipped only if a second call
/// confirms that its context is gone.
pub fn synchronize_other_devices(own: sys::CUdevice) -> Result<(), CudaError> {
    let _wait = ContextWait::begin().ok_or(CudaError::UnknownUse { stream: None })?;
    let count = answer("cuDeviceGetCount", result::device::get_count())?;
    for ordinal in 0..count {
        let device = answer("cuDeviceGet", result::device::get(ordinal))?;
        if device != own && is_active(device)? {
            synchronize_device(device)?;
        }
    }
    Ok(())
}

fn synchronize_device(device: sys::CUdevice) -> Result<(), CudaError> {
    // SAFETY: the device came from the driver, and its context is released below.
    let context =
        answer("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
    // SAFETY: the context is live, because it was just retained.
    let bound = answer("cuCtxSetCurrent", unsafe { result::ctx::set_current(context) });
    let waited = bound.and_then(|()| match synchronize_current() {
        Err(error) if is_current_gone(&error) => Ok(()),
        waited => waited,
    });
    // SAFETY: the context was retained above.
    let released =
        answer("cuDevicePrimaryCtxRelease", unsafe { result::primary_ctx::release(device) });
    waited.and(released)
}

/// Blocks the host until all work of a stream is done.
pub fn synchronize(stream: &CudaStream) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the stream is live while its owner is borrowed.
    let waited = with_relaxed_capture_mode(|| unsafe { result::stream::synchronize(handle) });
    answer("cuStreamSynchronize", waited)
}

/// Allocates device memory from a memory pool, in the order of a stream that is not captured.
///
/// # Safety
///
/// The memory pool must be live, and belong to the stream's device.
pub unsafe fn allocate_in_order(
    pool: sys::CUmemoryPool,
    bytes: usize,
    stream: &CudaStream,
) -> Result<Address, CudaError> {
    let (handle, mut address) = (bound_handle(stream)?, 0);
    // SAFETY: the pool is live (caller), the stream is live, and the output variable outlives the
    // call.
    let answered = with_relaxed_capture_mode(|| unsafe {
        sys::cuMemAllocFromPoolAsync(&raw mut address, bytes, pool, handle)
    });
    answer("cuMemAllocFromPoolAsync", answered.result())?;
    Ok(address)
}

/// Allocates device memory in a context, immediately.
pub fn allocate(bytes: usize, context: &CudaContext) -> Result<Address, CudaError> {
    bind(context)?;
    // SAFETY: the new memory has no owner yet, and its contents are never read as a value before
    // they are written.
    answer("cuMemAlloc", with_relaxed_capture_mode(|| unsafe { result::malloc_sync(bytes) }))
}

/// Frees device memory in the order of a stream that is not captured.
///
/// # Safety
///
/// The address must come from [`allocate_in_order`] and must not have been freed. All uses of the
/// memory must come earlier in stream order.
pub unsafe fn free_in_order(address: Address, stream: &CudaStream) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: this call has the same contract, which the caller upholds.
    let freed = with_relaxed_capture_mode(|| unsafe { result::free_async(address, handle) });
    answer("cuMemFreeAsync", freed)
}

/// Frees device memory immediately.
///
/// # Safety
///
/// The address must come from [`allocate`] in this context and must not have been freed. No pending
/// work may use the memory.
pub unsafe fn free(address: Address, context: &CudaContext) -> Result<(), CudaError> {
    bind(context)?;
    // SAFETY: this call has the same contract, which the caller upholds.
    answer("cuMemFree", with_relaxed_capture_mode(|| unsafe { result::free_sync(address) }))
}

/// Sets bytes of device memory, in stream order.
///
/// # Safety
///
/// The range must be allocated, and the caller must have the right to write it in stream order.
pub unsafe fn set_bytes(
    address: Address,
    value: u8,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: this call has the same contract, which the caller upholds.
    let answered = unsafe { result::memset_d8_async(address, value, bytes, handle) };
    answer("cuMemsetD8Async", answered)
}

/// Sets 16-bit words of device memory, in stream order.
///
/// # Safety
///
/// The same contract as [`set_bytes`], for `2 * count` bytes.
pub unsafe fn set_halves(
    address: Address,
    value: u16,
    count: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: this call has the same contract, which the caller upholds.
    let answered = unsafe { sys::cuMemsetD16Async(address, value, count, handle) };
    answer("cuMemsetD16Async", answered.result())
}

/// Sets 32-bit words of device memory, in stream order.
///
/// # Safety
///
/// The same contract as [`set_bytes`], for `4 * count` bytes.
pub unsafe fn set_words(
    address: Address,
    value: u32,
    count: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: this call has the same contract, which the caller upholds.
    let answered = unsafe { sys::cuMemsetD32Async(address, value, count, handle) };
    answer("cuMemsetD32Async", answered.result())
}

/// Copies device memory within a context, in stream order.
///
/// # Safety
///
/// Both ranges must be allocated and disjoint, and the caller must have the right to use them in
/// stream order.
pub unsafe fn copy_on_device(
    to: Address,
    from: Address,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: this call has the same contract, which the caller upholds.
    let answered = unsafe { result::memcpy_dtod_async(to, from, bytes, handle) };
    answer("cuMemcpyDtoDAsync", answered)
}

/// Copies device memory between two contexts, in the order of a stream of the destination's
/// context.
///
/// # Safety
///
/// The same contract as [`copy_on_device`], with each range in its own context.
pub unsafe fn copy_between_devices(
    (to, to_context): (Address, &CudaContext),
    (from, from_context): (Address, &CudaContext),
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (to_context, from_context) = (to_context.cu_ctx(), from_context.cu_ctx());
    let handle = bound_handle(stream)?;
    // SAFETY: the caller upholds this contract; the contexts are live while their owners are
    // borrowed.
    let answered =
        unsafe { result::memcpy_peer_async(to_context, to, from_context, from, bytes, handle) };
    answer("cuMemcpyPeerAsync", answered)
}

/// Copies page-locked host memory to the device, in stream order.
///
/// # Safety
///
/// The host range must be page-locked, and must be neither written nor freed until the copy has
/// run. For the device range, the contract of [`set_bytes`] applies.
pub unsafe fn copy_from_host(
    to: Address,
    from: NonNull<u8>,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (from, handle) = (from.as_ptr().cast::<c_void>(), bound_handle(stream)?);
    // SAFETY: this call has the same contract, which the caller upholds.
    let answered = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from, bytes, handle) };
    answer("cuMemcpyHtoDAsync", answered.result())
}

/// Copies device memory to page-locked host memory, in stream order.
///
/// # Safety
///
/// The host range must be page-locked, and must not be accessed until the copy has run. The device
/// range must be allocated, and the caller must have the right to read it in stream order.
pub unsafe fn copy_to_host(
    to: NonNull<u8>,
    from: Address,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (to, handle) = (to.as_ptr().cast::<c_void>(), bound_handle(stream)?);
    // SAFETY: this call has the same contract, which the caller upholds.
    let answered = unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, bytes, handle) };
    answer("cuMemcpyDtoHAsync", answered.result())
}

/// Allocates page-locked host memory in a context. The memory can be used in every context.
pub(crate) fn allocate_host(bytes: usize, context: &CudaContext) -> Result<NonNull<u8>, CudaError> {
    bind(context)?;
    // SAFETY: the new memory has no owner yet; its readers write it first.
    let memory = with_relaxed_capture_mode(|| unsafe {
        result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_PORTABLE)
    });
    let memory = answer("cuMemHostAlloc", memory)?;
    NonNull::new(memory.cast()).ok_or(CudaError::OutOfMemory {
        requested: bytes,
        memory: None,
        reclaim: Reclaim::default(),
    })
}

/// Frees page-locked host memory.
///
/// # Safety
///
/// The memory must come from [`allocate_host`] in this context and must not have been freed. No
/// pending copy may use it.
pub(crate) unsafe fn free_host(
    memory: NonNull<u8>,
    context: &CudaContext,
) -> Result<(), CudaError> {
    bind(context)?;
    // SAFETY: this call has the same contract, which the caller upholds.
    let freed = with_relaxed_capture_mode(|| unsafe { result::free_host(memory.as_ptr().cast()) });
    answer("cuMemFreeHost", freed)
}

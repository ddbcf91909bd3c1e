//! Wraps the driver calls that manage, fill, and copy memory or wait for work. All functions return
//! typed errors. The functions receive references to cudarc's stream and context objects, which
//! keep these objects alive during the call. The caller guarantees that all addresses are valid.
//! Each function makes its context current immediately before it calls the driver.
//!
//! This module does not use cudarc's safe functions, because those functions return errors that
//! earlier, unrelated calls left in the context. No code in this module reads or changes the errors
//! that cudarc stores in a context.

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

/// The address of device memory.
pub type Address = sys::CUdeviceptr;

/// Returns the free and total memory of a context's device, in bytes.
pub fn device_memory(context: &CudaContext) -> Result<MemoryInfo, CudaError> {
    bind(context)?;
    let (free, total) = answer("cuMemGetInfo", result::mem_get_info())?;
    Ok(MemoryInfo { free, total })
}

/// Blocks the host until all work in a context has completed. The host must wait for all work in
/// the context if a stream unknown to the pool has used the context's memory. `stream` is the
/// handle of this unknown stream and is used only in errors.
///
/// # Errors
///
/// If a session is capturing, the function returns [`CudaError::UnknownUse`] with this handle,
/// without calling the driver.
pub fn synchronize_context(context: &CudaContext, stream: Option<u64>) -> Result<(), CudaError> {
    let _wait = ContextWait::begin().ok_or(CudaError::UnknownUse { stream })?;
    bind(context)?;
    synchronize_current()
}

fn synchronize_current() -> Result<(), CudaError> {
    answer("cuCtxSynchronize", result::ctx::synchronize())
}

/// Blocks the host until all work in the primary contexts of all other devices has completed.
/// Devices without an active primary context are skipped. This call may change the current context.
///
/// # Errors
///
/// Returns the same errors as [`synchronize_context`]. A device's error is ignored only if a second
/// call confirms that the device's context has been destroyed or lost.
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
    // SAFETY: the driver returned this device. The retained context is released later in this
    // function.
    let context =
        answer("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
    // SAFETY: the context is alive because it was retained above.
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

/// Blocks the host until all work on a stream has completed.
pub fn synchronize(stream: &CudaStream) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the stream is alive while its owner is borrowed.
    let waited = with_relaxed_capture_mode(|| unsafe { result::stream::synchronize(handle) });
    answer("cuStreamSynchronize", waited)
}

/// Allocates device memory from a memory pool, in stream order. The stream must not be captured.
///
/// # Safety
///
/// The memory pool must be alive and must belong to the stream's device.
pub unsafe fn allocate_in_order(
    pool: sys::CUmemoryPool,
    bytes: usize,
    stream: &CudaStream,
) -> Result<Address, CudaError> {
    let (handle, mut address) = (bound_handle(stream)?, 0);
    // SAFETY: the caller guarantees that the memory pool is alive. The stream is alive while its
    // owner is borrowed. The output variable outlives the call.
    let answered = with_relaxed_capture_mode(|| unsafe {
        sys::cuMemAllocFromPoolAsync(&raw mut address, bytes, pool, handle)
    });
    answer("cuMemAllocFromPoolAsync", answered.result())?;
    Ok(address)
}

/// Allocates device memory in a context immediately, without a stream.
pub fn allocate(bytes: usize, context: &CudaContext) -> Result<Address, CudaError> {
    bind(context)?;
    // SAFETY: no other code owns the new memory, and its contents are not read before they are
    // written.
    answer("cuMemAlloc", with_relaxed_capture_mode(|| unsafe { result::malloc_sync(bytes) }))
}

/// Frees device memory in stream order. The stream must not be captured.
///
/// # Safety
///
/// The address must come from [`allocate_in_order`] and must not have been freed. All uses of the
/// memory must precede the free in stream order.
pub unsafe fn free_in_order(address: Address, stream: &CudaStream) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the caller upholds the safety contract of the driver's function.
    let freed = with_relaxed_capture_mode(|| unsafe { result::free_async(address, handle) });
    answer("cuMemFreeAsync", freed)
}

/// Frees device memory immediately, without a stream.
///
/// # Safety
///
/// The address must come from [`allocate`] in this context and must not have been freed. No pending
/// work may use the memory.
pub unsafe fn free(address: Address, context: &CudaContext) -> Result<(), CudaError> {
    bind(context)?;
    // SAFETY: the caller upholds the safety contract of the driver's function.
    answer("cuMemFree", with_relaxed_capture_mode(|| unsafe { result::free_sync(address) }))
}

/// Sets each byte of a range of device memory to the same value, in stream order.
///
/// # Safety
///
/// The range must be allocated, and the caller must be permitted to write it in stream order.
pub unsafe fn set_bytes(
    address: Address,
    value: u8,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the caller upholds the safety contract of the driver's function.
    let answered = unsafe { result::memset_d8_async(address, value, bytes, handle) };
    answer("cuMemsetD8Async", answered)
}

/// Sets each 16-bit word of a range of device memory to the same value, in stream order.
///
/// # Safety
///
/// The safety contract of [`set_bytes`] applies, with a range of `2 * count` bytes.
pub unsafe fn set_halves(
    address: Address,
    value: u16,
    count: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the caller upholds the safety contract of the driver's function.
    let answered = unsafe { sys::cuMemsetD16Async(address, value, count, handle) };
    answer("cuMemsetD16Async", answered.result())
}

/// Sets each 32-bit word of a range of device memory to the same value, in stream order.
///
/// # Safety
///
/// The safety contract of [`set_bytes`] applies, with a range of `4 * count` bytes.
pub unsafe fn set_words(
    address: Address,
    value: u32,
    count: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the caller upholds the safety contract of the driver's function.
    let answered = unsafe { sys::cuMemsetD32Async(address, value, count, handle) };
    answer("cuMemsetD32Async", answered.result())
}

/// Copies device memory within one context, in stream order.
///
/// # Safety
///
/// Both ranges must be allocated and must not overlap, and the caller must be permitted to use them
/// in stream order.
pub unsafe fn copy_on_device(
    to: Address,
    from: Address,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let handle = bound_handle(stream)?;
    // SAFETY: the caller upholds the safety contract of the driver's function.
    let answered = unsafe { result::memcpy_dtod_async(to, from, bytes, handle) };
    answer("cuMemcpyDtoDAsync", answered)
}

/// Enqueues a copy of device memory from one context to another, on a stream in the target's
/// context.
///
/// # Safety
///
/// The safety contract of [`copy_on_device`] applies, but each range belongs to its own context.
pub unsafe fn copy_between_devices(
    (to, to_context): (Address, &CudaContext),
    (from, from_context): (Address, &CudaContext),
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (to_context, from_context) = (to_context.cu_ctx(), from_context.cu_ctx());
    let handle = bound_handle(stream)?;
    // SAFETY: the caller upholds the safety contract of the driver's function. Both contexts are
    // alive while their owners are borrowed.
    let answered =
        unsafe { result::memcpy_peer_async(to_context, to, from_context, from, bytes, handle) };
    answer("cuMemcpyPeerAsync", answered)
}

/// Copies page-locked host memory to device memory, in stream order.
///
/// # Safety
///
/// The host range must be page-locked and must not be written or freed until the copy has
/// completed. The safety contract of [`set_bytes`] applies to the device range.
pub unsafe fn copy_from_host(
    to: Address,
    from: NonNull<u8>,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (from, handle) = (from.as_ptr().cast::<c_void>(), bound_handle(stream)?);
    // SAFETY: the caller upholds the safety contract of the driver's function.
    let answered = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from, bytes, handle) };
    answer("cuMemcpyHtoDAsync", answered.result())
}

/// Copies device memory to page-locked host memory, in stream order.
///
/// # Safety
///
/// The host range must be page-locked and must not be accessed or freed until the copy has
/// completed. The device range must be allocated, and the caller must be permitted to read it in
/// stream order.
pub unsafe fn copy_to_host(
    to: NonNull<u8>,
    from: Address,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (to, handle) = (to.as_ptr().cast::<c_void>(), bound_handle(stream)?);
    // SAFETY: the caller upholds the safety contract of the driver's function.
    let answered = unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, bytes, handle) };
    answer("cuMemcpyDtoHAsync", answered.result())
}

/// Allocates page-locked host memory in a context. This memory can be used from all contexts.
pub(crate) fn allocate_host(bytes: usize, context: &CudaContext) -> Result<NonNull<u8>, CudaError> {
    bind(context)?;
    // SAFETY: no other code owns the new memory, and its contents are not read before they have
    // been written.
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
/// pending copy may use the memory.
pub(crate) unsafe fn free_host(
    memory: NonNull<u8>,
    context: &CudaContext,
) -> Result<(), CudaError> {
    bind(context)?;
    // SAFETY: the caller upholds the safety contract of the driver's function.
    let freed = with_relaxed_capture_mode(|| unsafe { result::free_host(memory.as_ptr().cast()) });
    answer("cuMemFreeHost", freed)
}

//! Wraps a private memory pool of the driver's stream-ordered allocator. This crate does not use
//! the device's default memory pool. The whole process shares the default pool, so this crate must
//! not change that pool's settings.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use crate::answer::answer;
use crate::capture_mode::with_relaxed_capture_mode;
use crate::context::bind;
use crate::deferred_frees::{DeferredFreeKind, QueueEntry, ResourceOwner};
use crate::error::CudaError;
use crate::handle::{ContextHandle, HandleKind};
use crate::versioned::create_memory_pool;

/// The memory pool that belongs to a `CudaDevice` from `pool-cuda`.
#[derive(Debug)]
pub struct MemoryPool(ResourceOwner<ContextHandle<MemoryPoolKind>>);

// SAFETY: the driver's memory pool functions can be called from any thread. The value itself never
// changes.
unsafe impl Sync for MemoryPool {}

enum MemoryPoolKind {}

// SAFETY: the driver's memory pool functions can be called from any thread.
unsafe impl HandleKind for MemoryPoolKind {
    type Handle = sys::CUmemoryPool;

    const KIND: DeferredFreeKind = DeferredFreeKind::MemoryPool;

    /// Destroys the memory pool. The driver releases the pool's memory after the pool's last block
    /// has been freed.
    unsafe fn destroy(pool: sys::CUmemoryPool) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the memory pool is alive and is not used again.
        let destroyed = with_relaxed_capture_mode(|| unsafe { result::mem_pool::destroy(pool) });
        answer("cuMemPoolDestroy", destroyed)
    }
}

impl MemoryPool {
    /// Creates a memory pool on the context's device.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let entry = QueueEntry::new()?;
        bind(context)?;
        let handle = create_memory_pool(context.cu_device())?;
        // SAFETY: the memory pool has just been created in this context.
        Ok(Self(entry.own(unsafe { ContextHandle::new(handle, context) })))
    }

    /// Returns the memory pool's driver handle, which stays alive until `self` is dropped.
    #[must_use]
    pub fn handle(&self) -> sys::CUmemoryPool {
        self.0.get()
    }

    /// Returns the memory pool's unused memory to the device.
    pub fn trim(&self) -> Result<(), CudaError> {
        let handle = self.handle();
        // SAFETY: the memory pool stays alive until `self` is dropped.
        let trimmed = with_relaxed_capture_mode(|| unsafe { result::mem_pool::trim_to(handle, 0) });
        answer("cuMemPoolTrimTo", trimmed)
    }
}

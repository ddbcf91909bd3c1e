//! A private memory pool of the driver's stream-ordered allocator. The process-wide default one is not
//! ours to change.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use crate::driver::calls::{answer, bind};
use crate::driver::capture::unheeding_captures;
use crate::driver::error::CudaError;
use crate::driver::leftovers::{Leftover, Place};
use crate::driver::versioned::create_memory_pool;

/// The memory pool of one [`CudaDevice`](crate::CudaDevice).
#[derive(Debug)]
pub(crate) struct MemoryPool {
    handle: sys::CUmemoryPool,
    context: Arc<CudaContext>,
    place: Place,
}

// SAFETY: the driver's calls on a memory pool may be made from any thread.
unsafe impl Send for MemoryPool {}
// SAFETY: as above; the value itself never changes.
unsafe impl Sync for MemoryPool {}

impl MemoryPool {
    /// A memory pool of the context's device.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        bind(context)?;
        let handle = create_memory_pool(context.cu_device())?;
        Ok(Self { handle, context: Arc::clone(context), place })
    }

    pub(crate) fn handle(&self) -> sys::CUmemoryPool {
        self.handle
    }

    /// Gives back to the device what is free.
    pub(crate) fn trim(&self) -> Result<(), CudaError> {
        // SAFETY: the pool is live until `self` is dropped.
        let trimmed = unheeding_captures(|| unsafe { result::mem_pool::trim_to(self.handle, 0) });
        answer("cuMemPoolTrimTo", trimmed)
    }
}

/// A memory pool that has no owner any more.
#[derive(Debug)]
pub(crate) struct LeftMemoryPool {
    handle: sys::CUmemoryPool,
    context: Arc<CudaContext>,
}

// SAFETY: as for `MemoryPool`.
unsafe impl Send for LeftMemoryPool {}

impl LeftMemoryPool {
    /// Destroys it. The driver gives its memory back once the last block of it is freed.
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] where the driver refuses; the memory pool is then still there.
    pub(crate) fn destroy(&self) -> Result<(), CudaError> {
        bind(&self.context)?;
        // SAFETY: the pool is live, because this was not answered with success before, and nobody else
        // has it.
        answer("cuMemPoolDestroy", unsafe { result::mem_pool::destroy(self.handle) })
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        let left = LeftMemoryPool { handle: self.handle, context: Arc::clone(&self.context) };
        self.place.give_back(Leftover::MemoryPool(left));
    }
}

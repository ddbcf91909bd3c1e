//! A private memory pool of the driver's stream-ordered allocator. The process-wide default one is not
//! ours to change.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use crate::capturing::unheeding_captures;
use crate::driver::{answer, bind};
use crate::error::CudaError;
use crate::leftover::{Leftover, Place};

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
        let mut handle = ptr::null_mut();
        let properties = properties(context.cu_device());
        // SAFETY: the place and the properties outlive the call.
        let created = unsafe { sys::cuMemPoolCreate(&raw mut handle, &raw const properties) };
        answer("cuMemPoolCreate", created.result())?;
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

/// Memory that stays on its device, without a limit.
fn properties(device: sys::CUdevice) -> sys::CUmemPoolProps {
    // SAFETY: integers, enums that have a variant of number 0, and a pointer: all zero is a value.
    let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
    properties.allocType = sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type_ = sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    properties
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

//! Allocates and frees a pool's blocks in stream order. The memory comes from the pool's device or
//! from a block source.

use pool_driver::calls::{self, Address};
use pool_driver::capture::is_capturing;
use pool_driver::code::DriverCode;
use pool_driver::deferred_frees::retry_deferred_frees;
use pool_driver::error::CudaError;
use pool_driver::memory_pool::MemoryPool;
use pool_driver::reclaim::Reclaim;

use crate::stream::block_free::{DeferredFrees, free_block};
use crate::stream::device_stream::DeviceStream;
use crate::stream::holders::reclaim;

impl DeviceStream {
    /// Allocates memory that work on this stream can use. If the device is still out of memory
    /// after the pool has freed its idle blocks, this method releases memory elsewhere in the
    /// process. The method then retries the allocation once.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Address, CudaError> {
        let is_last_attempt = self.is_last_attempt().take();
        if let Some(source) = self.source() {
            return source.allocate(bytes);
        }
        let spare = DeferredFrees::new_spare()?;
        retry_deferred_frees();
        self.bind_outside_capture("allocate memory")?;
        self.free_deferred();
        let (stream, device) = (self.stream(), self.device());
        let allocate = || match device.memory_pool() {
            // SAFETY: the memory pool and the stream belong to the same device.
            Some(pool) => unsafe { calls::allocate_in_order(pool.handle(), bytes, stream) },
            None => calls::allocate(bytes, device.context()),
        };
        let (mut allocated, mut reclaimed) = (allocate(), Reclaim::default());
        if is_last_attempt && is_out_of_memory(&allocated) {
            reclaimed = reclaim(device.context(), stream);
            allocated = allocate();
        }
        let address = match allocated {
            Err(_) if is_out_of_memory(&allocated) => {
                let memory = calls::device_memory(device.context()).ok();
                let reclaim = reclaimed;
                return Err(CudaError::OutOfMemory { requested: bytes, memory, reclaim });
            }
            allocated => allocated?,
        };
        self.deferred().keep_spare(spare);
        Ok(address)
    }

    /// Frees memory in stream order, after all work currently enqueued on the stream. If a capture
    /// is active or the driver refuses to free the memory, the free is retried later.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code. It is not an error if a capture defers the free.
    ///
    /// # Safety
    ///
    /// The address must come from [`allocate`](Self::allocate) on a stream of the same device
    /// object, and must not have been freed. All uses of the memory must have been enqueued on this
    /// stream or have completed.
    pub(crate) unsafe fn free(&self, address: Address) -> Result<(), CudaError> {
        if let Some(source) = self.source() {
            // If the pool cannot wait for the block's users on other streams, the block stays
            // allocated until its source is dropped.
            self.other_streams().settle(address, self.stream())?;
            // SAFETY: the caller upholds this method's safety contract.
            unsafe { source.free(address) };
            return Ok(());
        }
        let freed = match self.bind_outside_capture("free memory") {
            Ok(()) => {
                self.free_deferred();
                // SAFETY: the caller upholds this method's safety contract.
                unsafe { self.free_now(address) }
            }
            Err(error) => Err(error),
        };
        match freed {
            Ok(()) => self.deferred().drop_spare(),
            Err(_) => self.deferred().put_off(address),
        }
        unless_of_capture(freed)
    }

    /// Frees memory in stream order, or returns an error if the memory cannot be freed now.
    ///
    /// # Safety
    ///
    /// The safety contract of [`free`](Self::free) applies, and the stream must not be captured.
    unsafe fn free_now(&self, address: Address) -> Result<(), CudaError> {
        // SAFETY: the caller upholds this method's safety contract.
        unsafe { free_block(address, self.other_streams(), self.stream(), self.device()) }
    }

    /// Retries the pool's deferred frees. The stream must not be captured during this call.
    fn free_deferred(&self) {
        // SAFETY: these addresses were passed to `free`, whose safety contract covers the deferred
        // free.
        let free = |address| unsafe { self.free_now(address) };
        self.deferred().free_each(free, |freed| self.keep_pending_error(unless_of_capture(freed)));
    }

    /// Waits until all pending frees have completed, and then releases the freed memory to the
    /// device. During a capture, this method does nothing.
    pub(crate) fn settle(&self) -> Result<(), CudaError> {
        if self.source().is_some() || is_capturing(self.stream())? {
            return Ok(());
        }
        self.is_last_attempt().set(true);
        self.free_deferred();
        calls::synchronize(self.stream())?;
        self.device().memory_pool().map_or(Ok(()), MemoryPool::trim)
    }
}

fn is_out_of_memory(allocated: &Result<Address, CudaError>) -> bool {
    matches!(allocated, Err(CudaError::Call { code: DriverCode::OUT_OF_MEMORY, .. }))
}

/// Returns `Ok` if the free was deferred because of a capture; otherwise, returns the result
/// unchanged.
fn unless_of_capture(freed: Result<(), CudaError>) -> Result<(), CudaError> {
    if freed.is_err_and(|error| error.is_of_capture()) { Ok(()) } else { freed }
}

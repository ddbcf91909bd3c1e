//! Allocates and frees the blocks of a pool: from its device, or from a source, in the order of its
//! stream.

use pool_driver::calls::{self, Address};
use pool_driver::capture::is_capturing;
use pool_driver::code::DriverCode;
use pool_driver::error::CudaError;
use pool_driver::leftovers::give_back_leftovers;
use pool_driver::memory_pool::MemoryPool;
use pool_driver::reclaim::Reclaim;

use crate::stream::block_free::{DeferredFrees, free_block};
use crate::stream::device_stream::DeviceStream;
use crate::stream::holders::reclaim;

impl DeviceStream {
    /// Allocates memory for the stream's work. If the device is full after the pool has freed its
    /// idle blocks, other memory of the process is released, and the allocation retried once.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Address, CudaError> {
        let is_last_attempt = self.is_last_attempt().take();
        if let Some(source) = self.source() {
            return source.allocate(bytes);
        }
        let spare = DeferredFrees::new_spare()?;
        give_back_leftovers();
        self.bind_outside_capture("allocate memory")?;
        self.free_deferred();
        let (stream, device) = (self.stream(), self.device());
        let allocate = || match device.memory_pool() {
            // SAFETY: the memory pool is the device's, which is that of the stream.
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

    /// Frees memory after all current work of the stream. If a capture or the driver prevents that,
    /// the free is deferred.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code; a capture is not an error.
    ///
    /// # Safety
    ///
    /// The address must come from [`allocate`](Self::allocate) of a stream of the same device
    /// object, and must not be freed. All its uses must be in this stream or done.
    pub(crate) unsafe fn free(&self, address: Address) -> Result<(), CudaError> {
        if let Some(source) = self.source() {
            // If the block's users on other streams cannot be waited for, the block is leaked until
            // the source is dropped.
            self.other_streams().settle(address, self.stream())?;
            // SAFETY: the caller's promise.
            unsafe { source.free(address) };
            return Ok(());
        }
        let freed = match self.bind_outside_capture("free memory") {
            Ok(()) => {
                self.free_deferred();
                // SAFETY: the caller's promise.
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

    /// Frees memory in the stream's order.
    ///
    /// # Safety
    ///
    /// Same as for [`free`](Self::free), and the stream is not captured.
    unsafe fn free_now(&self, address: Address) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { free_block(address, self.other_streams(), self.stream(), self.device()) }
    }

    /// Retries deferred frees. The stream must not be captured.
    fn free_deferred(&self) {
        // SAFETY: by the contract of `free`, these addresses may be freed.
        let free = |address| unsafe { self.free_now(address) };
        self.deferred().free_each(free, |freed| self.keep_unanswered(unless_of_capture(freed)));
    }

    /// Waits until all freed memory is free, and releases it to the device. Does nothing in a
    /// capture.
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

/// Returns the result of a deferred free. A capture that deferred it is not an error.
fn unless_of_capture(freed: Result<(), CudaError>) -> Result<(), CudaError> {
    if freed.is_err_and(|error| error.is_of_capture()) { Ok(()) } else { freed }
}

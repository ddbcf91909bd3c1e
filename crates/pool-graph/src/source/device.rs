//! A source that allocates memory on a CUDA device. The memory has fixed addresses, and allocating
//! it does not affect any capture.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use pool_core::Device;
use pool_cuda::CudaDevice;
use pool_driver::calls;
use pool_driver::chain::Chain;
use pool_driver::code::DriverCode;
use pool_driver::context::bind;
use pool_driver::cudarc::driver::CudaContext;
use pool_driver::deferred_frees::{DeferredFreeKind, QueueEntry, Resource};
use pool_driver::error::CudaError;
use pool_driver::reclaim::Reclaim;

use super::contract::MemorySource;

/// A source that uses `cuMemAlloc` to allocate memory on a CUDA device. The allocated memory has a
/// fixed address and does not belong to any graph.
///
/// Memory may be allocated and freed while any thread is capturing a stream. The source puts the
/// calling thread in relaxed capture mode while it allocates or frees memory. When memory is freed,
/// the calling thread blocks until the device has completed all of its pending work.
///
/// To let kernels on another device access this memory, call
/// `device.clone().without_memory_pool().grant_peer_access(&other)`; see
/// [`CudaDevice::grant_peer_access`].
///
/// ```no_run
/// use pool_cuda::Cuda;
/// use pool_graph::{CUDAGraphMemoryPool, DeviceMemory, GraphPoolConfig};
///
/// let device = Cuda::device(0)?;
/// let pool = CUDAGraphMemoryPool::new(DeviceMemory::new(&device));
/// let block = pool.allocate(1 << 20).unwrap();
/// println!("{:#x}\n{}", block.address(), pool.stats());
/// # Ok::<(), pool_cuda::CudaError>(())
/// ```
#[derive(Clone)]
pub struct DeviceMemory {
    context: Arc<CudaContext>,
    pending_error: Arc<Mutex<Option<CudaError>>>,
    /// A queue entry for each allocation, in case the allocation cannot be freed immediately. Each
    /// entry is reserved before the allocation, so freeing memory requires no host memory. The lock
    /// is held only while an entry is added or removed.
    entries: Arc<Mutex<Chain<Option<QueueEntry<Allocation>>>>>,
}

/// An allocation that is being freed.
#[derive(Debug)]
struct Allocation {
    address: u64,
    context: Arc<CudaContext>,
}

impl Resource for Allocation {
    const KIND: DeferredFreeKind = DeferredFreeKind::DeviceMemory;

    fn context(&self) -> Option<&CudaContext> {
        Some(&self.context)
    }

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        // SAFETY: the address came from `calls::allocate` in this context and is freed only once.
        // The caller guarantees that the memory is no longer in use.
        unsafe { calls::free(self.address, &self.context) }
    }
}

impl DeviceMemory {
    /// Creates a source that allocates memory on this device.
    #[must_use]
    pub fn new(device: &CudaDevice) -> Self {
        Self::of_context(Arc::clone(device.context()))
    }

    /// Creates a source that allocates memory on the context's device.
    #[must_use]
    pub fn of_context(context: Arc<CudaContext>) -> Self {
        Self { context, pending_error: Arc::default(), entries: Arc::default() }
    }

    /// Returns cudarc's context for the device.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Returns the first error that has occurred while freeing memory, and clears the stored error.
    /// The error is stored because the `free` method cannot return an error. All clones of the
    /// source share this stored error. Memory that could not be freed is freed
    /// [later](pool_cuda::Cuda::retry_deferred_frees).
    #[must_use]
    pub fn take_pending_error(&self) -> Option<CudaError> {
        self.pending_error.lock().take()
    }

    /// Makes the source's context current on the calling thread.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        bind(&self.context)
    }

    fn out_of_memory(&self, requested: usize) -> CudaError {
        let memory = calls::device_memory(&self.context).ok();
        CudaError::OutOfMemory { requested, memory, reclaim: Reclaim::default() }
    }
}

// SAFETY: the driver returns disjoint ranges that are aligned to at least 256 bytes. These ranges
// stay mapped until they are freed. The driver may be called from any thread on which the context
// is current, and both `allocate` and `free` make it current. The caller of `allocate` rejects an
// address that is 0 or too high.
unsafe impl MemorySource for DeviceMemory {
    type Error = CudaError;

    fn device(&self) -> Device {
        Device { kind: "cuda", ordinal: u32::try_from(self.context.ordinal()).ok() }
    }

    fn allocate(&self, bytes: u64) -> Result<u64, CudaError> {
        let entry = Chain::of(Some(QueueEntry::new()?))?;
        let Ok(bytes) = usize::try_from(bytes) else {
            return Err(self.out_of_memory(usize::MAX));
        };
        match calls::allocate(bytes, &self.context) {
            Err(CudaError::Call { code: DriverCode::OUT_OF_MEMORY, .. }) => {
                Err(self.out_of_memory(bytes))
            }
            allocated => {
                let address = allocated?;
                self.entries.lock().add(entry);
                Ok(address)
            }
        }
    }

    unsafe fn free(&self, address: u64, _: u64) -> bool {
        let mut allocation = Allocation { address, context: Arc::clone(&self.context) };
        let mut link = self.entries.lock().pop().unwrap_or_default();
        let freed = match link.iter_mut().find_map(Option::take) {
            Some(entry) => entry.own(allocation).give_back(),
            // SAFETY: the caller guarantees that the address is freed only once and that the memory
            // is no longer in use.
            None => unsafe { allocation.give_back() },
        };
        if let Err(error) = freed {
            self.pending_error.lock().get_or_insert(error);
        }
        freed.is_ok()
    }
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceMemory").field(&self.device().to_string()).finish()
    }
}

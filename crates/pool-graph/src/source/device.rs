//! The memory of a device as a source. It consists of plain allocations at fixed addresses, which
//! do not affect captures.

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
use pool_driver::error::CudaError;
use pool_driver::leftovers::{LeftoverKind, Place, Resource};
use pool_driver::reclaim::Reclaim;

use super::contract::MemorySource;

/// A source that allocates the memory of a CUDA device with `cuMemAlloc`. The memory is at fixed
/// addresses, and is not part of any graph.
///
/// Memory may be allocated and freed while this thread or another thread captures a stream, because
/// these calls temporarily switch the calling thread to the relaxed capture mode. A free waits for
/// all work on the device.
///
/// Kernels on another device can access the memory after
/// `device.clone().without_memory_pool().let_peer(&other)` ([`CudaDevice::let_peer`]).
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
    unanswered: Arc<Mutex<Option<CudaError>>>,
    /// One entry in the queue of deferred frees for each allocation. The entry is reserved before
    /// the allocation, so that a free needs no host memory. The lock is held only while entries are
    /// linked and unlinked.
    places: Arc<Mutex<Chain<Option<Place<Allocation>>>>>,
}

/// An allocation that is being freed.
#[derive(Debug)]
struct Allocation {
    address: u64,
    context: Arc<CudaContext>,
}

impl Resource for Allocation {
    const KIND: LeftoverKind = LeftoverKind::DeviceMemory;

    fn context(&self) -> Option<&CudaContext> {
        Some(&self.context)
    }

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        // SAFETY: the address came from `calls::allocate` in this context and is freed once. The
        // caller promises that it is no longer in use.
        unsafe { calls::free(self.address, &self.context) }
    }
}

impl DeviceMemory {
    /// Creates a source of this device's memory.
    #[must_use]
    pub fn new(device: &CudaDevice) -> Self {
        Self::of_context(Arc::clone(device.context()))
    }

    /// Creates a source of the memory of a context's device.
    #[must_use]
    pub fn of_context(context: Arc<CudaContext>) -> Self {
        Self { context, unanswered: Arc::default(), places: Arc::default() }
    }

    /// Returns cudarc's context of the device.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Returns the first error of a free since the last call of this method, because a free itself
    /// cannot return an error. Clones of the source share the stored error. The free is
    /// [deferred](pool_cuda::Cuda::give_back_leftovers), and the memory is freed later.
    #[must_use]
    pub fn take_unanswered(&self) -> Option<CudaError> {
        self.unanswered.lock().take()
    }

    /// Sets the context as the current context of the calling thread.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        bind(&self.context)
    }

    fn out_of_memory(&self, requested: usize) -> CudaError {
        let memory = calls::device_memory(&self.context).ok();
        CudaError::OutOfMemory { requested, memory, reclaim: Reclaim::default() }
    }
}

// SAFETY: the driver returns disjoint ranges that are aligned to at least 256 bytes. The ranges and
// their pages stay until they are freed. The driver's calls may be made from any thread on which
// the context is current, and both methods ensure that it is. The caller of `allocate` would detect
// an address that is 0 or too high.
unsafe impl MemorySource for DeviceMemory {
    type Error = CudaError;

    fn device(&self) -> Device {
        Device { kind: "cuda", ordinal: u32::try_from(self.context.ordinal()).ok() }
    }

    fn allocate(&self, bytes: u64) -> Result<u64, CudaError> {
        let place = Chain::of(Some(Place::new()?))?;
        let Ok(bytes) = usize::try_from(bytes) else {
            return Err(self.out_of_memory(usize::MAX));
        };
        match calls::allocate(bytes, &self.context) {
            Err(CudaError::Call { code: DriverCode::OUT_OF_MEMORY, .. }) => {
                Err(self.out_of_memory(bytes))
            }
            allocated => {
                let address = allocated?;
                self.places.lock().add(place);
                Ok(address)
            }
        }
    }

    unsafe fn free(&self, address: u64, _: u64) -> bool {
        let mut allocation = Allocation { address, context: Arc::clone(&self.context) };
        let mut link = self.places.lock().pop().unwrap_or_default();
        let freed = match link.iter_mut().find_map(Option::take) {
            Some(place) => place.own(allocation).give_back(),
            // SAFETY: the address is freed once. The caller promises that it is no longer in use.
            None => unsafe { allocation.give_back() },
        };
        if let Err(error) = freed {
            self.unanswered.lock().get_or_insert(error);
        }
        freed.is_ok()
    }
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceMemory").field(&self.device().to_string()).finish()
    }
}

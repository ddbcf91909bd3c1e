//! The memory of a device as a source: plain allocations at fixed addresses, without effect on
//! captures.

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

/// The memory of a CUDA device, by `cuMemAlloc`: at fixed addresses, and not part of any graph.
///
/// Allocating and freeing are legal while a stream is captured, in this thread or another: the
/// thread's capture mode is relaxed meanwhile. A free waits for the work of the whole device.
///
/// Kernels of another device can access it after
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
    /// A place in the queue of deferred frees for each allocation, reserved before it: so a free
    /// needs no host memory. Locked only to link and unlink.
    places: Arc<Mutex<Chain<Option<Place<Allocation>>>>>,
}

/// One allocation that is being freed.
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
        // SAFETY: the address came from `calls::allocate` in this context, is freed once, and is no
        // longer in use (caller).
        unsafe { calls::free(self.address, &self.context) }
    }
}

impl DeviceMemory {
    /// Creates the source of this device's memory.
    #[must_use]
    pub fn new(device: &CudaDevice) -> Self {
        Self::of_context(Arc::clone(device.context()))
    }

    /// Creates the source for the device of a context.
    #[must_use]
    pub fn of_context(context: Arc<CudaContext>) -> Self {
        Self { context, unanswered: Arc::default(), places: Arc::default() }
    }

    /// Returns cudarc's context of the device.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Takes the first error of a free since the last take; a free itself returns none. Clones
    /// share it. The memory is [deferred](pool_cuda::Cuda::give_back_leftovers), and freed later.
    #[must_use]
    pub fn take_unanswered(&self) -> Option<CudaError> {
        self.unanswered.lock().take()
    }

    /// Makes the context the calling thread's current one.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        bind(&self.context)
    }

    fn out_of_memory(&self, requested: usize) -> CudaError {
        let memory = calls::device_memory(&self.context).ok();
        CudaError::OutOfMemory { requested, memory, reclaim: Reclaim::default() }
    }
}

// SAFETY: the driver returns disjoint ranges, aligned to 256 bytes at least, which stay, with their
// pages, until they are freed. Its calls may be made from any thread with the context current,
// which both methods ensure. The caller would detect an address of 0 or near the end.
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
            // SAFETY: the address is freed once, and is no longer in use (caller).
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

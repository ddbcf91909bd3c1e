//! The memory of a device as a source: plain allocations, which stay where they are, made in a way
//! that no capture notices.

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

/// The memory of a CUDA device, by `cuMemAlloc`: at addresses that stay, and no part of any graph.
///
/// Allocating and freeing are legal while a stream is captured, in this thread or another: the thread
/// is told not to mind captures meanwhile. Freeing waits for the work of the whole device.
///
/// Kernels of another device reach it once
/// `device.clone().without_memory_pool().let_peer(&other)` has let them
/// ([`CudaDevice::let_peer`]).
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
    /// A place among the leftovers for each allocation, made before it: a free then needs no host memory. Locked for
    /// linking and unlinking.
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
        // SAFETY: the address came from `calls::allocate` in this context, is freed once, and nothing uses it (caller).
        unsafe { calls::free(self.address, &self.context) }
    }
}

impl DeviceMemory {
    /// The memory of this device.
    #[must_use]
    pub fn new(device: &CudaDevice) -> Self {
        Self::of_context(Arc::clone(device.context()))
    }

    /// The memory of the device of a context.
    #[must_use]
    pub fn of_context(context: Arc<CudaContext>) -> Self {
        Self { context, unanswered: Arc::default(), places: Arc::default() }
    }

    /// cudarc's context of the device.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Takes the first error, since the last time, of a free, which returns none. Clones share it. The memory is
    /// [left over](pool_cuda::Cuda::give_back_leftovers), and freed later.
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

// SAFETY: the driver gives ranges of its own to each allocation, aligned to 256 bytes at least, which
// stay, with their pages, until they are freed; its calls may be made from any thread with the context
// current, which both see to. An address of 0 or near the end would be noticed by who asked.
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
            // SAFETY: the address is freed once, and nothing uses it (caller).
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

//! Tracks the pools in this process that hold device memory. Before a pool reports a failed
//! allocation, it waits for pending frees and releases the blocks of the thread's idle pools. The
//! error from a failed allocation states how much memory the pools hold.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use cudarc::driver::{CudaContext, CudaStream};
use pool_core::reserve::list;
use pool_driver::chain::Chain;
use pool_driver::error::CudaError;
use pool_driver::memory_pool::MemoryPool;
use pool_driver::reclaim::Reclaim;
use pool_driver::stream_waits::wait_for_streams;

use crate::stream::device::CudaDevice;
use crate::stream::registered_streams::registered_streams;

/// The data about all pools that allocate from a device. The lock is held only while the list is
/// searched or entries are added or removed.
static HOLDERS: Mutex<Chain<Weak<Holder>>> = Mutex::new(Chain::new());

/// The function that trims the thread's idle pools and returns the number of bytes released.
static TRIM_IDLE_POOLS: OnceLock<fn() -> usize> = OnceLock::new();

/// The data about a pool that other pools can read. The data contains the pool's device and the
/// number of bytes that the pool has allocated on this device.
#[derive(Debug)]
pub(crate) struct Holder {
    device: CudaDevice,
    bytes: AtomicUsize,
}

fn holders() -> MutexGuard<'static, Chain<Weak<Holder>>> {
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the function that trims the calling thread's idle pools before a failed allocation is
/// reported. Only the first call has an effect. The `pool-facade` crate passes a function that
/// trims its own thread-local pools.
#[doc(hidden)]
pub fn set_idle_pools_trim(trim: fn() -> usize) {
    TRIM_IDLE_POOLS.get_or_init(|| trim);
}

impl Holder {
    /// Creates the data for a pool that has not yet allocated any memory.
    pub(crate) fn new(device: &CudaDevice) -> Self {
        Self { device: device.clone(), bytes: AtomicUsize::new(0) }
    }

    /// Registers the pool until the last reference to its data is dropped.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory.
    pub(crate) fn register(self: &Arc<Self>) -> Result<(), CudaError> {
        let link = Chain::of(Arc::downgrade(self))?;
        let ended = {
            let mut holders = holders();
            let ended = holders.unlink(|entry| entry.strong_count() == 0);
            holders.add(link);
            ended
        };
        drop(ended);
        Ok(())
    }

    pub(crate) fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Adds the size of a newly allocated block to the number of bytes that the pool holds.
    pub(crate) fn allocated(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Subtracts the size of a freed block from the number of bytes that the pool holds.
    pub(crate) fn freed(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Returns the data about all registered pools. If the host runs out of memory, the returned list
/// might be incomplete.
fn registered() -> Vec<Arc<Holder>> {
    let count = holders().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(holders().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// Releases device memory held by all pools except the one on the `own` stream. This function trims
/// the calling thread's idle pools and blocks the host until pending frees on other streams have
/// completed. Driver errors are ignored.
pub(crate) fn reclaim(context: &CudaContext, own: &CudaStream) -> Reclaim {
    let trimmed = TRIM_IDLE_POOLS.get().map_or(0, |trim| trim());
    let streams = registered_streams();
    let is_other = |stream: &&Arc<CudaStream>| {
        stream.context().cu_ctx() == context.cu_ctx() && stream.cu_stream() != own.cu_stream()
    };
    let waits = wait_for_streams(streams.iter().filter(is_other));
    let mut reclaim = Reclaim::new(trimmed).after_waits(waits);
    let pools = registered();
    for pool in pools.iter().filter(|pool| pool.device.context().cu_ctx() == context.cu_ctx()) {
        // The caller retries its allocation even if the driver could not release the memory.
        let _trimmed = pool.device.memory_pool().map(MemoryPool::trim);
        reclaim.add_pool(pool.bytes.load(Ordering::Relaxed));
    }
    reclaim
}

//! The pools of this process that hold memory of devices. Before an allocation fails for good, a pool has the others'
//! memory given back as far as that is possible without their owners: blocks whose frees are pending, and idle pools of the
//! thread. What the pools hold is told by the error.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use cudarc::driver::{CudaContext, CudaStream};
use pool_core::reserve::list;
use pool_driver::chain::Chain;
use pool_driver::error::CudaError;
use pool_driver::memory_pool::MemoryPool;
use pool_driver::reclaim::Reclaim;
use pool_driver::stream_waits::wait_for_streams;

use crate::stream::announced_streams::announced_streams;
use crate::stream::device::CudaDevice;

/// The pools with blocks of their own. Locked for a look, and for linking and unlinking.
static HOLDERS: Mutex<Chain<Weak<Holder>>> = Mutex::new(Chain::new());

/// Gives back the memory of the thread's idle pools, and returns its bytes.
static TRIM_IDLE_POOLS: OnceLock<fn() -> usize> = OnceLock::new();

/// A pool, as far as others know of it: its device, and how many bytes it holds there.
#[derive(Debug)]
pub(crate) struct Holder {
    device: CudaDevice,
    bytes: AtomicUsize,
}

fn holders() -> MutexGuard<'static, Chain<Weak<Holder>>> {
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the function by which idle pools of the calling thread give their memory back before an allocation fails; the first
/// call counts. `pool-facade` sets it for the pools of its threads.
#[doc(hidden)]
pub fn set_idle_pools_trim(trim: fn() -> usize) {
    TRIM_IDLE_POOLS.get_or_init(|| trim);
}

impl Holder {
    /// A pool of a device, which holds nothing yet.
    pub(crate) fn new(device: &CudaDevice) -> Self {
        Self { device: device.clone(), bytes: AtomicUsize::new(0) }
    }

    /// Registers the pool, which is known until the last pointer to it is dropped.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`] where the host has no memory for the note.
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

    /// Counts a block that the pool has got.
    pub(crate) fn allocated(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a block that the pool has given up.
    pub(crate) fn freed(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Every pool that is registered; as many as the host has memory for.
fn registered() -> Vec<Arc<Holder>> {
    let count = holders().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(holders().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// Has memory of a context's device given back outside of the pool whose stream is `own`: by idle pools of this thread, and
/// by frees that are pending on other streams, which are waited for. A driver that refuses is no error here.
pub(crate) fn reclaim(context: &CudaContext, own: &CudaStream) -> Reclaim {
    let trimmed = TRIM_IDLE_POOLS.get().map_or(0, |trim| trim());
    let streams = announced_streams();
    let is_other = |stream: &&Arc<CudaStream>| {
        stream.context().cu_ctx() == context.cu_ctx() && stream.cu_stream() != own.cu_stream()
    };
    let waits = wait_for_streams(streams.iter().filter(is_other));
    let mut reclaim = Reclaim::new(trimmed).after_waits(waits);
    let pools = registered();
    for pool in pools.iter().filter(|pool| pool.device.context().cu_ctx() == context.cu_ctx()) {
        // What the driver refuses to give back stays there, and the allocation is tried all the same.
        let _trimmed = pool.device.memory_pool().map(MemoryPool::trim);
        reclaim.add_pool(pool.bytes.load(Ordering::Relaxed));
    }
    reclaim
}

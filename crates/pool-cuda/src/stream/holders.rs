//! The pools of this process that hold memory of devices. Before an allocation finally fails, a pool releases memory of
//! the others that needs no action of their owners: blocks with pending frees, and idle pools of the thread. The error
//! lists the memory that the pools hold.

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

/// The pools with blocks. Locked only to search, link and unlink.
static HOLDERS: Mutex<Chain<Weak<Holder>>> = Mutex::new(Chain::new());

/// Trims the thread's idle pools, and returns the released bytes.
static TRIM_IDLE_POOLS: OnceLock<fn() -> usize> = OnceLock::new();

/// The data about a pool for other pools: its device, and the bytes that it holds there.
#[derive(Debug)]
pub(crate) struct Holder {
    device: CudaDevice,
    bytes: AtomicUsize,
}

fn holders() -> MutexGuard<'static, Chain<Weak<Holder>>> {
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the function that trims idle pools of the calling thread before an allocation fails; the
/// first call wins. `pool-facade` sets it for the pools of its threads.
#[doc(hidden)]
pub fn set_idle_pools_trim(trim: fn() -> usize) {
    TRIM_IDLE_POOLS.get_or_init(|| trim);
}

impl Holder {
    /// Creates the data of a pool without memory.
    pub(crate) fn new(device: &CudaDevice) -> Self {
        Self { device: device.clone(), bytes: AtomicUsize::new(0) }
    }

    /// Registers the pool, until the last pointer to it is dropped.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`] if the host has no memory for the entry.
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

    /// Counts an allocated block.
    pub(crate) fn allocated(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a freed block.
    pub(crate) fn freed(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Returns every registered pool, up to the first for which the host has no memory.
fn registered() -> Vec<Arc<Holder>> {
    let count = holders().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(holders().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// Releases memory of a context's device outside the pool with the stream `own`: idle pools of this
/// thread are trimmed, and pending frees on other streams are waited for. An error of the driver is
/// ignored.
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
        // Memory that the driver refuses to release stays, and the allocation is retried all the
        // same.
        let _trimmed = pool.device.memory_pool().map(MemoryPool::trim);
        reclaim.add_pool(pool.bytes.load(Ordering::Relaxed));
    }
    reclaim
}

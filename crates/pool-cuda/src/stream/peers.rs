//! Tracks the devices whose kernels can access a device's pools. This module also makes the driver
//! calls that grant access to a device's pools.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, sys};
use pool_driver::answer::answer;
use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::chain::Chain;
use pool_driver::context::bind;
use pool_driver::error::CudaError;
use pool_driver::memory_pool::MemoryPool;
use pool_driver::versioned::open_memory_pool;

/// The devices whose kernels can access one device's pools.
#[derive(Default)]
pub(crate) struct Peers {
    /// A bit mask with one bit for each device ordinal. The mask has more bits than any machine has
    /// devices.
    let_in: [AtomicU64; 4],
    /// The contexts that can access memory allocated without a memory pool. This list keeps the
    /// contexts alive because a context that is destroyed and recreated no longer has access.
    kept: Mutex<Chain<Arc<CudaContext>>>,
}

impl Peers {
    /// Returns `true` if access has been granted to the device with this ordinal.
    pub(crate) fn has(&self, ordinal: u32) -> bool {
        self.bit_of(ordinal).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Returns `true` if this ordinal is small enough for the bit mask.
    pub(crate) fn can_have(&self, ordinal: u32) -> bool {
        self.bit_of(ordinal).is_some()
    }

    /// Records that access has been granted to the device with this ordinal.
    pub(crate) fn add(&self, ordinal: u32) {
        if let Some((word, bit)) = self.bit_of(ordinal) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn bit_of(&self, ordinal: u32) -> Option<(&AtomicU64, u64)> {
        let word = self.let_in.get(usize::try_from(ordinal / 64).ok()?)?;
        Some((word, 1 << (ordinal % 64)))
    }

    /// Keeps a context alive as long as this value exists. The lock is held only while the entry is
    /// added to the list.
    pub(crate) fn keep(&self, context: Chain<Arc<CudaContext>>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).add(context);
    }
}

/// Returns `true` if the reader device's kernels can access the owner device's memory.
pub(crate) fn can_reach(reader: &CudaContext, owner: &CudaContext) -> Result<bool, CudaError> {
    let mut can = 0;
    // SAFETY: the driver returned both devices. The output variable outlives the call.
    let asked =
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, reader.cu_device(), owner.cu_device()) };
    answer("cuDeviceCanAccessPeer", asked.result()).map(|()| can != 0)
}

/// Allows the reader device's kernels to access a memory pool.
pub(crate) fn open_pool(
    pool: &MemoryPool,
    owner: &CudaContext,
    reader: &CudaContext,
) -> Result<(), CudaError> {
    bind(owner)?;
    // SAFETY: the memory pool is alive while it is borrowed.
    with_relaxed_capture_mode(|| unsafe { open_memory_pool(pool.handle(), reader.cu_device()) })
}

/// Allows the reader's context to access all memory allocated in the owner's context without a
/// memory pool. If an earlier call has already enabled this access, the call succeeds.
pub(crate) fn open_context(owner: &CudaContext, reader: &CudaContext) -> Result<(), CudaError> {
    bind(reader)?;
    // SAFETY: both contexts are alive while their owners are borrowed.
    let opened =
        with_relaxed_capture_mode(|| unsafe { sys::cuCtxEnablePeerAccess(owner.cu_ctx(), 0) });
    let back = bind(owner);
    match opened {
        sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => back,
        opened => answer("cuCtxEnablePeerAccess", opened.result()).and(back),
    }
}

#[cfg(test)]
mod tests {
    use super::Peers;

    #[test]
    fn each_device_has_its_bit() {
        let peers = Peers::default();
        for ordinal in [0, 63, 64, 255] {
            assert!(!peers.has(ordinal));
            assert!(peers.can_have(ordinal));
            peers.add(ordinal);
            assert!(peers.has(ordinal) && !peers.has(ordinal + 1));
        }
        assert!(!peers.can_have(256) && !peers.can_have(u32::MAX));
    }
}

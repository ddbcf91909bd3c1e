//! The devices whose kernels were let use the memory of a device's pools, and how the driver is told so.

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

/// The devices that were let use the memory of one device's pools.
#[derive(Default)]
pub(crate) struct Peers {
    /// A bit for each ordinal: for more devices than a machine has.
    let_in: [AtomicU64; 4],
    /// The contexts that plain memory was let to, kept from ending: a context that was made again would not reach
    /// the memory any more.
    kept: Mutex<Chain<Arc<CudaContext>>>,
}

impl Peers {
    /// Whether a device was let.
    pub(crate) fn has(&self, ordinal: u32) -> bool {
        self.bit_of(ordinal).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Whether there is room for a device of this ordinal.
    pub(crate) fn can_have(&self, ordinal: u32) -> bool {
        self.bit_of(ordinal).is_some()
    }

    /// Notes that a device was let.
    pub(crate) fn add(&self, ordinal: u32) {
        if let Some((word, bit)) = self.bit_of(ordinal) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn bit_of(&self, ordinal: u32) -> Option<(&AtomicU64, u64)> {
        let word = self.let_in.get(usize::try_from(ordinal / 64).ok()?)?;
        Some((word, 1 << (ordinal % 64)))
    }

    /// Keeps a context from ending. Under the lock there is only linking.
    pub(crate) fn keep(&self, context: Chain<Arc<CudaContext>>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).add(context);
    }
}

/// Whether kernels of one context's device can reach memory of another context's device.
pub(crate) fn can_reach(reader: &CudaContext, owner: &CudaContext) -> Result<bool, CudaError> {
    let mut can = 0;
    // SAFETY: both devices came from the driver, and the place outlives the call.
    let asked =
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, reader.cu_device(), owner.cu_device()) };
    answer("cuDeviceCanAccessPeer", asked.result()).map(|()| can != 0)
}

/// Lets kernels of the reader's device use the memory of a memory pool.
pub(crate) fn open_pool(
    pool: &MemoryPool,
    owner: &CudaContext,
    reader: &CudaContext,
) -> Result<(), CudaError> {
    bind(owner)?;
    // SAFETY: the memory pool is live while it is borrowed.
    with_relaxed_capture_mode(|| unsafe { open_memory_pool(pool.handle(), reader.cu_device()) })
}

/// Lets one context reach the plain memory of another one. Whether somebody did so before does not matter.
pub(crate) fn open_context(owner: &CudaContext, reader: &CudaContext) -> Result<(), CudaError> {
    bind(reader)?;
    // SAFETY: both contexts are live while their owners are borrowed.
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

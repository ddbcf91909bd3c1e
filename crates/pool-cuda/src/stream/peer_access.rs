//! Memory that kernels of another device reach: opened by one call, in the way that suits how it was allocated.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, CudaStream, sys};

use crate::driver::calls::{answer, bind};
use crate::driver::capture::unheeding_captures;
use crate::driver::chain::Chain;
use crate::driver::error::CudaError;
use crate::driver::versioned::open_memory_pool;
use crate::stream::device::{CudaDevice, ordinal};
use crate::stream::device_stream::check_context;

/// The devices that were let.
#[derive(Default)]
pub(crate) struct Peers {
    /// By ordinal: a bit each, and so more than a machine has.
    let_in: [AtomicU64; 4],
    /// The contexts that plain memory was let to. One that ended, and was made again, would not reach it any more.
    kept: Mutex<Chain<Arc<CudaContext>>>,
}

impl Peers {
    fn place(&self, ordinal: u32) -> Option<(&AtomicU64, u64)> {
        let word = self.let_in.get(usize::try_from(ordinal / 64).ok()?)?;
        Some((word, 1 << (ordinal % 64)))
    }

    fn has(&self, ordinal: u32) -> bool {
        self.place(ordinal).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Keeps a context from ending. Under the lock there is only linking.
    fn keep(&self, context: Chain<Arc<CudaContext>>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).add(context);
    }
}

impl CudaDevice {
    /// Lets kernels of another device read and write the memory of this one's pools, those that live and those to
    /// come: of pools on streams of this value and its clones. Views then go to streams of that device by
    /// [`on`](crate::DeviceView::on) and [`record_use`](crate::record_use), which order the two as streams of one
    /// device; before, they are refused by [`CudaError::WrongDevice`], and a kernel of the other device that is
    /// given the bare address faults. Copies between devices need no such leave.
    ///
    /// The way back, and that of a third device, are calls of their own. It stays for as long as the memory pool.
    /// [Without a memory pool](Self::without_memory_pool) it is all plain memory of this device's context that is
    /// let, whoever allocated it, and for as long as the two contexts, of which this value keeps the other: so for
    /// blocks of `pool-graph`'s `DeviceMemory`, which are plain, call it on `device.clone().without_memory_pool()`.
    ///
    /// ```no_run
    /// use pool_core::Pool;
    /// use pool_cuda::Cuda;
    ///
    /// let (near, far) = (Cuda::device(0)?, Cuda::device(1)?);
    /// near.let_peer(&far)?;
    /// let stream = far.context().new_stream().expect("a stream");
    /// let mut pool = Pool::<Cuda>::new(near.new_stream()?);
    /// let scope = pool.scope();
    /// let weights = scope.acquire_filled(1 << 20, 0.5_f32).into_view();
    /// let argument = weights.on(&stream)?;
    /// // … `stream.launch_builder(&kernel).arg(&argument)` reads them where they are …
    /// # let _ = argument;
    /// # Ok::<(), pool_cuda::CudaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CudaError::NotPeers`] where the other device cannot reach this one's memory (no link between them, or none
    /// that the system allows), [`CudaError::Call`] where the driver refuses, and [`CudaError::Bookkeeping`].
    pub fn let_peer(&self, peer: &Self) -> Result<(), CudaError> {
        let (owner, reader) = (self.context(), peer.context());
        if owner.cu_device() == reader.cu_device() {
            return Ok(());
        }
        let refused = CudaError::NotPeers { memory: self.ordinal(), reader: peer.ordinal() };
        let Some((word, bit)) = self.peers().place(peer.ordinal()) else { return Err(refused) };
        if !can_reach(reader, owner)? {
            return Err(refused);
        }
        match self.memory_pool() {
            Some(pool) => {
                bind(owner)?;
                // SAFETY: the pool is live while it is borrowed.
                unheeding_captures(|| unsafe {
                    open_memory_pool(pool.handle(), reader.cu_device())
                })?;
            }
            None if self.peers().has(peer.ordinal()) => open_context(owner, reader)?,
            None => {
                let kept = Chain::of(Arc::clone(reader))?;
                open_context(owner, reader)?;
                self.peers().keep(kept);
            }
        }
        word.fetch_or(bit, Ordering::Relaxed);
        Ok(())
    }

    /// Checks that work on a stream reaches the memory of this device's pools.
    pub(crate) fn check_reach(&self, stream: &CudaStream) -> Result<(), CudaError> {
        if self.peers().has(ordinal(stream.context())) {
            return Ok(());
        }
        check_context(self.context(), stream)
    }
}

/// Whether a device can reach memory of another one.
fn can_reach(reader: &CudaContext, owner: &CudaContext) -> Result<bool, CudaError> {
    let mut can = 0;
    // SAFETY: both devices came from the driver, and the place outlives the call.
    let asked =
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, reader.cu_device(), owner.cu_device()) };
    answer("cuDeviceCanAccessPeer", asked.result()).map(|()| can != 0)
}

/// Lets one context reach the plain memory of another one. Who did so before does not matter.
fn open_context(owner: &CudaContext, reader: &CudaContext) -> Result<(), CudaError> {
    bind(reader)?;
    // SAFETY: both contexts are live while their owners are borrowed.
    let opened = unheeding_captures(|| unsafe { sys::cuCtxEnablePeerAccess(owner.cu_ctx(), 0) });
    let back = bind(owner);
    match opened {
        sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => back,
        opened => answer("cuCtxEnablePeerAccess", opened.result()).and(back),
    }
}

#[cfg(test)]
mod tests {
    use super::{Ordering, Peers};

    #[test]
    fn each_device_has_its_bit() {
        let peers = Peers::default();
        for ordinal in [0, 63, 64, 255] {
            assert!(!peers.has(ordinal));
            let (word, bit) = peers.place(ordinal).unwrap();
            word.fetch_or(bit, Ordering::Relaxed);
            assert!(peers.has(ordinal) && !peers.has(ordinal + 1));
        }
        assert!(peers.place(256).is_none() && peers.place(u32::MAX).is_none());
    }
}

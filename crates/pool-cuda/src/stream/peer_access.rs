//! Gives one device's kernels access to the memory of another device's pools. A single driver call
//! enables this access. Which call is required depends on how the memory was allocated.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_driver::chain::Chain;
use pool_driver::context::{check_context, ordinal};
use pool_driver::error::CudaError;

use crate::stream::device::CudaDevice;
use crate::stream::peers::{can_reach, open_context, open_pool};

impl CudaDevice {
    /// Allows another device's kernels to read and write the memory of this device's pools. The
    /// access covers all existing and future pools whose streams belong to this `CudaDevice` or its
    /// clones.
    ///
    /// After this call, views can be passed to streams on the other device with
    /// [`on`](crate::DeviceView::on) and [`record_use`](crate::record_use). `on` and `record_use`
    /// order the two streams as if they belonged to the same device. Without this call, passing a
    /// view to a stream on the other device fails with [`CudaError::WrongDevice`]. Without this
    /// call, a kernel on the other device faults when it accesses an address in this device's
    /// memory. Copies between devices do not need this access.
    ///
    /// To enable access in the opposite direction, call this method on the other device. The access
    /// stays enabled as long as the device's memory pool exists.
    ///
    /// If the device has [no memory pool](Self::without_memory_pool), this call enables access to
    /// all memory allocated in the device's context without a memory pool. Access to memory
    /// allocated without a memory pool stays enabled while both contexts exist. This `CudaDevice`
    /// keeps the other context alive. The blocks of `pool-graph`'s `DeviceMemory` do not come from
    /// a memory pool. To enable access to the blocks of `DeviceMemory`, call this method on
    /// `device.clone().without_memory_pool()`.
    ///
    /// ```no_run
    /// use pool_core::Pool;
    /// use pool_cuda::Cuda;
    ///
    /// let (near, far) = (Cuda::device(0)?, Cuda::device(1)?);
    /// near.grant_peer_access(&far)?;
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
    /// Returns [`CudaError::NotPeers`] if the devices are not connected, or if the system does not
    /// allow the access. Returns [`CudaError::Call`] if the driver does not enable the access, or
    /// [`CudaError::Bookkeeping`] if the host is out of memory.
    pub fn grant_peer_access(&self, peer: &Self) -> Result<(), CudaError> {
        let (owner, reader) = (self.context(), peer.context());
        if owner.cu_device() == reader.cu_device() {
            return Ok(());
        }
        let refused = CudaError::NotPeers { memory: self.ordinal(), reader: peer.ordinal() };
        if !self.peers().can_have(peer.ordinal()) || !can_reach(reader, owner)? {
            return Err(refused);
        }
        match self.memory_pool() {
            Some(pool) => open_pool(pool, owner, reader)?,
            None if self.peers().has(peer.ordinal()) => open_context(owner, reader)?,
            None => {
                let kept = Chain::of(Arc::clone(reader))?;
                open_context(owner, reader)?;
                self.peers().keep(kept);
            }
        }
        self.peers().add(peer.ordinal());
        Ok(())
    }

    /// Checks that work on a stream can access the memory of this device's pools.
    pub(crate) fn check_reach(&self, stream: &CudaStream) -> Result<(), CudaError> {
        if self.peers().has(ordinal(stream.context())) {
            return Ok(());
        }
        check_context(self.context(), stream)
    }
}

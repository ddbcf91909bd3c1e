//! An observer of the blocks that a pool allocates and frees. Tests use it to count blocks and to
//! make allocations fail, and programs use it for logging.

/// An observer of the blocks of a device's pools, which may refuse an allocation. Pass the observer
/// to a backend with its stream: see `watched` of `pool-cuda`'s `DeviceStream` and of `pool-wgpu`'s
/// `Stream`. The observer is never called in steady state.
///
/// A pool calls its observer while it grows or trims. The observer must not use that pool.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use pool_core::BlockWatch;
///
/// /// Refuses blocks beyond a total number of bytes.
/// struct Quota(AtomicUsize);
///
/// impl BlockWatch for Quota {
///     fn admit(&self, bytes: usize) -> bool {
///         bytes <= self.0.load(Ordering::Relaxed)
///     }
///
///     fn allocated(&self, _: u64, bytes: usize) {
///         self.0.fetch_sub(bytes, Ordering::Relaxed);
///     }
///
///     fn freed(&self, _: u64, bytes: usize) {
///         self.0.fetch_add(bytes, Ordering::Relaxed);
///     }
/// }
///
/// let quota = Quota(AtomicUsize::new(1024));
/// assert!(quota.admit(1000));
/// quota.allocated(0x1000, 1000);
/// assert!(!quota.admit(1000));
/// ```
pub trait BlockWatch: 'static {
    /// Called before a block of `bytes` bytes is allocated. Return `false` to refuse the block, as
    /// a device without free memory does. A panic propagates through the acquire.
    fn admit(&self, bytes: usize) -> bool;

    /// Called after a block has been allocated. A panic frees the block, and propagates through the
    /// acquire.
    ///
    /// `identity` is different for all live blocks. It is the address on a CUDA device, and a
    /// number with wgpu.
    fn allocated(&self, identity: u64, bytes: usize);

    /// Called when a block is freed. Work that uses the block may still be enqueued or running. A
    /// panic is caught, because freeing a block must not unwind.
    fn freed(&self, identity: u64, bytes: usize);
}

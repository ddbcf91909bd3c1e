//! An observer of the blocks that a pool takes and gives back: for tests that count blocks and make allocations fail, and
//! for logs.

/// An observer of the blocks of a device's pools, which may refuse a block. A backend takes one with its stream: `watched`
/// of `pool-cuda`'s `DeviceStream` and of `pool-wgpu`'s `Stream`. In steady state there is no call.
///
/// A watch is called amid a growth or a trim of a pool, which it must leave alone.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use pool_core::BlockWatch;
///
/// /// Refuses blocks beyond a number of bytes.
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
    /// Called before a block of `bytes` bytes is allocated. `false` refuses the block, as a device without memory
    /// does. A panic passes through the acquire.
    fn admit(&self, bytes: usize) -> bool;

    /// A block was allocated. A panic gives the block back, and passes through the acquire.
    ///
    /// `identity` tells the block from all others that are live: its address on a CUDA device, its number with wgpu.
    fn allocated(&self, identity: u64, bytes: usize);

    /// A block is given back. Work that uses the block may still be enqueued or run. A panic ends in this call, because
    /// a free has no caller that could unwind.
    fn freed(&self, identity: u64, bytes: usize);
}

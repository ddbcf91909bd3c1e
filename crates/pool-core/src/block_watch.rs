//! Defines an observer that is notified when a pool allocates or frees a block. Tests use observers
//! to count blocks and to make allocations fail, and programs use observers for logging.

/// An observer that is notified when a device's pools allocate or free blocks, and that can refuse
/// an allocation. To pass the observer to a backend along with the stream, call
/// `DeviceStream::watched` in `pool-cuda` or `Stream::watched` in `pool-wgpu`. The observer is
/// never called once the pool has reached a steady state.
///
/// A pool calls its observer only while the pool is growing or being trimmed. The observer must not
/// use the pool that calls it.
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
    /// Decides whether the pool may allocate a block of `bytes` bytes. If the observer returns
    /// `false`, the allocation fails as if the device had no free memory. A panic in this method
    /// propagates to the acquire method's caller.
    fn admit(&self, bytes: usize) -> bool;

    /// Notifies the observer that the pool has allocated a block. If this method panics, the pool
    /// frees the block, and the panic propagates to the acquire method's caller.
    ///
    /// Each live block has a different `identity`. On CUDA, a block's identity is its address; on
    /// wgpu, it is a unique number.
    fn allocated(&self, identity: u64, bytes: usize);

    /// Notifies the observer that the pool is freeing a block. Work that uses the block might still
    /// be enqueued or running when this method is called. The pool catches panics from this method
    /// because freeing a block must not unwind.
    fn freed(&self, identity: u64, bytes: usize);
}

//! The interface of all simulated allocators, and their common arithmetic.

/// The alignment of CUDA's allocations. All simulators round sizes up to this alignment, except for
/// the simulators of PyTorch's allocators.
pub(super) const ALIGNMENT: u64 = 256;

/// The error that there is no room for a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Full;

/// The ID of a pool in PyTorch's allocator. The default pool is `(0, 0)`, and all others are private.
pub(crate) type PoolId = (u64, u64);

/// The default pool.
pub(super) const DEFAULT_POOL: PoolId = (0, 0);

/// An allocator that computes addresses without allocating memory.
pub(crate) trait Simulator: std::fmt::Debug {
    /// Returns the address of a new buffer in a pool. An allocator without private pools ignores the
    /// pool.
    ///
    /// # Errors
    /// Fails if the allocator's rules find no room within the capacity. If the call fails, only
    /// cached memory has changed.
    fn allocate(&mut self, pool: PoolId, buffer: u64, stream: u64, bytes: u64)
    -> Result<u64, Full>;

    /// Releases a private pool. Its segments return to the device once they contain no live buffer.
    fn release_pool(&mut self, pool: PoolId) {
        let _ = pool;
    }

    /// Returns the number of bytes that a pool has taken from the device, or `None` if the allocator
    /// has no private pools.
    fn held_by(&self, pool: PoolId) -> Option<u64> {
        let _ = pool;
        None
    }

    /// Frees a buffer on a stream. A buffer that does not exist is ignored.
    fn free(&mut self, buffer: u64, stream: u64);

    /// Returns the number of bytes that the allocator has taken from the device.
    fn held(&self) -> u64;

    /// Returns the size of a live buffer in bytes, including the bytes that were added by rounding
    /// up.
    fn taken(&self, buffer: u64) -> u64;
}

/// Rounds `bytes` up to a multiple of a power of two.
pub(super) fn round_up(bytes: u64, alignment: u64) -> Result<u64, Full> {
    bytes.checked_next_multiple_of(alignment).ok_or(Full)
}

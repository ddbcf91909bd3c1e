//! Sources of memory: a device, or addresses without memory for tests.

use std::error::Error;

use pool_core::Device;

use crate::base::error::GraphMemoryError;
use crate::base::request::GRANULE;

/// The result of a call of a pool or an arena over `M`.
pub type GraphMemoryResult<T, M> = Result<T, GraphMemoryError<<M as MemorySource>::Error>>;

/// A source of memory at fixed addresses, for [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool)
/// and [`CudaArena`](crate::CudaArena).
///
/// Neither ever holds a lock while it calls a source, so a source may block, and may query the
/// pool's statistics. It must not allocate from the pool that it serves; a hook of the host's
/// allocator that runs meanwhile may.
///
/// # Safety
///
/// Captured graphs read and write at the addresses of [`allocate`](Self::allocate), so:
///
/// 1. `[address, address + bytes)` belongs to the caller alone until it is freed: no two such
///    ranges overlap.
/// 2. `address` is a multiple of [`SOURCE_ALIGNMENT`](crate::SOURCE_ALIGNMENT), is not 0, and the
///    range ends before `u64::MAX`. (This one is checked, and a violation is an error.)
/// 3. The memory does not move, and its pages stay, until [`free`](Self::free).
/// 4. Both may be called from any thread that may have the source.
pub unsafe trait MemorySource {
    /// The error of an allocation.
    type Error: Error + Send + Sync + 'static;

    /// Returns the device of the memory.
    fn device(&self) -> Device;

    /// Allocates `bytes` bytes, a multiple of [`SOURCE_ALIGNMENT`](crate::SOURCE_ALIGNMENT) above
    /// 0, and returns their address.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. Nothing is allocated then.
    fn allocate(&self, bytes: u64) -> Result<u64, Self::Error>;

    /// Frees memory. Returns `true` if it is free now. A source that cannot free memory now keeps
    /// it, and frees it later. It must not unwind.
    ///
    /// # Safety
    ///
    /// `address` and `bytes` must be those of one [`allocate`](Self::allocate) of this source (or
    /// of a clone of it that shares its memory), and must not be freed. Nothing may use the range
    /// any more: no enqueued work, and no graph.
    unsafe fn free(&self, address: u64, bytes: u64) -> bool;
}

/// Returns `true` if a source may return this address for `bytes` bytes, by the second point of its
/// contract.
pub(crate) fn is_good_address(address: u64, bytes: u64) -> bool {
    let aligned = address.checked_next_multiple_of(GRANULE) == Some(address);
    address != 0 && aligned && address.checked_add(bytes).is_some()
}

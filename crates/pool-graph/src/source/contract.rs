//! Sources of memory: a device, or addresses without memory for tests.

use std::error::Error;

use pool_core::Device;

use crate::base::error::GraphMemoryError;
use crate::base::request::GRANULE;

/// The result of a method of a pool or an arena over `M`.
pub type GraphMemoryResult<T, M> = Result<T, GraphMemoryError<<M as MemorySource>::Error>>;

/// A source of memory at fixed addresses, for [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool)
/// and [`CudaArena`](crate::CudaArena).
///
/// Pools and arenas never hold a lock while they call a source. A source may therefore block, and
/// may query the pool's statistics. It must not allocate from the pool that it serves. A hook of
/// the host's allocator that runs during the call may do so.
///
/// # Safety
///
/// Captured graphs read and write memory at the addresses that [`allocate`](Self::allocate)
/// returns. An implementation must therefore ensure:
///
/// 1. `[address, address + bytes)` belongs only to the caller until it is freed: no two such
///    ranges overlap.
/// 2. `address` is a multiple of [`SOURCE_ALIGNMENT`](crate::SOURCE_ALIGNMENT) and not 0, and the
///    range ends before `u64::MAX`. (This is checked, and a violation is reported as an error.)
/// 3. The memory does not move, and its pages stay mapped, until [`free`](Self::free).
/// 4. Any thread that can access the source may call both methods.
pub unsafe trait MemorySource {
    /// The error that a failed allocation returns.
    type Error: Error + Send + Sync + 'static;

    /// Returns the device that holds the memory.
    fn device(&self) -> Device;

    /// Allocates `bytes` bytes and returns their address. `bytes` is a positive multiple of
    /// [`SOURCE_ALIGNMENT`](crate::SOURCE_ALIGNMENT).
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory. Nothing is allocated then.
    fn allocate(&self, bytes: u64) -> Result<u64, Self::Error>;

    /// Frees memory. Returns `true` if the memory has been freed. If the source cannot free the
    /// memory yet, it keeps the memory and frees it later. This method must not unwind.
    ///
    /// # Safety
    ///
    /// `address` and `bytes` must come from a single [`allocate`](Self::allocate) call on this
    /// source, or on a clone that shares its memory. The range must not have been freed already.
    /// Nothing may use the range any more, neither enqueued work nor a graph.
    unsafe fn free(&self, address: u64, bytes: u64) -> bool;
}

/// Returns `true` if a source may return this address for `bytes` bytes, according to point 2 of
/// its contract.
pub(crate) fn is_good_address(address: u64, bytes: u64) -> bool {
    let aligned = address.checked_next_multiple_of(GRANULE) == Some(address);
    address != 0 && aligned && address.checked_add(bytes).is_some()
}

//! Where memory comes from: a device, or addresses without memory for tests.

use std::error::Error;

use pool_core::Device;

use crate::base::error::GraphMemoryError;
use crate::base::request::GRANULE;

/// What the calls of a pool or an arena over `M` answer.
pub type GraphMemoryResult<T, M> = Result<T, GraphMemoryError<<M as MemorySource>::Error>>;

/// A source of memory at addresses that stay: what [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool)
/// and [`CudaArena`](crate::CudaArena) take their memory from.
///
/// Neither ever holds a lock while it calls a source, so a source may block, and may ask the pool for
/// its numbers. It must not allocate from the pool that it serves; a hook of the host's allocator that runs
/// meanwhile may.
///
/// # Safety
///
/// The addresses of [`allocate`](Self::allocate) are what captured graphs read and write, so:
///
/// 1. `[address, address + bytes)` belongs to whoever asked, and to nobody else, until it is freed:
///    no two such ranges overlap.
/// 2. `address` is a multiple of [`SOURCE_ALIGNMENT`](crate::SOURCE_ALIGNMENT), is not 0, and the range ends before
///    `u64::MAX`. (This one is checked, and answered with an error.)
/// 3. The memory does not move, and its pages stay, until [`free`](Self::free).
/// 4. Both may be called from any thread that may have the source.
pub unsafe trait MemorySource {
    /// Why there is no memory.
    type Error: Error + Send + Sync + 'static;

    /// Where the memory is.
    fn device(&self) -> Device;

    /// Memory of `bytes` bytes, a multiple of [`SOURCE_ALIGNMENT`](crate::SOURCE_ALIGNMENT) above 0; its address.
    ///
    /// # Errors
    ///
    /// When there is none to be had. Nothing is allocated then.
    fn allocate(&self, bytes: u64) -> Result<u64, Self::Error>;

    /// Takes memory back; returns whether it is free now. A source that cannot free memory now keeps it, and frees it
    /// later. It must not unwind.
    ///
    /// # Safety
    ///
    /// `address` and `bytes` are those of one [`allocate`](Self::allocate) of this source (or of a
    /// clone of it that shares its memory), were not freed before, and nothing uses the range any
    /// more: no work that was enqueued, and no graph.
    unsafe fn free(&self, address: u64, bytes: u64) -> bool;
}

/// Whether a source may give this address for so many bytes, by the second point of its contract.
pub(crate) fn is_good_address(address: u64, bytes: u64) -> bool {
    let aligned = address.checked_next_multiple_of(GRANULE) == Some(address);
    address != 0 && aligned && address.checked_add(bytes).is_some()
}

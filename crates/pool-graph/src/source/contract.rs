//! The trait that memory sources implement. A source provides either device memory or, in tests,
//! addresses that do not refer to real memory.

use std::error::Error;

use pool_core::Device;

use crate::base::error::GraphMemoryError;
use crate::base::request::GRANULE;

/// The result type of pool and arena methods, for the memory source `M`.
pub type GraphMemoryResult<T, M> = Result<T, GraphMemoryError<<M as MemorySource>::Error>>;

/// A source of memory at fixed addresses, for [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool)
/// and [`CudaArena`](crate::CudaArena).
///
/// A pool or arena never holds a lock while calling its source. A source may therefore block and
/// may read the statistics of the pool that called it. A source must not allocate from the pool
/// that called it. However, a hook in the host's allocator might allocate from the pool during the
/// call.
///
/// # Safety
///
/// Captured graphs read and write memory at the addresses that [`allocate`](Self::allocate)
/// returns. An implementation must therefore meet the following conditions:
///
/// - Until the range `[address, address + bytes)` is freed, it belongs only to the caller and
///   overlaps no other allocated range.
/// - `address` is a nonzero multiple of [`SOURCE_ALIGNMENT`](crate::SOURCE_ALIGNMENT), and the
///   range ends before `u64::MAX`. (The pool checks these conditions and returns an error if one of
///   them does not hold.)
/// - The memory keeps its address, and its pages stay mapped, until the memory is
///   [freed](Self::free).
/// - Any thread with access to the source may call both `allocate` and `free`.
pub unsafe trait MemorySource {
    /// The error type for failed allocations.
    type Error: Error + Send + Sync + 'static;

    /// Returns the device that holds the memory.
    fn device(&self) -> Device;

    /// Allocates `bytes` bytes and returns their address. `bytes` is a positive multiple of
    /// [`SOURCE_ALIGNMENT`](crate::SOURCE_ALIGNMENT).
    ///
    /// # Errors
    ///
    /// Returns an error if the source does not have enough memory. If the call fails, nothing has
    /// been allocated.
    fn allocate(&self, bytes: u64) -> Result<u64, Self::Error>;

    /// Frees a range of memory. Returns `true` if the memory has been freed. If the source cannot
    /// free the memory immediately, it returns `false` and frees it later. This method must not
    /// unwind.
    ///
    /// # Safety
    ///
    /// `address` and `bytes` must come from the same [`allocate`](Self::allocate) call on this
    /// source, or on a clone that shares its memory. The range must not have been freed already.
    /// Neither enqueued work nor a graph may use the range after this call.
    unsafe fn free(&self, address: u64, bytes: u64) -> bool;
}

/// Returns `true` if the safety contract of [`MemorySource`] allows this address for an allocation
/// of `bytes` bytes.
pub(crate) fn is_good_address(address: u64, bytes: u64) -> bool {
    let aligned = address.checked_next_multiple_of(GRANULE) == Some(address);
    address != 0 && aligned && address.checked_add(bytes).is_some()
}

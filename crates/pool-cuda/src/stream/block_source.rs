//! Sources of a pool's blocks other than the device. By this hook a pool on a captured stream takes
//! memory that the graph will own.

use cudarc::driver::CudaStream;
use pool_driver::error::CudaError;

/// Memory that a [`DeviceStream`](crate::DeviceStream) passes to its pool in place of the device's
/// own ([`DeviceStream::from_source`](crate::DeviceStream::from_source)). A source makes no call of
/// the driver, so that its pool works while the pool's stream is captured.
///
/// The owner of a capture, such as `pool-graph`, implements this trait. The pool's scopes are used
/// as usual.
///
/// # Safety
///
/// - The address returned by [`allocate`](Self::allocate) is a multiple of 256, in the context of
///   the source's stream. The memory there belongs to no other owner, for the bytes of the pool's
///   views, until it is [freed](Self::free). It stays valid for as long as work put on the stream
///   until then may run: for a captured stream, as long as the graph.
/// - Alternatively, [`is_dry`](Self::is_dry) returns `true`. Then the addresses have no memory, and
///   work put on the stream is never run.
/// - Memory of sources with the same [`owner`](Self::owner) belongs to the same capture, and has
///   the same lifetime.
/// - No method unwinds or uses the pool.
pub unsafe trait BlockSource: Send + 'static {
    /// Returns the owner of the source's memory. Views of two pools can be copied to each other
    /// only if both have the same owner.
    fn owner(&self) -> u64;

    /// Returns `true` if the addresses have no memory, because no work is run. Then fills and
    /// copies are left out, and pointers are returned for the pool's own stream alone.
    fn is_dry(&self) -> bool;

    /// Returns `true` if the pool's stream is captured for as long as the pool lives. Then
    /// operations that wait on the host, or copy host memory without an owner, are refused. A source
    /// of memory for eager work returns `false`.
    fn is_captured(&self) -> bool {
        true
    }

    /// Returns the address of `bytes` bytes, a multiple of 256.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoBlock`], or another reason for which there is no memory.
    fn allocate(&self, bytes: usize) -> Result<u64, CudaError>;

    /// Takes back the bytes at an address.
    ///
    /// # Safety
    ///
    /// The address must come from [`allocate`](Self::allocate) and must not be freed. All uses of
    /// the memory must precede later work on the pool's stream.
    unsafe fn free(&self, address: u64);

    /// Checks that another stream may be, or become, a part of the capture. It is called before
    /// that stream is ordered after the pool's stream, to use memory of the pool. It is not called
    /// for a source that is dry, or not captured.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capturing`] if the stream may not.
    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError>;

    /// Puts a copy of these bytes on the pool's stream: elements of fills, and shapes. Every run of
    /// a graph captured from the stream repeats the copy, so the source keeps the bytes. A dry
    /// source does nothing.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    ///
    /// # Safety
    ///
    /// The address must have that many allocated bytes. The caller must own the right to write them
    /// in the order of the pool's stream.
    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError>;
}

//! Sources of a pool's blocks other than the device. Through a source, a pool on a captured stream
//! obtains memory that the graph will own.

use cudarc::driver::{CudaFunction, CudaStream};
use pool_driver::error::CudaError;

/// Provides a [`DeviceStream`](crate::DeviceStream)'s pool with memory in place of the device
/// ([`DeviceStream::from_source`](crate::DeviceStream::from_source)). A source never calls the
/// driver, so its pool also works while the pool's stream is captured.
///
/// This trait is implemented by the owner of a capture, such as `pool-graph`. The pool's scopes
/// work as usual.
///
/// # Safety
///
/// - The address returned by [`allocate`](Self::allocate) is a multiple of 256, and valid in the
///   context of the source's stream. Until the memory is [freed](Self::free), no other owner uses
///   the bytes of the pool's views. The memory stays valid for as long as work enqueued on the
///   stream before the free may run; for a captured stream, that is as long as the graph exists.
/// - Alternatively, [`is_dry`](Self::is_dry) returns `true`. The addresses then refer to no memory,
///   and work enqueued on the stream never runs.
/// - Memory of sources with the same [`owner`](Self::owner) belongs to the same capture and lives
///   equally long.
/// - If the stream is [captured](Self::is_captured), the module of each function passed to
///   [`keep_function`](Self::keep_function) stays loaded for as long as the graph, or anything
///   instantiated from it, exists.
/// - No method unwinds or uses the pool.
pub unsafe trait BlockSource: Send + 'static {
    /// Returns the owner of the source's memory. Views of two pools can be copied to each other
    /// only if both pools have the same owner.
    fn owner(&self) -> u64;

    /// Returns `true` if the addresses refer to no memory because no work runs. Fills and copies
    /// are then omitted, and pointers are returned only for the pool's own stream.
    fn is_dry(&self) -> bool;

    /// Returns `true` if the pool's stream is captured during the whole life of the pool.
    /// Operations that wait on the host, or that copy host memory without an owner, are then
    /// refused. A source of memory for eager work returns `false`.
    fn is_captured(&self) -> bool {
        true
    }

    /// Returns the address of `bytes` bytes; the address is a multiple of 256.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NoBlock`], or another error that explains why no memory is available.
    fn allocate(&self, bytes: usize) -> Result<u64, CudaError>;

    /// Takes back the memory at an address.
    ///
    /// # Safety
    ///
    /// The address must come from [`allocate`](Self::allocate) and must not have been freed. All
    /// uses of the memory must precede later work on the pool's stream.
    unsafe fn free(&self, address: u64);

    /// Checks that another stream is part of the capture or may join it. The pool calls this method
    /// before it orders that stream after its own stream to use memory of the pool. It does not
    /// call the method for a source that is dry or not captured.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Capturing`] if the stream may not join.
    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError>;

    /// Keeps the module of a function loaded, because the captured stream is about to launch it. The
    /// nodes of a graph do not keep the module loaded, and a replay after the unload crashes the
    /// process. A clone of the function does. The pool does not call this method for a source that
    /// is not captured. A source that cannot keep the function must make the capture fail.
    fn keep_function(&self, function: &CudaFunction);

    /// Enqueues a copy of these bytes on the pool's stream. The bytes are elements of fills, or
    /// shapes. Every launch of a graph captured from the stream repeats the copy, so the source
    /// must keep the bytes. A dry source does nothing.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    ///
    /// # Safety
    ///
    /// The address must refer to at least this number of allocated bytes. The caller must have the
    /// right to write them in stream order on the pool's stream.
    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError>;
}

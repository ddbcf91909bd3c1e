//! Sources that provide a pool's blocks in place of the device. With a source, a pool on a captured
//! stream can acquire memory that the graph will own.

use cudarc::driver::{CudaFunction, CudaStream};
use pool_driver::error::CudaError;

/// Provides the pool of a [`DeviceStream`](crate::DeviceStream) with memory that does not come from
/// the device; see [`DeviceStream::from_source`](crate::DeviceStream::from_source). Allocating from
/// a source never calls the driver, so the pool also works while its stream is captured.
///
/// The owner of a capture, such as `pool-graph`, implements this trait. Scopes of a pool with a
/// source work as usual.
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
    /// Returns the owner of the source's memory. Elements can be copied between the views of two
    /// pools only if both pools have the same owner.
    fn owner(&self) -> u64;

    /// Returns `true` if the returned addresses refer to no memory because the enqueued work is
    /// never executed. If the source is dry, the pool omits fills and copies, and returns pointers
    /// only for its own stream.
    fn is_dry(&self) -> bool;

    /// Returns `true` if the pool's stream is being captured during the whole lifetime of the pool.
    /// A pool with a captured source refuses operations that wait on the host, and refuses to copy
    /// host memory that has no owner. A source that provides memory for eager work returns `false`.
    fn is_captured(&self) -> bool {
        true
    }

    /// Allocates `bytes` bytes, and returns their address, which is a multiple of 256.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NoBlock`], or another error that explains why no memory is available.
    fn allocate(&self, bytes: usize) -> Result<u64, CudaError>;

    /// Returns the memory at this address to the source.
    ///
    /// # Safety
    ///
    /// The address must come from [`allocate`](Self::allocate) and must not have been freed. All
    /// uses of the memory must come before the pool's later work on its stream.
    unsafe fn free(&self, address: u64);

    /// Checks that another stream belongs to the capture or may join the capture. The pool calls
    /// this method before it orders another stream after its own stream so that the other stream
    /// can use the pool's memory. If the source is dry or not captured, the pool does not call this
    /// method.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Capturing`] if the stream may not join the capture.
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
    /// At least `bytes.len()` bytes must be allocated at the address. The caller must have the
    /// right to write these bytes in stream order on the pool's stream.
    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError>;
}

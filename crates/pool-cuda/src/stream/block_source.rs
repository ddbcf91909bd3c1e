//! Defines block sources, which provide a pool's blocks in place of the device. A pool with a block
//! source can acquire memory while its stream is being captured. After the capture, the graph owns
//! this memory.

use cudarc::driver::{CudaFunction, CudaStream};
use pool_driver::error::CudaError;

/// A source from which a [`DeviceStream`](crate::DeviceStream)'s pool allocates memory, instead of
/// allocating it from the device. See
/// [`DeviceStream::from_source`](crate::DeviceStream::from_source). A source allocates without
/// calling the driver, so the pool can allocate while its stream is being captured.
///
/// Crates that manage captures, such as `pool-graph`, implement this trait. Scopes of a pool with a
/// source behave like all other scopes.
///
/// # Safety
///
/// - The address that [`allocate`](Self::allocate) returns is a multiple of 256 and is valid in the
///   context of the source's stream. Until the memory is [freed](Self::free), no other owner uses
///   the bytes that the pool's views cover. The memory stays valid until all work enqueued on the
///   stream before the free has completed. If the stream is captured, the memory stays valid as
///   long as the graph exists.
/// - A dry source ([`is_dry`](Self::is_dry)) is not required to provide these guarantees. In a dry
///   source, addresses do not refer to real memory, and enqueued work never runs.
/// - All memory from sources with the same [`owner`](Self::owner) belongs to one capture and has
///   the same lifetime.
/// - If the stream is [captured](Self::is_captured), the module of each function passed to
///   [`keep_function`](Self::keep_function) stays loaded. The module stays loaded as long as the
///   graph or any executable graph instantiated from it exists.
/// - No method of a source panics or uses the pool.
pub unsafe trait BlockSource: Send + 'static {
    /// Returns the owner of the source's memory. Elements can be copied between views from two
    /// pools only if the pools have the same owner.
    fn owner(&self) -> u64;

    /// Returns `true` if enqueued work never runs and the returned addresses do not refer to real
    /// memory. With a dry source, the pool skips all fills and copies, and returns pointers only
    /// for its own stream.
    fn is_dry(&self) -> bool;

    /// Returns `true` if the pool's stream is being captured during the pool's whole lifetime. A
    /// pool with a captured source rejects operations that would block the host. The pool also
    /// rejects copies from host memory that the source cannot keep alive. A source that provides
    /// memory for work outside a capture returns `false`.
    fn is_captured(&self) -> bool {
        true
    }

    /// Allocates `bytes` bytes and returns their address, which is a multiple of 256.
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
    /// uses of the memory must precede any work that the pool enqueues on its stream after this
    /// call.
    unsafe fn free(&self, address: u64);

    /// Checks that another stream belongs to the capture or may join it. The pool calls this method
    /// before another stream waits for the pool's stream in order to use the pool's memory. The
    /// pool calls this method only if the source is captured and not dry.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Capturing`] if the stream must not join the capture.
    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError>;

    /// Keeps a function's module loaded. The pool calls this method before it captures a launch of
    /// the function. A graph's nodes do not keep the function's module loaded. If the graph is
    /// launched after the module has been unloaded, the process crashes. Storing a clone of the
    /// function is sufficient to keep the module loaded. The pool calls this method only if the
    /// source is captured. If a source cannot keep the module loaded, it must make the capture
    /// fail.
    fn keep_function(&self, function: &CudaFunction);

    /// Enqueues a copy of the given bytes on the pool's stream. The bytes are either the data of a
    /// shape or the elements of a fill. Every launch of the captured graph performs the copy again,
    /// so the source must retain the bytes. If the source is dry, this method does nothing.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    ///
    /// # Safety
    ///
    /// At least `bytes.len()` bytes must be allocated at the address. The caller must be permitted
    /// to write these bytes in stream order on the pool's stream.
    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError>;
}

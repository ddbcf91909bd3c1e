//! Where a pool's blocks come from when they do not come from the device: the hook through which a pool on a stream
//! that is captured into a graph takes memory that the graph will own.

use cudarc::driver::CudaStream;
use pool_driver::error::CudaError;

/// Memory that a [`DeviceStream`](crate::DeviceStream) hands to its pool instead of the device's own
/// ([`DeviceStream::from_source`](crate::DeviceStream::from_source)). A source asks the driver for nothing, so
/// that its pool works while the pool's stream is captured.
///
/// Sources are made by those who own a capture, as `pool-graph` does; a pool is used through its scopes
/// as always.
///
/// # Safety
///
/// - The address that [`allocate`](Self::allocate) answers is a multiple of 256, and of the context of the stream
///   that the source is given to. The memory there is nobody else's, for as many bytes as the pool's views will have,
///   until it is [freed](Self::free); and it stays memory for as long as work that is put on the stream
///   until then may run: where the stream is captured, for as long as the graph.
/// - Or else [`is_dry`](Self::is_dry) answers true: then the addresses are of no memory, and what is put on the
///   stream is never run.
/// - Memory of sources with the same [`owner`](Self::owner) belongs to the same capture, and lives as long.
/// - No method unwinds or uses the pool.
pub unsafe trait BlockSource: Send + 'static {
    /// Whose memory the source hands out. Views of two pools meet in a copy only where both have the same owner.
    fn owner(&self) -> u64;

    /// Whether there is no memory behind the addresses, because nothing is run: fills and copies are then
    /// left out, and pointers are given out for the pool's own stream alone.
    fn is_dry(&self) -> bool;

    /// Whether the pool's stream is captured for as long as the pool lives: then what waits on the host, and what copies
    /// host memory that nobody keeps, is refused. A source of memory that is used eagerly says no.
    fn is_captured(&self) -> bool {
        true
    }

    /// The address of so many bytes, a multiple of 256.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoBlock`], or why else there is no memory.
    fn allocate(&self, bytes: usize) -> Result<u64, CudaError>;

    /// Takes the bytes at an address back.
    ///
    /// # Safety
    ///
    /// The address came from [`allocate`](Self::allocate) and was not freed, and whatever uses the memory comes before
    /// all that is put on the pool's stream from now on.
    unsafe fn free(&self, address: u64);

    /// Asked before another stream is made to come after the pool's stream, to use memory of the pool: whether
    /// that other stream may be, or become, a part of the capture. Not asked where the source is dry or not captured.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capturing`] where the stream may not.
    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError>;

    /// Puts a copy of these bytes on the pool's stream: elements of fills, and shapes. Every run of a graph that is
    /// captured from the stream repeats the copy, so the source keeps the bytes. Does nothing where the source is dry.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    ///
    /// # Safety
    ///
    /// As many bytes were allocated at the address, and writing them in the order of the pool's stream is
    /// the caller's right.
    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError>;
}

//! Where a pool's blocks come from when not from the device: the hook through which a pool on a stream
//! that is captured into a graph takes memory that the graph will own.

use cudarc::driver::CudaStream;

use crate::driver::error::CudaError;

/// Memory that a [`DeviceStream`](crate::DeviceStream) hands to its pool instead of the device's own
/// ([`DeviceStream::of_source`](crate::DeviceStream::of_source)). It asks the driver for nothing, so
/// that a pool of it works while its stream is captured.
///
/// Sources are made by those who own a capture, as `pool-graph` does; a pool is used through its scopes
/// as always.
///
/// # Safety
///
/// - What [`allocate`](Self::allocate) answers is a multiple of 256, and of the context of the stream
///   that the source is given to. It is nobody else's, for as many bytes as the pool's views will have,
///   until it is [freed](Self::free); and it stays memory for as long as work that is put on the stream
///   until then may run: where the stream is captured, for as long as the graph.
/// - Or else [`is_dry`](Self::is_dry): then its addresses are of no memory, and what is put on the stream
///   is never run.
/// - What has the same [`owner`](Self::owner) belongs to the same capture, and lives as long.
/// - No method unwinds or uses the pool.
pub unsafe trait BlockSource: Send + 'static {
    /// Whose memory it is. Views of two pools meet in a copy only where both have the same owner.
    fn owner(&self) -> u64;

    /// Whether there is no memory behind the addresses, because nothing is run: fills and copies are then
    /// left out, and pointers are given out for the pool's own stream alone.
    fn is_dry(&self) -> bool;

    /// The address of so many bytes, a multiple of 256.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoBlock`], or what else there is to say.
    fn allocate(&self, bytes: usize) -> Result<u64, CudaError>;

    /// Takes bytes back.
    ///
    /// # Safety
    ///
    /// The address came from [`allocate`](Self::allocate), was not freed, and what uses it comes before
    /// whatever is put on the pool's stream from now on.
    unsafe fn free(&self, address: u64);

    /// Asked before another stream is made to come after the pool's, to use memory of the pool: whether
    /// that stream may be, or become, a part of the capture. Not asked where the source is dry.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capturing`] where it may not.
    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError>;

    /// Puts a copy of these bytes on the pool's stream, which every run of it repeats: elements of fills,
    /// and shapes. The source keeps what the copy reads. Does nothing where it is dry.
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

//! Who is told of the blocks that a pool takes and gives back, and may refuse them: for tests that count
//! blocks and make allocations fail, and for logs.

/// A watch is told of every block of a [`DeviceStream`](crate::DeviceStream)'s pool
/// ([`DeviceStream::watched`](crate::DeviceStream::watched)). In steady state there is no call.
///
/// A watch is called amid a growth or a trim of that pool, which it must leave alone.
pub trait BlockWatch: Send + 'static {
    /// A block of so many bytes is wanted. The answer false refuses the block, as a device without memory would; a
    /// panic passes through the acquire.
    fn admit(&self, bytes: usize) -> bool;

    /// A block was allocated. A panic gives the block back, and passes through the acquire.
    fn allocated(&self, address: u64, bytes: usize);

    /// A block is given back. Work that uses the block may still be enqueued. A panic goes no further than this call:
    /// freeing has nobody to unwind to.
    fn freed(&self, address: u64, bytes: usize);
}

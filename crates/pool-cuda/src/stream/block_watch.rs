//! Who is told of the blocks that a pool takes and gives back, and may refuse them: for tests that count
//! blocks and make allocations fail, and for logs.

/// Is told of every block of a [`DeviceStream`](crate::DeviceStream)'s pool
/// ([`DeviceStream::watched`](crate::DeviceStream::watched)). In steady state there is none.
///
/// It is called amid a growth or a trim of that pool, which it must leave alone.
pub trait BlockWatch: Send + 'static {
    /// A block of so many bytes is wanted. False refuses it, as a device without memory would; a panic
    /// passes through the acquire.
    fn admit(&self, bytes: usize) -> bool;

    /// A block was allocated. A panic gives it back, and passes through the acquire.
    fn allocated(&self, address: u64, bytes: usize);

    /// A block is given back. What uses it may still be enqueued. A panic ends here: nobody is there to hear it.
    fn freed(&self, address: u64, bytes: usize);
}

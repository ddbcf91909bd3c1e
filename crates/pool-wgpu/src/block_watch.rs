//! Who is told of the blocks that a pool takes and gives back, and may refuse them: for tests that count
//! blocks and make allocations fail, and for logs.

/// A watch is told of every block of the pools of a [`Stream`](crate::Stream)
/// ([`Stream::watched`](crate::Stream::watched)). In steady state there is no call.
///
/// A watch is called amid a growth or a trim of a pool, which it must leave alone.
pub trait BlockWatch: Send + Sync + 'static {
    /// A block of so many bytes is wanted. The answer false refuses the block, as a device without memory would; a
    /// panic passes through the acquire.
    fn admit(&self, bytes: usize) -> bool;

    /// A block was allocated. A panic gives the block back, and passes through the acquire.
    ///
    /// `identity` is the block's number, as [`BufferView::identity`](crate::BufferView::identity) counts.
    fn allocated(&self, identity: u64, bytes: usize);

    /// A block is given back. Work that uses the block may still be recorded or run. A panic goes no further than this
    /// call: freeing has nobody to unwind to.
    fn freed(&self, identity: u64, bytes: usize);
}

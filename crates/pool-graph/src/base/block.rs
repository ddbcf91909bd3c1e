//! Blocks of a pool: a range of bytes at a fixed address, and its name.

use std::fmt;

/// The name of a block: never reused, in any pool of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId {
    pub(crate) pool: u64,
    pub(crate) serial: u64,
    /// The pool's slot of the block; meaningless without the other two.
    pub(crate) slot: u32,
}

impl BlockId {
    /// Returns the block's number: blocks of one pool are counted from 0, in the order of
    /// allocation.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.serial
    }

    /// Returns the number of the pool that allocated it.
    #[must_use]
    pub const fn pool(self) -> u64 {
        self.pool
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} of pool {}", self.serial, self.pool)
    }
}

/// The owner of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockState {
    /// The code that allocated it, which may return it.
    Allocated,
    /// Captured graphs, through leases; it stays until the last of them is dropped.
    Leased,
}

/// A block of graph memory, by value, as it was at the request.
///
/// It is a name and an address, and owns nothing. A [`reset`](crate::CUDAGraphMemoryPool::reset)
/// makes it stale, which every use of its [`id`](Self::id) detects. Access at its address is as
/// unsafe as at any other raw address, and the caller orders it on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphMemoryBlock {
    pub(crate) id: BlockId,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) state: BlockState,
}

impl GraphMemoryBlock {
    /// Returns the block's name.
    #[must_use]
    pub const fn id(&self) -> BlockId {
        self.id
    }

    /// Returns its address on the device, a `CUdeviceptr`: a multiple of its alignment, and of 256.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns the block's requested bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the block's requested alignment in bytes.
    #[must_use]
    pub const fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Returns the owner at the time when this value was made.
    #[must_use]
    pub const fn state(&self) -> BlockState {
        self.state
    }
}

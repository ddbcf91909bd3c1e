//! What a pool hands out: a range of bytes at an address that stays, and its name.

use std::fmt;

/// The name of a block: never given a second time, in no pool of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId {
    pub(crate) pool: u64,
    pub(crate) serial: u64,
    /// The slot of the pool that has the block; says nothing without the other two.
    pub(crate) slot: u32,
}

impl BlockId {
    /// The block's number: blocks of one pool are counted from 0, in the order of allocation.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.serial
    }

    /// The number of the pool that handed it out.
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

/// Who has a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockState {
    /// Whoever allocated it; may be returned.
    Allocated,
    /// Captured graphs, through leases; stays until the last of them goes.
    Leased,
}

/// A block of graph memory: what it was when it was asked for, by value.
///
/// It is a name and an address, and owns nothing: keeping it over a
/// [`reset`](crate::CUDAGraphMemoryPool::reset) makes it stale, which every use of its
/// [`id`](Self::id) notices. To read or write at its address is as unsafe as with any other raw
/// address, and is the caller's to order on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphMemoryBlock {
    pub(crate) id: BlockId,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) state: BlockState,
}

impl GraphMemoryBlock {
    /// The block's name.
    #[must_use]
    pub const fn id(&self) -> BlockId {
        self.id
    }

    /// Its address on the device, as a `CUdeviceptr` says it: a multiple of its alignment, and of 256.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// The block's bytes, as asked for.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The block's alignment in bytes, as asked for.
    #[must_use]
    pub const fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Who had it when this value was made.
    #[must_use]
    pub const fn state(&self) -> BlockState {
        self.state
    }
}

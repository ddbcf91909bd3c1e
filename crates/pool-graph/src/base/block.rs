//! The blocks of a pool. Each block is a range of bytes at a fixed address and has a unique ID.

use std::fmt;

/// The ID of a block. No two blocks in a process ever have the same ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId {
    pub(crate) pool: u64,
    pub(crate) serial: u64,
    /// The index of the block's record in the pool. The index can later be reused for another
    /// block.
    pub(crate) slot: u32,
}

impl BlockId {
    /// Returns the block's number. A pool numbers its blocks from 0 in allocation order.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.serial
    }

    /// Returns the number that identifies the pool from which the block was allocated.
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
    /// The code that allocated the block owns it. Only the owner may return the block.
    Allocated,
    /// One or more leases keep the block alive for captured graphs. The block stays at its address
    /// until its last lease is dropped.
    Leased,
}

/// A snapshot of a block's state, taken when the block was allocated or looked up.
///
/// A `GraphMemoryBlock` contains an ID and an address, but does not own any memory.
/// [`reset`](crate::CUDAGraphMemoryPool::reset) makes all of the pool's `GraphMemoryBlock` values
/// stale, and methods that receive a stale [`id`](Self::id) return an error. Reading or writing
/// memory through the address is just as unsafe as using a raw pointer. The caller must also order
/// these accesses on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphMemoryBlock {
    pub(crate) id: BlockId,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) state: BlockState,
}

impl GraphMemoryBlock {
    /// Returns the block's ID.
    #[must_use]
    pub const fn id(&self) -> BlockId {
        self.id
    }

    /// Returns the block's device address as a `CUdeviceptr`. The address is a multiple of 256 and
    /// of the block's alignment.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns the block's requested size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the block's requested alignment in bytes.
    #[must_use]
    pub const fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Returns the owner that the block had when this value was created.
    #[must_use]
    pub const fn state(&self) -> BlockState {
        self.state
    }
}

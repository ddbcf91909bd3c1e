//! The blocks of a pool. Each is a range of bytes at a fixed address, with an ID.

use std::fmt;

/// The ID of a block. It is never reused, in any pool of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId {
    pub(crate) pool: u64,
    pub(crate) serial: u64,
    /// The block's slot in the pool. It has no meaning without the pool and the serial number.
    pub(crate) slot: u32,
}

impl BlockId {
    /// Returns the block's number. The blocks of a pool are numbered from 0, in the order of
    /// allocation.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.serial
    }

    /// Returns the number of the pool that allocated the block.
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
    /// The block belongs to the code that allocated it, which may return it.
    Allocated,
    /// The block belongs to captured graphs through leases. It stays until the last of these leases
    /// is dropped.
    Leased,
}

/// A copy of a block's data, as it was when the block was allocated or looked up.
///
/// The value consists of an ID and an address, and owns nothing. A
/// [`reset`](crate::CUDAGraphMemoryPool::reset) makes the value stale, and every use of its
/// [`id`](Self::id) detects that. Accessing memory through the address is as unsafe as with any raw
/// address. The caller must order the accesses on a stream.
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

    /// Returns the block's address on the device, a `CUdeviceptr`. It is a multiple of 256 and of
    /// the block's alignment.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns the requested size of the block in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the block's requested alignment in bytes.
    #[must_use]
    pub const fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Returns the owner of the block when this value was created.
    #[must_use]
    pub const fn state(&self) -> BlockState {
        self.state
    }
}

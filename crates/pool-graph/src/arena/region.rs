//! Regions of an arena, and the result of a deallocation.

/// A region of an arena: an address, which owns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArenaRegion {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) resets: u64,
}

/// The result of a deallocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Deallocation {
    /// A region of this arena.
    Region {
        /// The bytes of the region, rounded up.
        bytes: u64,
    },
    /// No live region begins at the address. The call was counted.
    Foreign,
}

impl ArenaRegion {
    /// Returns its address on the device, a `CUdeviceptr`: a multiple of 256.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns its requested bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns its offset in the arena.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of the arena's resets before its allocation.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.resets
    }
}

//! Regions of an arena, and the result of a deallocation.

/// A region of an arena. The value is only an address, and owns nothing.
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
    /// The address belongs to a region of this arena, which has now ended.
    Region {
        /// The size of the region in bytes, rounded up.
        bytes: u64,
    },
    /// No live region begins at the address. The call has been counted.
    Foreign,
}

impl ArenaRegion {
    /// Returns the region's address on the device, a `CUdeviceptr`. It is a multiple of 256.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns the requested size of the region in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the region's offset in the arena.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns how often the arena had been reset when the region was allocated.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.resets
    }
}

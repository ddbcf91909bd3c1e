//! Arena regions and the results of deallocating them.

/// A region of an arena. An `ArenaRegion` contains the region's address, but does not own its
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArenaRegion {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) resets: u64,
}

/// The result of deallocating a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Deallocation {
    /// The address was the start of a live region of this arena. This call has deallocated the
    /// region.
    Region {
        /// The size of the region in bytes, rounded up to a multiple of 256.
        bytes: u64,
    },
    /// No live region of the arena begins at the address. The call changed only the arena's
    /// statistics.
    Foreign,
}

impl ArenaRegion {
    /// Returns the region's device address as a `CUdeviceptr`. The address is a multiple of 256.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns the region's requested size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the region's offset in the arena, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of times that the arena had been reset before it allocated this region.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.resets
    }
}

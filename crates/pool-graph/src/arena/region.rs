//! What an arena hands out, and what a deallocation ends.

/// A region of an arena: an address, which owns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArenaRegion {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) resets: u64,
}

/// What a deallocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Deallocation {
    /// A region of this arena.
    Region {
        /// The bytes of the region, rounded up.
        bytes: u64,
    },
    /// No region: none that is live begins at the address. The call was counted.
    Foreign,
}

impl ArenaRegion {
    /// Its address on the device, as a `CUdeviceptr` says it: a multiple of 256.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Its bytes, as asked for.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Where it begins in the arena.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// How often the arena had been reset when it was handed out.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.resets
    }
}

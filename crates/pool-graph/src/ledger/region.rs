//! Regions, which are ranges of bytes within a chunk. Each region is either a free region or an
//! allocated block.

/// The slot number that means "no region". Slot 0 always stays empty, so the number 0 never
/// identifies a region.
pub(super) const NONE: u32 = 0;

/// A range of bytes within a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkRegion {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The slot of the chunk that contains the region.
    pub(super) chunk: u32,
    /// The slots of the adjacent regions in the same chunk.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) state: State,
}

/// The contents of a slot: no region, a free region, or an allocated block.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// The slot does not contain a region. `next` is the vacant slot that follows this one in the
    /// list.
    Vacant { next: u32 },
    /// The region is free. While the region is in a size list, its links connect it to the other
    /// regions in that list.
    Free { newer: u32, older: u32 },
    /// The region is an allocated block.
    Taken(BlockRecord),
}

/// An allocated block's properties, except for its address and size.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRecord {
    pub(super) serial: u64,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) leases: u64,
    /// `true` if a reset has invalidated the block's ID, in which case the block is freed when its
    /// last lease is dropped.
    pub(super) orphaned: bool,
}

/// The state of a free region that is not in the index.
pub(super) const FREE: State = State::Free { newer: NONE, older: NONE };

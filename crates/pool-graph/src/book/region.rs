//! Regions: ranges of bytes in a chunk, each either free or a block.

/// The slot number that stands for no region. Slot 0 is kept empty for this purpose.
pub(super) const NONE: u32 = 0;

/// A range of bytes in one chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkRegion {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The chunk that contains the region.
    pub(super) chunk: u32,
    /// The slots of the previous and the next region in the chunk.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) state: State,
}

/// The content of a slot: no region, a free region, or a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// The slot contains no region. `next` is the next vacant slot.
    Vacant { next: u32 },
    /// The region is free. If it is in a list of free regions, the links belong to that list.
    Free { newer: u32, older: u32 },
    /// The region is a block.
    Taken(BlockRecord),
}

/// The data of a block other than its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRecord {
    pub(super) serial: u64,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) leases: u64,
    /// `true` if the block's ID is no longer valid. The block is then freed with its last lease.
    pub(super) orphaned: bool,
}

/// The state of a free region that is not in a list.
pub(super) const FREE: State = State::Free { newer: NONE, older: NONE };

//! A region: a range of bytes of one chunk, free or a block.

/// The slot number for no region. Slot 0 is kept empty for it.
pub(super) const NONE: u32 = 0;

/// A range of bytes of one chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkRegion {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The chunk that contains it.
    pub(super) chunk: u32,
    /// The slots of the previous and the next region in its chunk.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) state: State,
}

/// The content of a slot: no region, a free one, or a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// The slot has no region; `next` is the next such slot.
    Vacant { next: u32 },
    /// The region is free. The links are those of its list of free regions, if it is in one.
    Free { newer: u32, older: u32 },
    /// The region is a block.
    Taken(BlockRecord),
}

/// A block's data besides its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRecord {
    pub(super) serial: u64,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) leases: u64,
    /// The block has lost its name: it is freed with its last lease.
    pub(super) orphaned: bool,
}

/// The state of a free region that is in no list.
pub(super) const FREE: State = State::Free { newer: NONE, older: NONE };

//! A region: a range of bytes of one chunk, free or a block.

/// No region. Slot 0 is kept empty for it.
pub(super) const NONE: u32 = 0;

/// A range of bytes of one chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkRegion {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The chunk that it is cut from.
    pub(super) chunk: u32,
    /// The slots of the regions before and behind it in its chunk.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) state: State,
}

/// What a slot holds: no region, a free one, or a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// The slot has no region; the next slot without one.
    Vacant { next: u32 },
    /// Nobody has the region. The links are those of the list of free regions that it is in, if it is in one.
    Free { newer: u32, older: u32 },
    /// The region is a block.
    Taken(BlockRecord),
}

/// A block: what the pool knows of it besides its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRecord {
    pub(super) serial: u64,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) leases: u64,
    /// Nobody can name the block any more: it is freed with its last lease.
    pub(super) orphaned: bool,
}

/// The state of a free region that is in no list.
pub(super) const FREE: State = State::Free { newer: NONE, older: NONE };

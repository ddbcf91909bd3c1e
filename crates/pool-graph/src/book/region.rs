//! A region: a range of bytes of one chunk, free or a block.

/// No region. Slot 0 is kept empty for it.
pub(super) const NONE: u32 = 0;

/// A range of bytes of one chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The chunk that it is cut from.
    pub(super) chunk: u32,
    /// Its neighbours in the chunk.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) state: State,
}

/// What is with a region.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// There is none in this slot; the next slot without one.
    Vacant { next: u32 },
    /// Nobody has it. The links are those of the list that it is in, if it is in one.
    Free { newer: u32, older: u32 },
    /// It is a block.
    Taken(Taken),
}

/// What is known of a block besides its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) serial: u64,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) leases: u64,
    /// Nobody can name it any more: it goes when its last lease does.
    pub(super) orphaned: bool,
}

/// The state of a region that nobody has and that is in no list.
pub(super) const FREE: State = State::Free { newer: NONE, older: NONE };

//! The words of one slot: the two that acquire reads, and the record that only cold code reads.

use crate::backend::PoolBackend;

/// The hot words of a slot, which acquire reads: the block, and how many words of it an acquire may count on.
#[repr(C)]
pub(crate) struct Slot<B: PoolBackend> {
    pub(super) block: B::Block,
    pub(super) advertised: usize,
}

/// The cold words of a slot, which only cold code reads.
pub(super) struct Record {
    /// Bytes of the slot's block; 0 where the slot has none.
    pub(super) real: usize,
    /// The serial of the handle that the dynamic pool gave out for this slot; 0 is no handle.
    pub(super) serial: u64,
    /// Elements of the array that the dynamic pool keeps in the slot.
    pub(super) length: usize,
    /// The largest block, in bytes, that an acquire needed since sampling began.
    pub(super) largest_sample: usize,
    /// The mark: how many words at the start of the block may hold bytes that are not initialised; 0 is no
    /// mark, [`WHOLE_BLOCK`](super::mark::WHOLE_BLOCK) all of them. A word of 32 bits, so that a table keeps
    /// its size.
    pub(super) uninitialised_words: u32,
    /// How many more acquires are sampled.
    pub(super) samples_left: u8,
    /// How many acquires were sampled.
    pub(super) samples_seen: u8,
    /// A view armed the slot: the backend is asked before the block is handed out again or freed.
    pub(super) armed_by_view: bool,
}

impl Record {
    /// The record of a slot that has nothing.
    pub(super) const EMPTY: Self = Self {
        real: 0,
        serial: 0,
        length: 0,
        largest_sample: 0,
        uninitialised_words: 0,
        samples_left: 0,
        samples_seen: 0,
        armed_by_view: false,
    };
}

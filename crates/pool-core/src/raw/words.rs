//! The words of one slot: the two that acquire reads, and the record that only cold code reads.

use crate::backend::PoolBackend;

/// The hot words of a slot, which an acquire reads: the block, and the number of its words that an
/// acquire may use.
#[repr(C)]
pub(crate) struct Slot<B: PoolBackend> {
    pub(super) block: B::Block,
    pub(super) advertised: usize,
}

/// The cold words of a slot, which only cold code reads.
pub(super) struct Record {
    /// Bytes of the slot's block; 0 if the slot has none.
    pub(super) real: usize,
    /// The serial of the dynamic pool's handle for this slot; 0 for no handle.
    pub(super) serial: u64,
    /// Elements of the array that the dynamic pool keeps in the slot.
    pub(super) length: usize,
    /// The largest block, in bytes, that an acquire needed since sampling began.
    pub(super) largest_sample: usize,
    /// The mark: the number of words at the start of the block that may hold uninitialised bytes. 0
    /// is no mark, and [`WHOLE_BLOCK`](super::mark::WHOLE_BLOCK) marks all words. It has 32 bits,
    /// so that a table keeps its size.
    pub(super) uninitialised_words: u32,
    /// The number of acquires that are still to be sampled.
    pub(super) samples_left: u8,
    /// The number of acquires that were sampled.
    pub(super) samples_seen: u8,
    /// `true` if a view armed the slot: the backend orders the block before it is reused or freed.
    pub(super) armed_by_view: bool,
}

impl Record {
    /// The record of an empty slot.
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

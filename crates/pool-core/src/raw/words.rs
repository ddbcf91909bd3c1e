//! Defines the two hot words of a slot, which every acquire reads, and the slot's record, which
//! only cold code reads.

use crate::backend::PoolBackend;

/// A slot's hot words, which every acquire reads. The first hot word identifies the slot's block,
/// and the second is the number of words in the block that an acquire may use.
#[repr(C)]
pub(crate) struct Slot<B: PoolBackend> {
    pub(super) block: B::Block,
    pub(super) advertised: usize,
}

/// The rarely used words of a slot, which only the slow path reads.
pub(super) struct Record {
    /// The size of the slot's block in bytes, or 0 if the slot has no block.
    pub(super) real: usize,
    /// The serial number of the dynamic pool's handle for this slot, or 0 if the slot has no
    /// handle.
    pub(super) serial: u64,
    /// The number of elements in the array that the dynamic pool stores in the slot.
    pub(super) length: usize,
    /// The size in bytes of the largest block that any acquire has needed since sampling began.
    pub(super) largest_sample: usize,
    /// The mark. The mark is the number of leading words in the block that might contain
    /// uninitialized bytes. A mark of 0 means that the slot is unmarked, and
    /// [`WHOLE_BLOCK`](super::mark::WHOLE_BLOCK) marks all words of the block. The field has 32
    /// bits so that it does not increase the size of a table.
    pub(super) uninitialised_words: u32,
    /// The number of acquires still to be sampled.
    pub(super) samples_left: u8,
    /// The number of acquires sampled so far.
    pub(super) samples_seen: u8,
    /// `true` if a view has armed the slot. If the slot is armed, the pool calls the backend's
    /// `reuse` method before it hands out or frees the slot's block.
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

//! Implements operations that trim idle slots (slots at or above a cursor), compact them, or arm
//! them for sampling. If the pool is busy, these operations have no effect, because they must have
//! been called from within another operation of the same pool.

use super::advertise::{advertise, withdraw};
use super::block::{install, release};
use super::fits::round_up;
use super::slot::SlotPointer;
use super::state::State;
use crate::backend::{Advice, PoolBackend};
use crate::config::Compaction;
use crate::stats::ReleaseReport;

/// Frees the blocks of slot `from` and all later slots, and waits until the freed memory is
/// available. The function also waits for memory that was already being freed before the call. If
/// the pool is busy, the function does not free anything.
///
/// # Safety
///
/// Slot `from` and all later slots must be idle, that is, none of their views may be in use.
pub(super) unsafe fn trim<B: PoolBackend>(state: &State<B>, from: usize) -> ReleaseReport {
    let Some(_busy) = state.busy() else { return ReleaseReport::default() };
    // SAFETY: the caller guarantees that the slots are idle. The slots remain idle because a busy
    // pool hands out no memory.
    unsafe { trim_busy(state, from) }
}

/// Frees blocks as [`trim`] does, but for a pool that the caller has already marked as busy.
///
/// # Safety
///
/// The requirements are the same as for [`trim`]. In addition, the pool must be marked as busy.
pub(super) unsafe fn trim_busy<B: PoolBackend>(state: &State<B>, from: usize) -> ReleaseReport {
    // The slots must advertise 0 words before the `tracing` span is created, because a subscriber
    // might try to acquire the slot at the cursor. SAFETY: the caller guarantees that the slots are
    // idle.
    unsafe { withdraw_from(state, from) };
    #[cfg(feature = "tracing")]
    let _span = tracing::debug_span!("pool_trim", pool = state.config().name, from).entered();
    // SAFETY: the caller guarantees that the slots are idle and that the pool is marked as busy.
    let released = unsafe { release_from(state, from) };
    B::settle(state.context());
    #[cfg(feature = "tracing")]
    tracing::debug!(slots = released.slots, bytes = released.bytes, "trimmed");
    released
}

/// Frees the blocks of slot `from` and all later slots.
///
/// # Safety
///
/// Slot `from` and all later slots must be idle. Either the pool must be exclusively borrowed, or
/// it must be marked as busy and the slots must advertise 0 words.
pub(super) unsafe fn release_from<B: PoolBackend>(state: &State<B>, from: usize) -> ReleaseReport {
    let mut released = ReleaseReport::default();
    for slot in state.slots_from(from) {
        // SAFETY: the caller guarantees that the slot is idle and that the pool is either
        // exclusively borrowed or marked as busy.
        released.note(unsafe { release(slot) });
    }
    released
}

/// Makes slot `from` and all later slots advertise 0 words. After this call, an acquire method that
/// reaches one of these slots calls the cold function. The cold function returns an error because
/// the pool is busy.
///
/// # Safety
///
/// Slot `from` and all later slots must be idle.
unsafe fn withdraw_from<B: PoolBackend>(state: &State<B>, from: usize) {
    for slot in state.slots_from(from) {
        // SAFETY: the caller guarantees that the slot is idle.
        unsafe { withdraw(slot) };
    }
}

/// Replaces the oversized blocks of slot `from` and all later slots with smaller blocks and starts
/// sampling these slots again. If the pool is busy, the function does not replace any blocks.
///
/// # Safety
///
/// Slot `from` and all later slots must be idle.
pub(super) unsafe fn compact<B: PoolBackend>(
    state: &State<B>,
    from: usize,
    compaction: &Compaction,
) -> ReleaseReport {
    let Some(_busy) = state.busy() else { return ReleaseReport::default() };
    // SAFETY: the caller guarantees that the slots are idle. The slots remain idle because a busy
    // pool hands out no memory.
    unsafe { withdraw_from(state, from) };
    let mut released = ReleaseReport::default();
    for slot in state.slots_from(from) {
        // SAFETY: the caller guarantees that the slot is idle.
        if let Some(target) = unsafe { smaller_block(slot, compaction) } {
            // SAFETY: the pool is marked as busy, and the caller guarantees that the slot is idle.
            released.note(unsafe { shrink(slot, target) });
        }
    }
    if released.slots > 0 {
        B::settle(state.context());
    }
    // SAFETY: the caller guarantees that the slots are idle.
    unsafe { arm_for_samples(state, from) };
    released
}

/// Returns the size, in bytes, of the block that should replace the slot's oversized block. Returns
/// `None` if the slot should retain its block.
///
/// # Safety
///
/// The slot must be idle.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a ratio needs no exact byte count, the cast saturates, and the result is clamped"
)]
unsafe fn smaller_block<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    compaction: &Compaction,
) -> Option<usize> {
    // SAFETY: the slot's record is live, and no other reference to it exists.
    let record = unsafe { slot.record().as_ref() };
    let used = record.largest_sample;
    if record.samples_seen == 0 || (record.real as f64) < used as f64 * compaction.factor {
        return None;
    }
    let wanted = (used as f64 * compaction.shrink_to) as usize;
    // After a trim, the block might be smaller than the largest recorded use, so the target is
    // limited to the block's size.
    let target = round_up(wanted.max(used).min(record.real), B::ALIGN)?.min(record.real);
    (record.real - target >= compaction.minimum_bytes.max(1)).then_some(target)
}

/// Replaces an idle slot's block with one of `target` bytes. Returns the number of bytes by which
/// the slot's block has shrunk. If the smaller block cannot be allocated, the slot has no block
/// until it is next acquired.
///
/// # Safety
///
/// The slot must be idle, and the pool must be marked as busy.
unsafe fn shrink<B: PoolBackend>(slot: SlotPointer<'_, B>, target: usize) -> usize {
    let state = slot.state();
    // SAFETY: the caller guarantees that the slot is idle and that the pool is marked as busy.
    let before = unsafe { release(slot) };
    let advice = Advice { huge_pages: state.config().huge_pages };
    let Ok(block) = B::allocate(state.context(), target, advice) else {
        return before;
    };
    // SAFETY: the caller guarantees that the slot is idle and that the pool is marked as busy. The
    // block was just allocated with a size of `target` bytes.
    unsafe { install(slot, block, target) };
    before - target
}

/// Arms slot `from` and all later slots that hold a block so that the cold function samples the
/// next length of each slot. If the pool is busy, the function does not arm any slots, because the
/// slot at the cursor must continue to advertise 0 words.
///
/// # Safety
///
/// Slot `from` and all later slots must be idle.
pub(super) unsafe fn sample_lengths<B: PoolBackend>(state: &State<B>, from: usize) {
    let Some(_busy) = state.busy() else { return };
    // SAFETY: the caller guarantees that the slots are idle.
    unsafe { arm_for_samples(state, from) };
}

/// The value of [`Compaction::SAMPLES`], converted to the type of a slot's sample counter.
#[expect(clippy::cast_possible_truncation, reason = "asserted")]
const SAMPLES: u8 = {
    assert!(Compaction::SAMPLES <= u8::MAX as u16, "a slot's record counts samples in a byte");
    Compaction::SAMPLES as u8
};

/// # Safety
///
/// Slot `from` and all later slots must be idle.
unsafe fn arm_for_samples<B: PoolBackend>(state: &State<B>, from: usize) {
    for slot in state.slots_from(from) {
        // SAFETY: the slot's record is live, and no other reference to it exists.
        let record = unsafe { slot.record().as_mut() };
        record.largest_sample = 0;
        record.samples_seen = 0;
        record.samples_left = if record.real > 0 { SAMPLES } else { 0 };
        // SAFETY: the caller guarantees that the slot is idle.
        unsafe { advertise(slot) };
    }
}

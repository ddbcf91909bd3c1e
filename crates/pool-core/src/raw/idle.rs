//! Operations on idle slots, which are the slots at or above a cursor: trimming, compacting, and
//! arming for samples. They do nothing in a pool that is marked as busy, because the call then
//! comes from inside another operation of the pool.

use super::advertise::{advertise, withdraw};
use super::block::{install, release};
use super::fits::round_up;
use super::slot::SlotPointer;
use super::state::State;
use crate::backend::{Advice, PoolBackend};
use crate::config::Compaction;
use crate::stats::ReleaseReport;

/// Frees the blocks of the slots from number `from` on, and waits until their memory is available.
/// This includes memory whose freeing only began earlier. Frees nothing if the pool is busy.
///
/// # Safety
///
/// The slots from number `from` on are idle: no view of them is in use.
pub(super) unsafe fn trim<B: PoolBackend>(state: &State<B>, from: usize) -> ReleaseReport {
    let Some(_busy) = state.busy() else { return ReleaseReport::default() };
    // SAFETY: the slots are idle (caller), and stay idle because acquires are refused while the
    // pool is marked.
    unsafe { trim_busy(state, from) }
}

/// Does the same as [`trim`], for a pool that the caller has already marked.
///
/// # Safety
///
/// Same as for [`trim`], and the pool is marked as busy.
pub(super) unsafe fn trim_busy<B: PoolBackend>(state: &State<B>, from: usize) -> ReleaseReport {
    // The slots are withdrawn before the span is created, because a subscriber may use the slot at
    // the cursor.
    // SAFETY: the slots are idle (caller).
    unsafe { withdraw_from(state, from) };
    #[cfg(feature = "tracing")]
    let _span = tracing::debug_span!("pool_trim", pool = state.config().name, from).entered();
    // SAFETY: the slots are idle, and the pool is marked (caller).
    let released = unsafe { release_from(state, from) };
    B::settle(state.context());
    #[cfg(feature = "tracing")]
    tracing::debug!(slots = released.slots, bytes = released.bytes, "trimmed");
    released
}

/// Frees the blocks of the slots from number `from` on.
///
/// # Safety
///
/// The slots from number `from` on are idle. Either the pool is exclusively borrowed, or it is
/// marked as busy and the slots advertise nothing.
pub(super) unsafe fn release_from<B: PoolBackend>(state: &State<B>, from: usize) -> ReleaseReport {
    let mut released = ReleaseReport::default();
    for slot in state.slots_from(from) {
        // SAFETY: the slot is idle, and the pool is marked or exclusively borrowed (caller).
        released.note(unsafe { release(slot) });
    }
    released
}

/// Makes the slots from number `from` on advertise nothing. From then on, an acquire of one of
/// these slots goes to the cold function, which finds the pool busy.
///
/// # Safety
///
/// The slots from number `from` on are idle.
unsafe fn withdraw_from<B: PoolBackend>(state: &State<B>, from: usize) {
    for slot in state.slots_from(from) {
        // SAFETY: the slot is idle (caller).
        unsafe { withdraw(slot) };
    }
}

/// Replaces the blocks of oversized slots from number `from` on with smaller ones, then starts a
/// new sample. Replaces nothing if the pool is busy.
///
/// # Safety
///
/// The slots from number `from` on are idle.
pub(super) unsafe fn compact<B: PoolBackend>(
    state: &State<B>,
    from: usize,
    compaction: &Compaction,
) -> ReleaseReport {
    let Some(_busy) = state.busy() else { return ReleaseReport::default() };
    // SAFETY: the slots are idle (caller), and stay idle because acquires are refused while the
    // pool is marked.
    unsafe { withdraw_from(state, from) };
    let mut released = ReleaseReport::default();
    for slot in state.slots_from(from) {
        // SAFETY: the slot is idle.
        if let Some(target) = unsafe { smaller_block(slot, compaction) } {
            // SAFETY: as above.
            released.note(unsafe { shrink(slot, target) });
        }
    }
    if released.slots > 0 {
        B::settle(state.context());
    }
    // SAFETY: the slots are idle.
    unsafe { arm_for_samples(state, from) };
    released
}

/// Returns the size in bytes of the block that an oversized slot should have. Returns `None` if the
/// slot should keep its block.
///
/// # Safety
///
/// The slot is idle.
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
    // SAFETY: the record is live, and nothing else holds a reference to it while this reference
    // lives.
    let record = unsafe { slot.record().as_ref() };
    let used = record.largest_sample;
    if record.samples_seen == 0 || (record.real as f64) < used as f64 * compaction.factor {
        return None;
    }
    let wanted = (used as f64 * compaction.shrink_to) as usize;
    // After a trim, the block may be smaller than its largest use. In that case, there is nothing
    // to replace.
    let target = round_up(wanted.max(used).min(record.real), B::ALIGN)?.min(record.real);
    (record.real - target >= compaction.minimum_bytes.max(1)).then_some(target)
}

/// Replaces the block of an idle slot with a block of `target` bytes. Returns the number of bytes
/// by which the slot shrank. If the new block cannot be allocated, the slot is left empty, and its
/// next acquire allocates a block.
///
/// # Safety
///
/// The slot is idle, and the pool is marked as busy.
unsafe fn shrink<B: PoolBackend>(slot: SlotPointer<'_, B>, target: usize) -> usize {
    let state = slot.state();
    // SAFETY: the slot is idle, and the pool is marked (caller).
    let before = unsafe { release(slot) };
    let advice = Advice { huge_pages: state.config().huge_pages };
    let Ok(block) = B::allocate(state.context(), target, advice) else {
        return before;
    };
    // SAFETY: the slot is idle, the pool is marked (caller), and the block is new and has `target`
    // bytes.
    unsafe { install(slot, block, target) };
    before - target
}

/// Arms the slots from number `from` on that hold a block, so that the cold function sees the
/// lengths of their next acquires. Arms nothing if the pool is busy: in that case, the slot at the
/// cursor must continue to advertise nothing.
///
/// # Safety
///
/// The slots from number `from` on are idle.
pub(super) unsafe fn sample_lengths<B: PoolBackend>(state: &State<B>, from: usize) {
    let Some(_busy) = state.busy() else { return };
    // SAFETY: the slots are idle (caller).
    unsafe { arm_for_samples(state, from) };
}

/// [`Compaction::SAMPLES`], with the type of the counter in a slot's record.
#[expect(clippy::cast_possible_truncation, reason = "asserted")]
const SAMPLES: u8 = {
    assert!(Compaction::SAMPLES <= u8::MAX as u16, "a slot's record counts samples in a byte");
    Compaction::SAMPLES as u8
};

/// # Safety
///
/// The slots from number `from` on are idle.
unsafe fn arm_for_samples<B: PoolBackend>(state: &State<B>, from: usize) {
    for slot in state.slots_from(from) {
        // SAFETY: the record is live, and nothing else holds a reference to it while this reference
        // lives.
        let record = unsafe { slot.record().as_mut() };
        record.largest_sample = 0;
        record.samples_seen = 0;
        record.samples_left = if record.real > 0 { SAMPLES } else { 0 };
        // SAFETY: the slot is idle (caller).
        unsafe { advertise(slot) };
    }
}

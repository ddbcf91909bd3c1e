//! Defines an idle slot's advertised capacity, which is the number of words that an acquire method
//! may use. The advertised capacity is 0 while the slot has pending work or the pool is busy. While
//! the advertised capacity is 0, acquire methods must call the cold function.

use super::fits::WORD;
use super::slot::SlotPointer;
use crate::backend::PoolBackend;

/// Advertises the capacity of the idle slot's block, or 0 words if the slot still has pending work.
///
/// # Safety
///
/// The slot must be idle.
pub(super) unsafe fn advertise<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    // SAFETY: the slot's record is live, and no other reference to it exists.
    let record = unsafe { slot.record().as_ref() };
    let armed = slot.state().arms_every_use()
        || record.samples_left > 0
        || record.armed_by_view
        || record.uninitialised_words > 0;
    let words = if armed { 0 } else { record.real / WORD };
    // SAFETY: the slot is live, and no reference to it exists.
    unsafe { (*slot.slot.as_ptr()).advertised = words };
}

/// A guard that prevents the hot path from acquiring an idle slot in a busy pool. While the guard
/// exists, the slot advertises 0 words instead of its block's capacity.
#[must_use = "dropping the guard makes the slot advertise its block again"]
pub(super) struct WithdrawnSlot<'s, B: PoolBackend>(SlotPointer<'s, B>);

impl<'s, B: PoolBackend> WithdrawnSlot<'s, B> {
    /// # Safety
    ///
    /// The slot must remain idle until the guard is dropped.
    pub(super) unsafe fn new(slot: SlotPointer<'s, B>) -> Self {
        // SAFETY: the caller guarantees that the slot is idle.
        unsafe { withdraw(slot) };
        Self(slot)
    }
}

impl<B: PoolBackend> Drop for WithdrawnSlot<'_, B> {
    fn drop(&mut self) {
        // SAFETY: the caller of `new` guaranteed that the slot stays idle until the guard is
        // dropped.
        unsafe { advertise(self.0) };
    }
}

/// Makes an idle slot advertise 0 words.
///
/// # Safety
///
/// The slot must be idle.
pub(super) unsafe fn withdraw<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    // SAFETY: the slot is live, and no reference to it exists. No view uses the slot's advertised
    // word, because the slot is at or above the cursor (invariant 5).
    unsafe { (*slot.slot.as_ptr()).advertised = 0 };
}

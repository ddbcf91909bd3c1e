//! The advertised capacity of an idle slot: the number of words that an acquire may use. It is 0
//! while a pending duty or a busy pool must send acquires to the cold function.

use super::fits::WORD;
use super::slot::SlotPointer;
use crate::backend::PoolBackend;

/// Advertises the capacity of the idle slot's block, or 0 while a pending duty keeps the slot
/// armed.
///
/// # Safety
///
/// The slot is idle.
pub(super) unsafe fn advertise<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    // SAFETY: the record is live, and nothing else holds a reference to it while this reference
    // lives.
    let record = unsafe { slot.record().as_ref() };
    let armed = slot.state().arms_every_use()
        || record.samples_left > 0
        || record.armed_by_view
        || record.uninitialised_words > 0;
    let words = if armed { 0 } else { record.real / WORD };
    // SAFETY: the slot is live and nothing holds a reference to it.
    unsafe { (*slot.slot.as_ptr()).advertised = words };
}

/// A guard over an idle slot of a pool that is marked as busy. The slot advertises nothing, so that
/// the hot path does not take it. When the guard is dropped, the slot advertises its block again.
#[must_use = "dropping the guard makes the slot advertise its block again"]
pub(super) struct WithdrawnSlot<'s, B: PoolBackend>(SlotPointer<'s, B>);

impl<'s, B: PoolBackend> WithdrawnSlot<'s, B> {
    /// # Safety
    ///
    /// The slot is idle until the guard is dropped.
    pub(super) unsafe fn new(slot: SlotPointer<'s, B>) -> Self {
        // SAFETY: the slot is idle (caller).
        unsafe { withdraw(slot) };
        Self(slot)
    }
}

impl<B: PoolBackend> Drop for WithdrawnSlot<'_, B> {
    fn drop(&mut self) {
        // SAFETY: the slot is idle (`new`).
        unsafe { advertise(self.0) };
    }
}

/// Makes an idle slot advertise nothing.
///
/// # Safety
///
/// The slot is idle.
pub(super) unsafe fn withdraw<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    // SAFETY: the slot is live and nothing holds a reference to it. At or above the cursor, the
    // advertised word belongs to no view (invariant 5).
    unsafe { (*slot.slot.as_ptr()).advertised = 0 };
}

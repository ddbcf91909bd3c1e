//! A slot's block: putting it into its slot, taking it out and freeing it, together with the shapes
//! that fit it.

use super::advertise::advertise;
use super::slot::SlotPointer;
use super::state::State;
use crate::backend::{LooseBlock, PoolBackend, Reuse};
use crate::shape_set::ShapeSet;
use crate::try_box::into_box;
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr::{NonNull, null_mut};

/// Puts a new block into an idle slot, and frees the old one.
///
/// # Safety
///
/// The slot is idle, and the pool is marked as busy or exclusively borrowed. `block` was just
/// allocated with `bytes` bytes and has no other owner.
pub(super) unsafe fn install<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    block: B::Block,
    bytes: usize,
) {
    // SAFETY: the slot is idle.
    let shapes = unsafe { take_shapes(slot) };
    // SAFETY: the slot is idle.
    let old = unsafe { take_block(slot) };
    // The new block is in its slot before foreign code runs, so it cannot be lost.
    // SAFETY: the slot and its record are live and nothing holds a reference to them.
    unsafe { (*slot.slot.as_ptr()).block = block };
    // SAFETY: as above.
    unsafe { (*slot.record().as_ptr()).real = bytes };
    slot.state().note_growth(bytes);
    drop(shapes);
    drop(old);
}

/// Empties an idle slot and frees its block. Returns the size of the block in bytes, or 0 if the
/// slot had no block.
///
/// # Safety
///
/// The slot is idle, and the pool is marked as busy or exclusively borrowed.
pub(super) unsafe fn release<B: PoolBackend>(slot: SlotPointer<'_, B>) -> usize {
    // SAFETY: the slot is idle.
    let shapes = unsafe { take_shapes(slot) };
    // SAFETY: the slot is idle.
    let block = unsafe { take_block(slot) };
    drop(shapes);
    block.bytes
}

/// Takes the block of an idle slot out of the pool, and replaces it with `spare`.
///
/// # Safety
///
/// The slot is idle and has a block, and the pool is marked as busy or exclusively borrowed.
/// `spare` belongs to the caller and was allocated like a block of this pool.
pub(super) unsafe fn take_out<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    spare: Option<LooseBlock<B::Block>>,
) -> LooseBlock<B::Block> {
    // SAFETY: the slot is idle.
    let shapes = unsafe { take_shapes(slot) };
    let uninitialised = slot.uninitialised_bytes();
    // SAFETY: the slot is idle.
    let taken = ManuallyDrop::new(unsafe { take_block(slot) });
    if let Some(spare) = spare {
        // SAFETY: the slot and its record are live and nothing holds a reference to them. The same
        // holds below.
        unsafe { (*slot.slot.as_ptr()).block = spare.block };
        // SAFETY: as above.
        unsafe { (*slot.record().as_ptr()).real = spare.bytes };
        slot.set_uninitialised_bytes(spare.uninitialised);
        slot.state().note_reserved(spare.bytes);
        // SAFETY: the slot is idle, and its block is in place.
        unsafe { advertise(slot) };
    }
    drop(shapes);
    LooseBlock { block: taken.block, bytes: taken.bytes, uninitialised }
}

/// A block that was taken out of its slot, and that is freed when this value is dropped.
#[must_use = "dropping this value frees the block"]
struct TakenBlock<'s, B: PoolBackend> {
    state: &'s State<B>,
    block: B::Block,
    /// The bytes that the block was allocated with; 0 if there is no block.
    bytes: usize,
    armed_by_view: bool,
}

/// Empties an idle slot: afterwards it has no block and no handle, and advertises nothing.
///
/// # Safety
///
/// The slot is idle.
unsafe fn take_block<B: PoolBackend>(slot: SlotPointer<'_, B>) -> TakenBlock<'_, B> {
    let record = slot.record().as_ptr();
    let block = slot.block();
    // SAFETY: the slot and its record are live and nothing holds a reference to them. The same
    // holds below.
    let bytes = unsafe { (*record).real };
    // SAFETY: as above.
    let armed_by_view = unsafe { (*record).armed_by_view };
    // SAFETY: as above. The slot is emptied before the backend runs (invariant 6).
    unsafe { (*slot.slot.as_ptr()).block = B::DANGLING };
    // SAFETY: as above.
    unsafe { (*slot.slot.as_ptr()).advertised = 0 };
    // SAFETY: as above.
    unsafe { (*record).real = 0 };
    // SAFETY: as above.
    unsafe { (*record).serial = 0 };
    // SAFETY: as above.
    unsafe { (*record).armed_by_view = false };
    // The mark belongs to the block, and a new block is initialised.
    // SAFETY: as above.
    unsafe { (*record).uninitialised_words = 0 };
    let state = slot.state();
    state.note_released(bytes);
    TakenBlock { state, block, bytes, armed_by_view }
}

/// Frees the block, or leaks it if the backend cannot order the free.
impl<B: PoolBackend> Drop for TakenBlock<'_, B> {
    fn drop(&mut self) {
        let Self { state, block, bytes, armed_by_view } = *self;
        if bytes == 0 {
            return;
        }
        // SAFETY: the block is allocated, and nothing views it because its slot was idle
        // (`take_block`).
        if armed_by_view && unsafe { B::reuse(state.context(), block, Reuse::Free) }.is_err() {
            return state.note_leaked(bytes);
        }
        // SAFETY: the block was allocated with `bytes` bytes (invariant 4), is no longer in any
        // slot, and has no views.
        unsafe { B::free(state.context(), block, bytes) };
    }
}

/// Takes the shape set of an idle slot out of the slot, for the caller to drop. Dropping it runs
/// the `Drop` of the backend's descriptors.
///
/// # Safety
///
/// The slot is idle.
pub(super) unsafe fn take_shapes<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
) -> Option<Box<ShapeSet<B::Descriptor>>> {
    let place = slot.shapes().as_ptr();
    // SAFETY: the slot's table is live and nothing holds a reference to the pointer.
    let shapes = NonNull::new(unsafe { *place })?;
    // SAFETY: as above. The set is removed from the slot before its descriptors' `Drop` runs.
    unsafe { *place = null_mut() };
    // SAFETY: the set was created by `try_box`. Nothing borrowed from it is in use, because the
    // slot is idle, and no slot refers to it any more.
    Some(unsafe { into_box(shapes) })
}

//! Implements operations that install, remove, and free a slot's block. These operations also
//! remove the slot's cached shapes, because the shapes were checked only against the old block.

use super::advertise::advertise;
use super::slot::SlotPointer;
use super::state::State;
use crate::backend::{LooseBlock, PoolBackend, Reuse};
use crate::shape_set::ShapeSet;
use crate::try_box::into_box;
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr::{NonNull, null_mut};

/// Installs a new block in an idle slot and frees the slot's old block.
///
/// # Safety
///
/// The slot must be idle, and the pool must be either exclusively borrowed or marked as busy.
/// `block` must have been allocated with a size of `bytes` bytes and must not have another owner.
pub(super) unsafe fn install<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    block: B::Block,
    bytes: usize,
) {
    // SAFETY: the caller guarantees that the slot is idle.
    let shapes = unsafe { take_shapes(slot) };
    // SAFETY: the caller guarantees that the slot is idle.
    let old = unsafe { take_block(slot) };
    // The slot receives the new block before user code runs, so a panic cannot leak the block.
    // SAFETY: the slot is live, and no reference to it exists.
    unsafe { (*slot.slot.as_ptr()).block = block };
    // SAFETY: the slot's record is live, and no reference to it exists.
    unsafe { (*slot.record().as_ptr()).real = bytes };
    slot.state().note_growth(bytes);
    drop(shapes);
    drop(old);
}

/// Empties an idle slot and frees its block. Returns the block's size in bytes, or 0 if the slot
/// had no block.
///
/// # Safety
///
/// The slot must be idle, and the pool must be either exclusively borrowed or marked as busy.
pub(super) unsafe fn release<B: PoolBackend>(slot: SlotPointer<'_, B>) -> usize {
    // SAFETY: the caller guarantees that the slot is idle.
    let shapes = unsafe { take_shapes(slot) };
    // SAFETY: the caller guarantees that the slot is idle.
    let block = unsafe { take_block(slot) };
    drop(shapes);
    block.bytes
}

/// Removes an idle slot's block from the pool and installs `spare` in the slot.
///
/// # Safety
///
/// The slot must be idle and must have a block. The pool must be either exclusively borrowed or
/// marked as busy. The caller must own `spare`, which must have been allocated in the same way as
/// this pool's blocks.
pub(super) unsafe fn take_out<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    spare: Option<LooseBlock<B::Block>>,
) -> LooseBlock<B::Block> {
    // SAFETY: the caller guarantees that the slot is idle.
    let shapes = unsafe { take_shapes(slot) };
    let uninitialised = slot.uninitialised_bytes();
    // SAFETY: the caller guarantees that the slot is idle.
    let taken = ManuallyDrop::new(unsafe { take_block(slot) });
    if let Some(spare) = spare {
        // SAFETY: the slot is live, and no reference to it exists.
        unsafe { (*slot.slot.as_ptr()).block = spare.block };
        // SAFETY: the slot's record is live, and no reference to it exists.
        unsafe { (*slot.record().as_ptr()).real = spare.bytes };
        slot.set_uninitialised_bytes(spare.uninitialised);
        slot.state().note_reserved(spare.bytes);
        // SAFETY: the slot is idle, and `spare` is now its block.
        unsafe { advertise(slot) };
    }
    drop(shapes);
    LooseBlock { block: taken.block, bytes: taken.bytes, uninitialised }
}

/// A block that has been removed from its slot. Dropping this value frees the block.
#[must_use = "dropping this value frees the block"]
struct TakenBlock<'s, B: PoolBackend> {
    state: &'s State<B>,
    block: B::Block,
    /// The number of bytes allocated for the block, or 0 if there is no block.
    bytes: usize,
    armed_by_view: bool,
}

/// Empties an idle slot. After this call, the slot has no block and no handle, and advertises 0
/// words.
///
/// # Safety
///
/// The slot must be idle.
unsafe fn take_block<B: PoolBackend>(slot: SlotPointer<'_, B>) -> TakenBlock<'_, B> {
    let record = slot.record().as_ptr();
    let block = slot.block();
    // SAFETY: the slot's record is live, and no reference to it exists.
    let bytes = unsafe { (*record).real };
    // SAFETY: the slot's record is live, and no reference to it exists.
    let armed_by_view = unsafe { (*record).armed_by_view };
    // The slot is emptied before any backend code runs (invariant 6). SAFETY: the slot is live, and
    // no reference to it exists.
    unsafe { (*slot.slot.as_ptr()).block = B::DANGLING };
    // SAFETY: the slot is live, and no reference to it exists.
    unsafe { (*slot.slot.as_ptr()).advertised = 0 };
    // SAFETY: the slot's record is live, and no reference to it exists.
    unsafe { (*record).real = 0 };
    // SAFETY: the slot's record is live, and no reference to it exists.
    unsafe { (*record).serial = 0 };
    // SAFETY: the slot's record is live, and no reference to it exists.
    unsafe { (*record).armed_by_view = false };
    // The mark is removed together with the block, because every new block of the slot is
    // initialized. SAFETY: the slot's record is live, and no reference to it exists.
    unsafe { (*record).uninitialised_words = 0 };
    let state = slot.state();
    state.note_released(bytes);
    TakenBlock { state, block, bytes, armed_by_view }
}

/// Frees the block, or leaks it if the backend cannot order the free operation after all previously
/// enqueued work.
impl<B: PoolBackend> Drop for TakenBlock<'_, B> {
    fn drop(&mut self) {
        let Self { state, block, bytes, armed_by_view } = *self;
        if bytes == 0 {
            return;
        }
        // SAFETY: the block is allocated. No view of the block exists, because `take_block` removed
        // the block from an idle slot.
        if armed_by_view && unsafe { B::reuse(state.context(), block, Reuse::Free) }.is_err() {
            return state.note_leaked(bytes);
        }
        // SAFETY: the block was allocated with a size of `bytes` bytes (invariant 4). The block is
        // no longer in any slot, and no view of it exists.
        unsafe { B::free(state.context(), block, bytes) };
    }
}

/// Removes and returns the shape set of an idle slot. Dropping the set runs the `Drop`
/// implementations of the backend's descriptors.
///
/// # Safety
///
/// The slot must be idle.
pub(super) unsafe fn take_shapes<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
) -> Option<Box<ShapeSet<B::Descriptor>>> {
    let place = slot.shapes().as_ptr();
    // SAFETY: the slot's table is live, and no reference to the slot's shape-set pointer exists.
    let shapes = NonNull::new(unsafe { *place })?;
    // The set is removed from the slot before the `Drop` implementations of its descriptors run.
    // SAFETY: the slot's table is live, and no reference to the slot's shape-set pointer exists.
    unsafe { *place = null_mut() };
    // SAFETY: `try_box` created the set. No reference into the set exists, because the slot is idle
    // and no longer points to the set.
    Some(unsafe { into_box(shapes) })
}

//! The cold function: everything that is rare about an acquire. End of a table, first use of a slot,
//! a block too small, an armed slot, zero length: one compare sends them all here. Code that is not ours
//! may run inside (invariant 9), so the pool is marked, and the slot at the cursor advertises nothing.

use super::busy::Withdrawn;
use super::fits::{WORD, block_bytes, round_up};
use super::host::into_box;
use super::idle;
use super::shape_set::ShapeSet;
use super::slot::SlotPointer;
use super::state::State;
use super::table::{SLOTS, Slot, Table};
use crate::backend::{Advice, PoolBackend, Reuse};
use crate::error::{PoolError, panic_with};
use alloc::boxed::Box;
use core::ptr::{NonNull, null_mut};

/// Makes the slot under a cursor ready for `length` elements of `element_size` bytes.
///
/// # Safety
///
/// `slot` is a slot or sentinel of a pool that lives for `'s`, and no view of it or of a slot above
/// it is in use.
#[cold]
#[inline(never)]
pub(super) unsafe fn prepare<'s, B: PoolBackend>(
    slot: NonNull<Slot<B>>,
    length: usize,
    element_size: usize,
) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
    let Some(needed) = block_bytes(length, element_size, B::ALIGN) else {
        return Err(PoolError::SizeOverflow { elements: length, element_size });
    };
    // SAFETY: a slot or sentinel of a live pool (caller).
    let (table, index) = unsafe { Table::locate(slot) };
    // SAFETY: the pool lives for `'s` (caller).
    let state: &'s State<B> = unsafe { State::of(table) };
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    let slot = if index == SLOTS {
        // While the table is made the cursor stands at the sentinel, which never advertises anything.
        // SAFETY: the pool lives for `'s` (caller), and is marked.
        unsafe { State::slot_after(table) }?
    } else {
        // SAFETY: no sentinel, and the pool lives for `'s`.
        unsafe { SlotPointer::new(slot) }
    };
    // SAFETY: the slot is idle (caller), and stays so: acquires are refused while the pool is marked.
    let _withdrawn = unsafe { Withdrawn::new(slot) };
    if needed > 0 {
        // SAFETY: the slot is idle, `needed` is what the length needs, and the pool is marked.
        unsafe { provide(slot, needed, length * element_size) }?;
        let unrounded = block_bytes(length, element_size, WORD).unwrap_or(needed);
        // SAFETY: the slot is idle.
        unsafe { sample(slot, unrounded) };
    }
    state.note_cold_acquire();
    state.note_use(slot.number());
    Ok(slot)
}

/// As [`prepare`], with a panic instead of an error.
///
/// # Safety
///
/// As for [`prepare`].
#[cold]
#[inline(never)]
#[track_caller]
pub(super) unsafe fn prepare_or_panic<'s, B: PoolBackend>(
    slot: NonNull<Slot<B>>,
    length: usize,
    element_size: usize,
) -> SlotPointer<'s, B> {
    // SAFETY: the caller's promise.
    match unsafe { prepare(slot, length, element_size) } {
        Ok(slot) => slot,
        Err(error) => panic_with(&error),
    }
}

/// Sees to it that the idle slot has a block of at least `needed` bytes, in order and, if so
/// configured, poisoned.
///
/// # Safety
///
/// The slot and all above it are idle, the slot advertises nothing, and the pool is marked as busy.
unsafe fn provide<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    needed: usize,
    used: usize,
) -> Result<(), PoolError<B::Error>> {
    let state = slot.state();
    let config = state.config();
    let record = slot.record().as_ptr();
    // SAFETY: the record is live and nothing holds a reference to it.
    let real = unsafe { (*record).real };
    if real < needed || config.fresh {
        // SAFETY: the caller's promise.
        unsafe { grow(slot, needed) }?;
    }
    // SAFETY: as for `real`.
    if unsafe { (*record).armed_by_view } {
        // SAFETY: a slot that a view armed and that was not grown still has its block.
        unsafe { B::reuse(state.context(), slot.block(), Reuse::HandOut) }.map_err(|source| {
            PoolError::Backend { operation: "order a block after its last use", source }
        })?;
        // SAFETY: as for `real`.
        unsafe { (*record).armed_by_view = false };
    }
    if config.poison {
        // SAFETY: the block holds `needed >= used` bytes and nothing views it.
        unsafe { B::set_bytes(state.context(), slot.block(), 0xFF, used) }
            .map_err(|source| PoolError::Backend { operation: "poison a block", source })?;
    }
    Ok(())
}

/// Gives the idle slot a block of at least `needed` bytes: with the growth factor, else exactly, else
/// exactly after every idle block was freed.
///
/// # Safety
///
/// As for [`provide`].
unsafe fn grow<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    needed: usize,
) -> Result<(), PoolError<B::Error>> {
    let state = slot.state();
    let config = state.config();
    let advice = Advice { huge_pages: config.huge_pages };
    // SAFETY: the record is live and nothing holds a reference to it.
    let old = unsafe { (*slot.record().as_ptr()).real };
    #[cfg(feature = "tracing")]
    let _span = tracing::debug_span!("pool_growth", pool = config.name, old, needed).entered();

    let generous =
        if config.fresh { needed } else { generous_bytes::<B>(config.growth_factor, old) };
    let room = state.room();
    let with_factor = Some(generous.min(round_down::<B>(room))).filter(|&bytes| bytes > needed);
    let exactly = Some(needed).filter(|&bytes| bytes <= room);
    for bytes in [with_factor, exactly].into_iter().flatten() {
        if let Ok(block) = B::allocate(state.context(), bytes, advice) {
            // SAFETY: the slot is idle, and the block is new and of `bytes` bytes.
            unsafe { install(slot, block, bytes) };
            return Ok(());
        }
    }

    // SAFETY: the slot and all above it are idle, and the pool is marked (caller).
    unsafe { idle::trim_busy(state, slot.number()) };
    let reserved = state.reserved();
    if needed > state.room() {
        return Err(PoolError::LimitExceeded {
            requested: needed,
            reserved,
            limit: config.byte_limit,
        });
    }
    match B::allocate(state.context(), needed, advice) {
        Ok(block) => {
            // SAFETY: as above.
            unsafe { install(slot, block, needed) };
            Ok(())
        }
        Err(source) => {
            let largest = state.largest_blocks();
            Err(PoolError::OutOfMemory { requested: needed, reserved, largest, source })
        }
    }
}

/// Up to how many bytes a block grows by the whole factor.
///
/// What a block has too much is held for good, and a large one is rarely grown, so beyond this what
/// the factor adds is a quarter: a slot whose lengths vary at random holds an eighth more than it ever
/// needed, and not half as much again, while lengths that creep up still cost a number of growths
/// that is logarithmic.
const WHOLE_FACTOR_BYTES: usize = 64 << 10;

/// The old capacity times the growth factor, less for large blocks, at most what an address space
/// holds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a growth factor needs no exact byte count, and the cast saturates"
)]
fn generous_bytes<B: PoolBackend>(factor: f64, old: usize) -> usize {
    let small = old.min(WHOLE_FACTOR_BYTES);
    let added = (small as f64 + (old - small) as f64 / 4.0) * (factor - 1.0);
    let bytes = old.saturating_add(added as usize);
    round_up(bytes, B::ALIGN).unwrap_or(round_down::<B>(isize::MAX as usize))
}

/// `bytes` rounded down to a multiple of the backend's alignment.
fn round_down<B: PoolBackend>(bytes: usize) -> usize {
    bytes & !(B::ALIGN - 1)
}

/// Puts a new block into an idle slot; the old one is freed.
///
/// # Safety
///
/// The slot is idle, and the pool is marked as busy or exclusively borrowed; `block` was just allocated
/// with `bytes` bytes and belongs to nobody.
pub(super) unsafe fn install<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    block: B::Block,
    bytes: usize,
) {
    // SAFETY: the slot is idle.
    let shapes = unsafe { take_shapes(slot) };
    // SAFETY: the slot is idle.
    let old = unsafe { take_block(slot) };
    // The new block is in its slot before code that is not ours runs, so nothing can lose it.
    // SAFETY: the slot and its record are live and nothing holds a reference to them.
    unsafe { (*slot.slot.as_ptr()).block = block };
    // SAFETY: as above.
    unsafe { (*slot.record().as_ptr()).real = bytes };
    slot.state().note_reserved(bytes);
    drop(shapes);
    drop(old);
}

/// Empties an idle slot and frees its block; returns the bytes of the block, 0 where there was none.
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

/// A block that was taken out of its slot, and is freed when this is dropped.
#[must_use = "the block is freed where this is dropped"]
struct TakenBlock<'s, B: PoolBackend> {
    state: &'s State<B>,
    block: B::Block,
    /// With which it was allocated; 0 for no block.
    bytes: usize,
    armed_by_view: bool,
}

/// Empties an idle slot: no block, no handle, nothing advertised.
///
/// # Safety
///
/// The slot is idle.
unsafe fn take_block<B: PoolBackend>(slot: SlotPointer<'_, B>) -> TakenBlock<'_, B> {
    let record = slot.record().as_ptr();
    let block = slot.block();
    // SAFETY: the slot and its record are live and nothing holds a reference to them; so below.
    let bytes = unsafe { (*record).real };
    // SAFETY: as above.
    let armed_by_view = unsafe { (*record).armed_by_view };
    // SAFETY: as above. The slot is emptied before anything of the backend runs (invariant 6).
    unsafe { (*slot.slot.as_ptr()).block = B::DANGLING };
    // SAFETY: as above.
    unsafe { (*slot.slot.as_ptr()).advertised = 0 };
    // SAFETY: as above.
    unsafe { (*record).real = 0 };
    // SAFETY: as above.
    unsafe { (*record).serial = 0 };
    // SAFETY: as above.
    unsafe { (*record).armed_by_view = false };
    let state = slot.state();
    state.note_released(bytes);
    TakenBlock { state, block, bytes, armed_by_view }
}

/// Frees the block, or leaks it where the backend cannot order that.
impl<B: PoolBackend> Drop for TakenBlock<'_, B> {
    fn drop(&mut self) {
        let Self { state, block, bytes, armed_by_view } = *self;
        if bytes == 0 {
            return;
        }
        // SAFETY: the block is allocated and nothing views it: its slot was idle (`take_block`).
        if armed_by_view && unsafe { B::reuse(state.context(), block, Reuse::Free) }.is_err() {
            return state.note_leaked(bytes);
        }
        // SAFETY: allocated with `bytes` bytes (invariant 4), no longer in any slot, viewed by nobody.
        unsafe { B::free(state.context(), block, bytes) };
    }
}

/// Takes the shape set of an idle slot out of its place, to be dropped: that runs the `Drop` of what a
/// backend keeps beside shapes.
///
/// # Safety
///
/// The slot is idle.
pub(super) unsafe fn take_shapes<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
) -> Option<Box<ShapeSet<B>>> {
    let place = slot.shapes().as_ptr();
    // SAFETY: the slot's table is live and nothing holds a reference to the place.
    let shapes = NonNull::new(unsafe { *place })?;
    // SAFETY: as above. The set leaves its place before its descriptors' `Drop` runs.
    unsafe { *place = null_mut() };
    // SAFETY: made by `try_box`; nothing borrowed from it is in use, because the slot is idle, and it is
    // in no place any more.
    Some(unsafe { into_box(shapes) })
}

/// Notes what an acquire needed, and that it was one of the samples if the slot is being sampled.
///
/// # Safety
///
/// The slot is idle.
unsafe fn sample<B: PoolBackend>(slot: SlotPointer<'_, B>, bytes: usize) {
    // SAFETY: the record is live, and nothing else holds a reference to it while this one lives.
    let record = unsafe { slot.record().as_mut() };
    // What comes this way is seen at no cost: growth after the last sample counts as well.
    record.largest_sample = record.largest_sample.max(bytes);
    if record.samples_left > 0 {
        record.samples_left -= 1;
        record.samples_seen += 1;
    }
}

/// Advertises what the idle slot's block holds, or nothing while some duty keeps the slot armed.
///
/// # Safety
///
/// The slot is idle.
pub(super) unsafe fn advertise<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    let config = slot.state().config();
    // SAFETY: the record is live, and nothing else holds a reference to it while this one lives.
    let record = unsafe { slot.record().as_ref() };
    let armed = config.poison || config.fresh || record.samples_left > 0 || record.armed_by_view;
    let words = if armed { 0 } else { record.real / WORD };
    // SAFETY: the slot is live and nothing holds a reference to it.
    unsafe { (*slot.slot.as_ptr()).advertised = words };
}

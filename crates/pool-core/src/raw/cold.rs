//! The cold function: everything that is rare about an acquire. End of a table, first use of a slot,
//! a block too small, an armed slot, zero length: one compare sends all of these to [`prepare`]. Code that is
//! not ours may run inside (invariant 9), so the pool is marked, and the slot at the cursor advertises
//! nothing.

use core::ptr::NonNull;

use super::advertise::WithdrawnSlot;
use super::best_fit::take_best_fit;
use super::block::install;
use super::fits::{WORD, block_bytes, round_up};
use super::idle;
use super::slot::SlotPointer;
use super::state::State;
use super::table::{SLOTS, Table};
use super::words::Slot;
use crate::backend::{Advice, PoolBackend, Reuse};
use crate::error::{PoolError, panic_with};

/// What an acquire does with the elements that it is given, before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstUse {
    /// They may be read: what a former use left behind is handed out, and has to be initialised.
    Read,
    /// All of them are written before they are read, or handed out as memory that need not be initialised.
    Write,
}

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
    first_use: FirstUse,
) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
    let Some(needed) = block_bytes(length, element_size, B::ALIGN) else {
        return Err(PoolError::SizeOverflow { elements: length, element_size });
    };
    // SAFETY: a slot or sentinel of a live pool (caller).
    let (table, index) = unsafe { Table::locate(slot) };
    // SAFETY: the pool lives for `'s` (caller).
    let state: &'s State<B> = unsafe { Table::state_of(table) };
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
    let _withdrawn = unsafe { WithdrawnSlot::new(slot) };
    let config = state.config();
    if config.best_fit {
        // SAFETY: the slot and all above it are idle (caller), and stay so.
        unsafe { take_best_fit(slot, needed) };
    }
    if needed > 0 {
        // SAFETY: the slot is idle, `needed` is what the length needs, and the pool is marked.
        unsafe { provide(slot, needed, length * element_size, first_use) }?;
        let unrounded = block_bytes(length, element_size, WORD).unwrap_or(needed);
        // SAFETY: the slot is idle.
        unsafe { sample(slot, unrounded) };
    }
    if config.measure_live_bytes {
        let noted = state.live.note(slot.number(), length * element_size);
        noted.map_err(|requested| PoolError::Bookkeeping { requested })?;
    }
    state.note_cold_acquire();
    state.note_use(slot.number());
    Ok(slot)
}

/// As [`prepare`] for elements that may be read, with a panic instead of an error.
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
    match unsafe { prepare(slot, length, element_size, FirstUse::Read) } {
        Ok(slot) => slot,
        Err(error) => panic_with(&error),
    }
}

/// Sees to it that the idle slot has a block of at least `needed` bytes, in order, initialised where it is
/// first read, and, if so configured, poisoned.
///
/// # Safety
///
/// The slot and all above it are idle, the slot advertises nothing, and the pool is marked as busy.
unsafe fn provide<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    needed: usize,
    used: usize,
    first_use: FirstUse,
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
    if first_use == FirstUse::Read {
        // SAFETY: the slot is idle (caller), and its block in order.
        unsafe { slot.initialise() }?;
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
/// The bytes of a block beyond what its acquires need are held for good, and a large block is rarely grown,
/// so beyond this size the factor adds a quarter of what it says: a slot whose lengths vary at random holds
/// an eighth more than it ever needed, and not half as much again, while lengths that creep up still cost a
/// number of growths that is logarithmic.
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

/// Notes what an acquire needed, and that it was one of the samples if the slot is being sampled.
///
/// # Safety
///
/// The slot is idle.
unsafe fn sample<B: PoolBackend>(slot: SlotPointer<'_, B>, bytes: usize) {
    // SAFETY: the record is live, and nothing else holds a reference to it while this one lives.
    let record = unsafe { slot.record().as_mut() };
    // An acquire that comes to the cold function is seen at no cost: growth after the last sample counts too.
    record.largest_sample = record.largest_sample.max(bytes);
    if record.samples_left > 0 {
        record.samples_left -= 1;
        record.samples_seen += 1;
    }
}

//! Defines the only function that hands out a slot's block. Acquire methods call this function if
//! the hot path cannot hand out the block. A vector that was acquired without capacity calls this
//! function before its first use.
//!
//! The function does all of the work that must precede the first write to a block. The function
//! grows the block, calls [`PoolBackend::reuse`], zeroes marked bytes, poisons the block, records
//! samples, and counts live bytes.

use super::block::{install, release};
use super::fits::{WORD, block_bytes, round_up};
use super::idle;
use super::slot::SlotPointer;
use super::state::State;
use crate::backend::{Advice, FirstUse, PoolBackend, Reuse};
use crate::error::PoolError;

/// The elements that a block must hold.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    /// The size in bytes of the smallest block that can hold the elements, or 0 if the elements
    /// occupy no bytes.
    block_bytes: usize,
    length: usize,
    element_size: usize,
    first_use: FirstUse,
}

impl Demand {
    /// Creates a demand for `length` elements of `element_size` bytes each.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::SizeOverflow`] if the elements occupy more than `isize::MAX` bytes.
    pub(super) fn new<B: PoolBackend>(
        length: usize,
        element_size: usize,
        first_use: FirstUse,
    ) -> Result<Self, PoolError<B::Error>> {
        let Some(block_bytes) = block_bytes(length, element_size, B::ALIGN) else {
            return Err(PoolError::SizeOverflow { elements: length, element_size });
        };
        Ok(Self { block_bytes, length, element_size, first_use })
    }

    /// Returns the total size of the elements in bytes.
    fn bytes(self) -> usize {
        self.length * self.element_size
    }
}

/// Hands out the block of `slot` for the elements that a demand describes. `state` is the state of
/// the slot's pool.
///
/// For an acquire method, `slot` is the first idle slot, and `taken_to` is `None`. For a vector's
/// first use, `slot` is the vector's own slot, and `taken_to` is the index of the first idle slot.
///
/// If a demand's elements occupy no bytes, the function does not change the slot's block, and the
/// slot remains armed for its next use.
///
/// # Errors
///
/// Returns the same errors as the acquire methods. After an error, the slot retains its pending
/// work and holds either its old block or no block.
///
/// # Safety
///
/// No view of the slot's block may exist. The first idle slot must be `slot` or a later slot, and
/// all slots after the first idle slot must also be idle. Both `slot` and the slot at the cursor
/// must advertise 0 words, and the pool must be marked as busy.
#[inline(always)]
pub(super) unsafe fn hand_out<B: PoolBackend>(
    state: &State<B>,
    slot: SlotPointer<'_, B>,
    taken_to: Option<usize>,
    demand: Demand,
) -> Result<(), PoolError<B::Error>> {
    let config = state.config();
    // A closure computes the index of the first idle slot only if it is needed, which is rare.
    let idle_from = || taken_to.unwrap_or_else(|| slot.number());
    if demand.block_bytes > 0 {
        // SAFETY: the slot's record is live, and no reference to it exists.
        let real = unsafe { (*slot.record().as_ptr()).real };
        if real < demand.block_bytes || config.fresh {
            // SAFETY: the caller upholds the safety contract of `grow`.
            unsafe { grow(slot, idle_from(), demand.block_bytes) }?;
        }
        // SAFETY: the caller upholds the contract of `put_in_order`, and the block is now large
        // enough.
        unsafe { put_in_order(state, slot, demand) }?;
        // SAFETY: the caller guarantees that no view of the slot's block exists.
        unsafe { sample(slot, demand) };
    }
    if config.measure_live_bytes {
        let noted = state.live.hand_out(slot.number(), idle_from(), demand.bytes());
        noted.map_err(|requested| PoolError::Bookkeeping { requested })?;
    }
    Ok(())
}

/// Calls [`PoolBackend::reuse`] for the block of an armed slot. The function also zeroes marked
/// bytes that might be read before they are written, and poisons the elements if poisoning is
/// enabled.
///
/// # Safety
///
/// No view of the slot's block may exist, and the block must be large enough for the demand. The
/// slot must advertise 0 words, and the pool must be marked as busy.
#[inline(always)]
unsafe fn put_in_order<B: PoolBackend>(
    state: &State<B>,
    slot: SlotPointer<'_, B>,
    demand: Demand,
) -> Result<(), PoolError<B::Error>> {
    let record = slot.record().as_ptr();
    // SAFETY: the slot's record is live, and no reference to it exists.
    if unsafe { (*record).armed_by_view } {
        // SAFETY: the slot's block has not been replaced since a view armed the slot. The block is
        // therefore still the one that the view used.
        unsafe { B::reuse(state.context(), slot.block(), Reuse::HandOut) }.map_err(|source| {
            PoolError::Backend { operation: "order a block after its last use", source }
        })?;
        // SAFETY: the slot's record is live, and no reference to it exists.
        unsafe { (*record).armed_by_view = false };
    }
    if demand.first_use == FirstUse::Read {
        // SAFETY: `reuse` has been called if a view had armed the slot, and the caller guarantees
        // that no view of the block exists.
        unsafe { slot.initialise() }?;
    }
    if state.config().poison {
        // SAFETY: the block is large enough for all of the elements, and the caller guarantees that
        // no view of the block exists.
        unsafe { B::set_bytes(state.context(), slot.block(), 0xFF, demand.bytes()) }
            .map_err(|source| PoolError::Backend { operation: "poison a block", source })?;
    }
    Ok(())
}

/// Replaces a slot's block with one of at least `needed` bytes. The function first tries a size
/// computed with the growth factor and then tries the exact size. If both allocations fail, the
/// function frees the slot's block and every idle block, and tries the exact size again.
///
/// # Safety
///
/// The requirements are the same as for [`hand_out`].
unsafe fn grow<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    idle_from: usize,
    needed: usize,
) -> Result<(), PoolError<B::Error>> {
    let state = slot.state();
    let config = state.config();
    let advice = Advice { huge_pages: config.huge_pages };
    // SAFETY: the slot's record is live, and no reference to it exists.
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
            // SAFETY: no view of the old block exists, and the new block was allocated with a size
            // of `bytes` bytes.
            unsafe { install(slot, block, bytes) };
            return Ok(());
        }
    }

    if slot.number() < idle_from {
        // SAFETY: the caller guarantees that no view of the slot's block exists, and that the pool
        // is marked as busy.
        unsafe { release(slot) };
    }
    // SAFETY: the caller guarantees that slot `idle_from` and all later slots are idle, and that
    // the pool is marked as busy.
    unsafe { idle::trim_busy(state, idle_from) };
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
            // SAFETY: no view of the old block exists, and the new block was allocated with a size
            // of `needed` bytes.
            unsafe { install(slot, block, needed) };
            Ok(())
        }
        Err(source) => {
            let largest = state.largest_blocks();
            Err(PoolError::OutOfMemory { requested: needed, reserved, largest, source })
        }
    }
}

/// The block size, in bytes, up to which the full growth factor applies.
///
/// A block larger than `WHOLE_FACTOR_BYTES` grows by only a quarter of the amount that the growth
/// factor specifies. The reduced growth limits the surplus bytes that the pool retains until the
/// next trim. The reduced growth costs little, because large blocks rarely grow. If lengths vary at
/// random, a slot's block ends up 12.5% larger than the slot's longest array. With the full default
/// factor, the block would end up 50% larger than the longest array. If lengths increase slowly, a
/// block still grows only a logarithmic number of times.
const WHOLE_FACTOR_BYTES: usize = 64 << 10;

/// Returns the old capacity multiplied by the growth factor. The growth factor has less effect on
/// large blocks. The result never exceeds the size of the address space.
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

/// Rounds `bytes` down to a multiple of the backend's alignment.
fn round_down<B: PoolBackend>(bytes: usize) -> usize {
    bytes & !(B::ALIGN - 1)
}

/// Records the number of bytes that an acquired array needs. If the slot is being sampled, the
/// function also records a sample.
///
/// # Safety
///
/// No view of the slot's block may exist.
#[inline(always)]
unsafe fn sample<B: PoolBackend>(slot: SlotPointer<'_, B>, demand: Demand) {
    let Demand { block_bytes: rounded, length, element_size, .. } = demand;
    let bytes = block_bytes(length, element_size, WORD).unwrap_or(rounded);
    // SAFETY: the slot's record is live, and no other reference to it exists.
    let record = unsafe { slot.record().as_mut() };
    // The number of bytes is recorded even if the slot is not being sampled. Recording the number
    // costs nothing extra and accounts for growth after the last sample.
    record.largest_sample = record.largest_sample.max(bytes);
    if record.samples_left > 0 {
        record.samples_left -= 1;
        record.samples_seen += 1;
    }
}

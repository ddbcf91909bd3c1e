//! The one function that hands out a slot's block, for an acquire and for the first use of a vector
//! that was acquired without capacity. All duties before the first write are done here, and nowhere
//! else: growth, [`PoolBackend::reuse`], zeroing marked bytes, poison, the sample, and the count of
//! live bytes.

use super::block::{install, release};
use super::fits::{WORD, block_bytes, round_up};
use super::idle;
use super::slot::SlotPointer;
use super::state::State;
use crate::backend::{Advice, FirstUse, PoolBackend, Reuse};
use crate::error::PoolError;

/// The elements for which an acquire needs a block.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    /// Bytes of the smallest block that suffices; 0 if the elements have no bytes.
    block_bytes: usize,
    length: usize,
    element_size: usize,
    first_use: FirstUse,
}

impl Demand {
    /// Makes a demand for `length` elements of `element_size` bytes.
    ///
    /// # Errors
    ///
    /// [`PoolError::SizeOverflow`] above `isize::MAX` bytes.
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

    /// Bytes of the elements.
    fn bytes(self) -> usize {
        self.length * self.element_size
    }
}

/// Hands out the block of a slot of the pool `state`, for the elements of a demand. For an acquire,
/// whose slot is the first idle one, `taken_to` is `None`. For the first use of a vector, whose
/// slot is taken, `taken_to` is the number of the first idle slot.
///
/// A demand without bytes hands out nothing: no duty is done, and the slot stays armed for its next
/// use.
///
/// # Errors
///
/// Same as for an acquire. The slot then keeps its duties, with its old block or without a block.
///
/// # Safety
///
/// Nothing views the slot's block. The slots from the first idle one on are idle, and that is the
/// slot or above it. The slot and the one at the cursor advertise nothing, and the pool is marked
/// as busy.
#[inline(always)]
pub(super) unsafe fn hand_out<B: PoolBackend>(
    state: &State<B>,
    slot: SlotPointer<'_, B>,
    taken_to: Option<usize>,
    demand: Demand,
) -> Result<(), PoolError<B::Error>> {
    let config = state.config();
    // Few acquires need it.
    let idle_from = || taken_to.unwrap_or_else(|| slot.number());
    if demand.block_bytes > 0 {
        // SAFETY: the record is live and nothing holds a reference to it.
        let real = unsafe { (*slot.record().as_ptr()).real };
        if real < demand.block_bytes || config.fresh {
            // SAFETY: the same contract, which the caller upholds.
            unsafe { grow(slot, idle_from(), demand.block_bytes) }?;
        }
        // SAFETY: the caller upholds this contract; the block is large enough.
        unsafe { put_in_order(state, slot, demand) }?;
        // SAFETY: nothing views the slot's block (caller).
        unsafe { sample(slot, demand) };
    }
    if config.measure_live_bytes {
        let noted = state.live.hand_out(slot.number(), idle_from(), demand.bytes());
        noted.map_err(|requested| PoolError::Bookkeeping { requested })?;
    }
    Ok(())
}

/// Lets the backend order the block of an armed slot, zeroes marked bytes if they are read first,
/// and poisons.
///
/// # Safety
///
/// Nothing views the slot's block, which has the bytes of the demand. The slot advertises nothing,
/// and the pool is marked as busy.
#[inline(always)]
unsafe fn put_in_order<B: PoolBackend>(
    state: &State<B>,
    slot: SlotPointer<'_, B>,
    demand: Demand,
) -> Result<(), PoolError<B::Error>> {
    let record = slot.record().as_ptr();
    // SAFETY: the record is live and nothing holds a reference to it.
    if unsafe { (*record).armed_by_view } {
        // SAFETY: a slot that a view armed and that was not grown still has its block.
        unsafe { B::reuse(state.context(), slot.block(), Reuse::HandOut) }.map_err(|source| {
            PoolError::Backend { operation: "order a block after its last use", source }
        })?;
        // SAFETY: as above.
        unsafe { (*record).armed_by_view = false };
    }
    if demand.first_use == FirstUse::Read {
        // SAFETY: nothing views the block (caller), and it is in order.
        unsafe { slot.initialise() }?;
    }
    if state.config().poison {
        // SAFETY: the block holds the bytes of the elements, and nothing views it (caller).
        unsafe { B::set_bytes(state.context(), slot.block(), 0xFF, demand.bytes()) }
            .map_err(|source| PoolError::Backend { operation: "poison a block", source })?;
    }
    Ok(())
}

/// Gives the slot a block of at least `needed` bytes. It tries the growth factor, then the exact
/// size, then the exact size after freeing the slot's own block and every idle block.
///
/// # Safety
///
/// Same as for [`hand_out`].
unsafe fn grow<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    idle_from: usize,
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
            // SAFETY: nothing views the old block, and the new one is of `bytes` bytes.
            unsafe { install(slot, block, bytes) };
            return Ok(());
        }
    }

    if slot.number() < idle_from {
        // SAFETY: nothing views the slot's block, and the pool is marked (caller).
        unsafe { release(slot) };
    }
    // SAFETY: the slots are idle, and the pool is marked (caller).
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

/// The block size up to which a block grows by the whole factor, in bytes.
///
/// Surplus bytes of a block are held until a trim, and a large block rarely grows. So beyond this
/// size, a quarter of the growth is added. If lengths vary at random, a slot then holds an eighth
/// more than its maximum, and not half as much again. For slowly increasing lengths, the number of
/// growths stays logarithmic.
const WHOLE_FACTOR_BYTES: usize = 64 << 10;

/// Returns the old capacity times the growth factor, less for large blocks, limited by the address
/// space.
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

/// Records the bytes that an acquire needed, and counts it as a sample if the slot is being
/// sampled.
///
/// # Safety
///
/// Nothing views the slot's block.
#[inline(always)]
unsafe fn sample<B: PoolBackend>(slot: SlotPointer<'_, B>, demand: Demand) {
    let Demand { block_bytes: rounded, length, element_size, .. } = demand;
    let bytes = block_bytes(length, element_size, WORD).unwrap_or(rounded);
    // SAFETY: the record is live, and nothing else holds a reference to it while this one lives.
    let record = unsafe { slot.record().as_mut() };
    // An acquire in the cold function is recorded without further cost: growth after the last
    // sample counts too.
    record.largest_sample = record.largest_sample.max(bytes);
    if record.samples_left > 0 {
        record.samples_left -= 1;
        record.samples_seen += 1;
    }
}

//! Operations on the idle memory of a stack: freeing it, shrinking it, sampling.

use core::ptr::NonNull;

use super::chunk_memory::free_above;
use super::state::StackState;
use crate::config::Compaction;
use crate::stacked::StackedBackend;
use crate::stats::ReleaseReport;

/// Frees the chunks after the cursor's, and also the cursor's own if no array is live. Otherwise returns the pages of
/// its rest to the system. Frees nothing if the pool is busy.
///
/// # Safety
///
/// `at` is a cursor of the pool, and nothing at or above it is viewed.
pub(super) unsafe fn trim<B: StackedBackend>(state: &StackState<B>, at: *mut u8) -> ReleaseReport {
    let Some(_busy) = state.busy() else { return ReleaseReport::default() };
    // Lent or borrowed memory of the first chunk must not be freed by this pool.
    let least = usize::from(state.shares_memory());
    let first = state.with_chunks(|chunks| match chunks.position(at) {
        Some(0) if chunks.get(0).is_some_and(|chunk| chunk.start == at) => 0,
        Some(position) => position + 1,
        None => 0,
    });
    let keep = first.max(least);
    if first == 0 {
        // Nothing is live.
        state.forget_needs();
    }
    // SAFETY: nothing at or above the cursor is viewed (caller), and the pool is marked.
    let discarded_bytes = if keep > 0 { unsafe { discard_rest(state, at) } } else { 0 };
    if state.with_chunks(|chunks| chunks.len()) == keep {
        return ReleaseReport { discarded_bytes, ..ReleaseReport::default() };
    }
    // Cursors of outer scopes may be stray from here on: the pool is not settled (invariants 1 and 3).
    state.unsettle();
    // SAFETY: the chunks hold nothing (invariant 2), and the pool is marked.
    let (bytes, slots) = unsafe { free_above(state, keep) };
    B::settle(&state.context);
    ReleaseReport { slots, bytes, discarded_bytes }
}

/// Returns whole pages of the cursor's chunk, from the cursor on, to the system; returns their
/// bytes. The chunk and its dirty ranges stay unchanged: the bytes that were returned are
/// initialised.
///
/// # Safety
///
/// Same as for [`trim`], and the pool is marked as busy.
unsafe fn discard_rest<B: StackedBackend>(state: &StackState<B>, at: *mut u8) -> usize {
    // A part of the block may be in use by another pool.
    if state.shares_memory() {
        return 0;
    }
    let own =
        state.with_chunks(|chunks| chunks.position(at).and_then(|own| chunks.get(own).copied()));
    let Some((chunk, block)) = own.and_then(|chunk| Some((chunk, NonNull::new(chunk.block)?)))
    else {
        return 0;
    };
    let from = at.addr() - chunk.block.addr();
    // SAFETY: a chunk's block, with its bytes; nothing from the cursor on is viewed (caller).
    unsafe { B::discard(&state.context, B::block_at(block), chunk.block_bytes, from) }
}

/// Makes the next pass begin with a chunk for the needs of the sampled passes, if the pool holds
/// much more.
///
/// # Safety
///
/// Same as for [`trim`].
pub(super) unsafe fn compact<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    compaction: &Compaction,
) -> ReleaseReport {
    let used = state.largest_sample.get();
    let held = state.reserved();
    let released = if used > 0 && is_oversized(held, used, compaction) {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { trim(state, at) }
    } else {
        ReleaseReport::default()
    };
    sample(state);
    released
}

/// Returns `true` if a pool that holds `held` bytes should shrink, given that at most `used` bytes
/// were live.
#[expect(clippy::cast_precision_loss, reason = "a ratio needs no exact byte count")]
fn is_oversized(held: usize, used: usize, compaction: &Compaction) -> bool {
    held as f64 >= used as f64 * compaction.factor
        && held.saturating_sub(used) >= compaction.minimum_bytes.max(1)
}

/// Sends the acquires of the next passes to the cold function, which records their needs. Samples
/// nothing if the pool is busy.
pub(super) fn sample<B: StackedBackend>(state: &StackState<B>) {
    let Some(_busy) = state.busy() else { return };
    state.largest_sample.set(0);
    state.samples_left.set(Compaction::SAMPLES);
    // The first cursor counts the passes, only by the cold function.
    state.merge_next();
}

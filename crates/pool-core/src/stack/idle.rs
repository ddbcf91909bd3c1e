//! Implements operations that free, shrink, or sample a stack's idle memory.

use core::ptr::NonNull;

use super::chunk_memory::free_above;
use super::state::StackState;
use crate::config::Compaction;
use crate::stacked::StackedBackend;
use crate::stats::ReleaseReport;

/// Frees the chunks after the cursor's chunk. If none of the pool's arrays is live, the cursor's
/// chunk is also freed. If any array is live, the unused pages of the cursor's chunk are returned
/// to the operating system. If the pool is busy, the function does not free anything.
///
/// # Safety
///
/// `at` must be the address of one of the pool's cursors, and no view of memory at or above `at`
/// may exist.
pub(super) unsafe fn trim<B: StackedBackend>(state: &StackState<B>, at: *mut u8) -> ReleaseReport {
    let Some(_busy) = state.busy() else { return ReleaseReport::default() };
    // The pool retains its first chunk if part of it is lent or borrowed, because this pool must
    // not free that memory.
    let least = usize::from(state.shares_memory());
    let first = state.with_chunks(|chunks| match chunks.position(at) {
        Some(0) if chunks.get(0).is_some_and(|chunk| chunk.start == at) => 0,
        Some(position) => position + 1,
        None => 0,
    });
    let keep = first.max(least);
    if first == 0 {
        // None of the pool's arrays is live when this code runs.
        state.forget_needs();
    }
    // SAFETY: the caller guarantees that no view of memory at or above the cursor exists. The pool
    // is marked as busy.
    let discarded_bytes = if keep > 0 { unsafe { discard_rest(state, at) } } else { 0 };
    if state.with_chunks(|chunks| chunks.len()) == keep {
        return ReleaseReport { discarded_bytes, ..ReleaseReport::default() };
    }
    // After chunks have been freed, the outer scopes' cursors might be outside all chunks
    // (invariant 1). The pool must therefore not remain settled (invariant 3).
    state.unsettle();
    // SAFETY: the freed chunks contain no array (invariant 2). The pool is marked as busy.
    let (bytes, slots) = unsafe { free_above(state, keep) };
    B::settle(&state.context);
    ReleaseReport { slots, bytes, discarded_bytes }
}

/// Releases the whole pages between the cursor and the end of the cursor's chunk to the operating
/// system. Returns the number of bytes in the released pages. The chunk and its dirty ranges do not
/// change, because the bytes of a released page are still initialized.
///
/// # Safety
///
/// The requirements are the same as for [`trim`]. In addition, the pool must be marked as busy.
unsafe fn discard_rest<B: StackedBackend>(state: &StackState<B>, at: *mut u8) -> usize {
    // No pages are released if another pool might be using part of the block.
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
    // SAFETY: `block` is a chunk's block, and `block_bytes` is that block's size. The caller
    // guarantees that no view of memory at or above the cursor exists.
    unsafe { B::discard(&state.context, B::block_at(block), chunk.block_bytes, from) }
}

/// Frees the pool's excess memory if the pool holds much more memory than the sampled passes
/// needed. As a result, the next pass begins with a chunk that is just large enough for the sampled
/// passes.
///
/// # Safety
///
/// The requirements are the same as for [`trim`].
pub(super) unsafe fn compact<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    compaction: &Compaction,
) -> ReleaseReport {
    let used = state.largest_sample.get();
    let held = state.reserved();
    let released = if used > 0 && is_oversized(held, used, compaction) {
        // SAFETY: the caller upholds the safety contract of `trim`.
        unsafe { trim(state, at) }
    } else {
        ReleaseReport::default()
    };
    sample(state);
    released
}

/// Returns `true` if a pool that holds `held` bytes should shrink. `used` is the peak number of
/// live bytes.
#[expect(clippy::cast_precision_loss, reason = "a ratio needs no exact byte count")]
fn is_oversized(held: usize, used: usize, compaction: &Compaction) -> bool {
    held as f64 >= used as f64 * compaction.factor
        && held.saturating_sub(used) >= compaction.minimum_bytes.max(1)
}

/// Causes acquires in the next passes to call the cold function. The cold function records how much
/// memory the passes need. If the pool is busy, the function has no effect.
pub(super) fn sample<B: StackedBackend>(state: &StackState<B>) {
    let Some(_busy) = state.busy() else { return };
    state.largest_sample.set(0);
    state.samples_left.set(Compaction::SAMPLES);
    // The merge causes the next pass to begin with a call to the cold function, which then counts
    // the pass.
    state.merge_next();
}

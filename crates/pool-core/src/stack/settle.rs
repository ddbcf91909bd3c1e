//! Implements the merge of a pool's chunks into one chunk. The merge takes place at a pass's first
//! acquire, when nothing in the pool is live.

use super::chunk_memory::{allocate, free_above, lengthen};
use super::memory::lines;
use super::state::StackState;
use crate::stacked::StackedBackend;

/// The divisor used to compute the slack that is added to the peak live bytes for a new chunk.
/// Because of this slack, slowly increasing lengths do not require a new chunk in every pass.
const SLACK_DIVISOR: usize = 64;

/// The divisor used to compute how many excess bytes a chunk may have before a smaller chunk
/// replaces it.
const EXCESS_DIVISOR: usize = 32;

/// Merges a pool's chunks into one chunk that is large enough for the peak live bytes. A single
/// chunk that is too large is also replaced with a chunk of this size. If the new chunk cannot be
/// allocated, the chunks do not change. The pool becomes settled if it has exactly one chunk after
/// the merge.
///
/// # Safety
///
/// None of the pool's views may be in use, and no cursor in any of its chunks may be used again.
pub(super) unsafe fn settle<B: StackedBackend>(state: &StackState<B>) {
    // If the pool is busy, one of its own operations is in progress.
    let Some(busy) = state.busy() else { return };
    state.take_capacity_peak();
    state.unsettle();
    widen(state);
    // SAFETY: the caller guarantees that no cursor or view is in use. The pool is marked as busy.
    unsafe { merge(state) };
    state.samples_left.set(state.samples_left.get().saturating_sub(1));
    let first = state.with_chunks(|chunks| {
        let count = chunks.len();
        let chunk = chunks.get_mut(0)?;
        chunk.live_before = 0;
        (count == 1).then_some(chunk.start)
    });
    if let Some(start) = first {
        state.forget_ranges_outside();
        if state.samples_left.get() > 0 {
            state.settle_sampled_at(start);
        } else {
            state.settle_at(start);
        }
    }
    // Dropping the guard sets `end` and `written_end`.
    drop(busy);
}

/// Enlarges the first chunk to the full size of its block. The chunk might be smaller than its
/// block if the pool borrowed part of the block before becoming the block's owner.
fn widen<B: StackedBackend>(state: &StackState<B>) {
    let is_lent = state.neighbours.borrower.get().is_some();
    state.with_first(|chunk| {
        if !chunk.is_borrowed() && !is_lent {
            let mask = state.most_aligned.get() - 1;
            let start = chunk.block.wrapping_add(chunk.block.addr().wrapping_neg() & mask);
            chunk.end = chunk.block.wrapping_add(chunk.block_bytes - B::ALIGN);
            // A small block might contain no address with the required alignment.
            if start.addr() <= chunk.end.addr() {
                chunk.start = start;
            }
        }
    });
}

/// # Safety
///
/// None of the pool's views or cursors may be in use, and the pool must be marked as busy.
unsafe fn merge<B: StackedBackend>(state: &StackState<B>) {
    let (count, capacity) = state.with_chunks(|chunks| {
        (chunks.len(), chunks.get(0).map_or(0, super::chunks::Chunk::capacity))
    });
    let peak = state.pass_peak.get();
    // The padding is doubled because the chunks in which the peak was counted might have started at
    // multiples of a smaller alignment.
    let padding = 2 * state.padding() + B::ALIGN;
    let needed = lines::<B>(peak) + padding;
    let generous = lines::<B>(peak + peak / SLACK_DIVISOR) + padding;
    if state.config().fresh {
        // If `fresh` is set, each array uses a separate chunk until its scope ends. SAFETY: the
        // caller guarantees that no cursor or view is in use. The pool is marked as busy.
        unsafe { free_above(state, 0) };
        return;
    }
    let may_be_larger = state.samples_left.get() > 0 || state.neighbours.lender.get().is_some();
    let is_too_large = capacity > generous + generous / EXCESS_DIVISOR && !may_be_larger;
    let fits = capacity >= lines::<B>(peak) && !is_too_large;
    if count == 0 || peak == 0 || (count == 1 && fits) {
        return;
    }
    // The pool allocates the new chunk before it frees the old ones, and therefore retains the old
    // ones if the allocation fails.
    if lengthen(state).is_err() {
        return;
    }
    let Ok(chunk) = allocate(state, needed, generous, 0) else { return };
    state.note_allocated(&chunk);
    // SAFETY: the caller guarantees that no cursor or view is in use. The pool is marked as busy.
    unsafe { free_above(state, 0) };
    state.with_chunks(|chunks| chunks.push(chunk));
}

//! The merge of a pool's chunks into one, where its first cursor is made and nothing is live.

use core::ptr::NonNull;

use super::cold::{allocate, free_above, lengthen, lines};
use super::state::StackState;
use crate::stacked::StackedBackend;

/// A chunk is made larger than the peak by this part of it, so that lengths which creep up do not move it each pass.
const SLACK_DIVISOR: usize = 64;

/// A chunk that is larger than it would be made by this part of it is made anew.
const EXCESS_DIVISOR: usize = 32;

/// The address of a pool's first cursor. Several chunks become one, as large as the most bytes that were live at once; so
/// does one chunk that is too large. Where no such chunk can be allocated, the chunks stay as they are.
///
/// # Safety
///
/// No view or cursor of the pool is in use.
#[cold]
#[inline(never)]
pub(super) unsafe fn settle<B: StackedBackend>(state: &StackState<B>) -> NonNull<u8> {
    // The first cursor is made through an exclusive borrow, so the pool is not busy; if it were, it stays as it is.
    if let Some(_busy) = state.busy() {
        // SAFETY: nothing is in use (caller), and the pool is marked.
        unsafe { merge(state) };
        if state.samples_left.get() > 0 {
            state.samples_left.set(state.samples_left.get() - 1);
        }
    }
    let first = state.with_chunks(|chunks| {
        let count = chunks.len();
        chunks.get_mut(0).map(|chunk| {
            chunk.live_before = 0;
            (chunk.start, count)
        })
    });
    let Some((start, count)) = first else { return B::address(B::DANGLING) };
    // While passes are sampled, each of them begins here.
    if count == 1 && state.samples_left.get() == 0 {
        state.pass_peak.set(0);
        state.forget_dirty_outside();
        state.base.set(start);
    }
    state.set_ends();
    // SAFETY: a chunk starts in its block, whose addresses are not null.
    unsafe { NonNull::new_unchecked(start) }
}

/// # Safety
///
/// No view or cursor of the pool is in use, and the pool is marked as busy.
unsafe fn merge<B: StackedBackend>(state: &StackState<B>) {
    let (count, capacity) = state.with_chunks(|chunks| {
        (chunks.len(), chunks.get(0).map_or(0, super::chunks::Chunk::capacity))
    });
    let peak = state.pass_peak.get();
    // The peak was counted in chunks that may have started at smaller multiples.
    let padding = 2 * state.padding() + B::ALIGN;
    let needed = lines::<B>(peak) + padding;
    let generous = lines::<B>(peak + peak / SLACK_DIVISOR) + padding;
    if state.config().fresh {
        // Each array has a chunk of its own, which its scope has ended with.
        // SAFETY: nothing is in use (caller), and the pool is marked.
        unsafe { free_above(state, 0) };
        return;
    }
    let fits = capacity <= generous + generous / EXCESS_DIVISOR || state.samples_left.get() > 0;
    if count == 0 || peak == 0 || (count == 1 && fits) {
        return;
    }
    // First the new chunk, then the old ones: where it fails, they stay.
    if lengthen(state).is_err() {
        return;
    }
    let Ok(chunk) = allocate(state, needed, generous, 0) else { return };
    state.note_allocated(&chunk);
    // SAFETY: nothing is in use (caller), and the pool is marked.
    unsafe { free_above(state, 0) };
    state.with_chunks(|chunks| chunks.push(chunk));
}

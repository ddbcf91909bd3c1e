//! Implements the chain that links a thread's pools while they are in use. The chain is ordered
//! from the outermost pool to the innermost pool. The chain contains the pools in the order in
//! which they came into use. A pool that comes into use borrows memory from the innermost pool, so
//! all of a thread's nested scopes share one stack.
//!
//! # What a pool holds
//!
//! A pool that cannot borrow enough memory allocates its own chunks and retains them. When the pool
//! leaves the chain, the next outer pool records how much memory was needed beyond its own arrays.
//! As a result, the outer pool's next pass begins with a chunk that is large enough for both pools.
//! The inner pool can borrow all of the memory that it needs from this chunk. The inner pool
//! therefore frees its chunks when it next enters the chain. If all passes are identical, the
//! thread uses a single chunk. This chunk belongs to the outermost pool and is as large as the peak
//! number of live bytes.
//!
//! If an outer pool's scope stays open, that pool cannot begin another pass or merge its chunks.
//! While the outer scope is open, the inner pool continues to use its own chunk, and no pass
//! allocates memory.
//!
//! # Why this is sound
//!
//! - **A pool in the chain is live.** A pool enters the chain when its thread takes it from the
//!   list, and leaves the chain before its thread puts it back. Another thread may free a pool only
//!   if the pool is in a list or has been replaced in a list (see the `thread_list` module). A
//!   leaked pool stays in the chain forever.
//! - **A pool that is not in the chain has no loan.** When a pool leaves the chain, it returns the
//!   memory that it borrowed and transfers the memory that it lent (see the `loans` module). No
//!   pool in the chain refers to an idle pool, so another thread can release idle pools.
//! - Another thread can replace a pool whose entry is in use. The entry still stores the original
//!   pool's address, so the original pool also leaves the chain. The replacement is not in the
//!   chain and owns all of its memory.
//! - **If a pool's `is_lean` flag is set, the pool has not changed since the flag was set.** The
//!   `enter_rarely` function checks the pool before it sets the flag. Every operation that changes
//!   the pool's chunks, counters, ranges, or modes either calls `set_ends` or schedules a merge.
//!   Calling `set_ends` and scheduling a merge both clear the flag. The `lend_simply` and
//!   `give_back_simply` functions undo each other's changes, so they do not clear the flag.
//! - Only one thread uses the chain. An allocator hook that acquires and drops guards might change
//!   the chain, but not while a function in this module is changing it. Each function therefore
//!   allocates and frees memory before it reads the innermost pool's address.

use core::cell::Cell;
use core::ptr::{NonNull, null_mut};

use super::chunk_memory::{free_above, lengthen};
use super::chunks::Chunks;
use super::loans::{Offer, give_back_simply, lend_simply, part_with};
use super::state::StackState;
use crate::stacked::StackedBackend;

/// Makes a pool the innermost pool in use. If another pool was innermost before, the new pool
/// borrows memory from that pool.
///
/// # Safety
///
/// `innermost` must contain the address of `outer`, which must be the state of a pool in the chain.
/// All pools in the chain must be live, and only this thread may use them. The pool at `root` must
/// also be live, must be used only by this thread, and must not be in the chain. None of that
/// pool's views or cursors may be in use.
#[inline(never)]
pub(super) unsafe fn enter<B: StackedBackend>(
    root: NonNull<StackState<B>>,
    innermost: &Cell<*mut ()>,
    outer: NonNull<StackState<B>>,
) {
    // SAFETY: the caller guarantees that the pool is live.
    let state = unsafe { root.as_ref() };
    if state.is_lean.get() {
        debug_assert!(state.may_borrow_simply(), "a lean pool has changed");
        // SAFETY: the caller guarantees that both pools are live and that none of the inner pool's
        // views or cursors is in use. If `is_lean` is set and the pool has no loan,
        // `may_borrow_simply` returns `true`. A pool has no loan before it enters the chain.
        if unsafe { lend_simply(outer, root) } {
            innermost.set(root.as_ptr().cast());
            state.neighbours.outer.set(Some(outer));
            // SAFETY: the caller guarantees that every pool in the chain is live.
            unsafe { outer.as_ref() }.neighbours.inner.set(Some(root));
            return;
        }
    }
    // SAFETY: the caller upholds the safety contract of `enter_rarely`.
    unsafe { enter_rarely(root, innermost) };
}

/// Implements [`enter`] for pools whose `is_lean` flag is not set and for lenders that are not in
/// their usual state.
///
/// # Safety
///
/// The requirements are the same as for [`enter`].
#[inline(never)]
unsafe fn enter_rarely<B: StackedBackend>(root: NonNull<StackState<B>>, innermost: &Cell<*mut ()>) {
    // SAFETY: the caller guarantees that the pool is live.
    let state = unsafe { root.as_ref() };
    let is_simple = state.may_borrow_simply();
    if !is_simple && is_offered_enough(state, innermost) {
        // SAFETY: the caller guarantees that none of the pool's views or cursors is in use.
        unsafe { give_up_chunks(state) };
    }
    // The innermost pool's address is read only now because an allocator hook might change the
    // chain during the preceding calls.
    let outer = NonNull::new(innermost.replace(root.as_ptr().cast()).cast::<StackState<B>>());
    state.neighbours.outer.set(outer);
    let Some(lender) = outer else { return };
    // SAFETY: the caller guarantees that every pool in the chain is live.
    let outer = unsafe { lender.as_ref() };
    outer.neighbours.inner.set(Some(root));
    outer.start_lending();
    // A pool that borrows may lend, so a loan need not tell two kinds of ends apart.
    state.start_lending();
    // SAFETY: both pools are live. The caller guarantees that none of the inner pool's views or
    // cursors is in use.
    if is_simple && unsafe { lend_simply(lender, root) } {
        state.is_lean.set(true);
        return;
    }
    let can_hold = state.with_chunks(|chunks| chunks.len() == 0 && chunks.has_room());
    if let Some(offer) = Offer::of(outer, state).filter(|_| can_hold) {
        // SAFETY: the offer was just created for these two pools. The borrower has no chunk, and
        // the caller guarantees that none of its views or cursors is in use.
        unsafe { offer.lend(lender, root) };
    }
}

/// Returns `true` if the innermost pool can lend all of the memory that the pool needs.
fn is_offered_enough<B: StackedBackend>(state: &StackState<B>, innermost: &Cell<*mut ()>) -> bool {
    let outer = innermost.get().cast::<StackState<B>>();
    // SAFETY: the address is null or refers to a live pool in the chain, as `enter` requires.
    let outer = unsafe { outer.as_ref() };
    let offer = outer.and_then(|outer| Offer::of(outer, state));
    let needed = if state.reserved() == 0 { 0 } else { most_needed(state) };
    offer.is_some_and(|offer| offer.bytes() >= needed)
}

/// Returns the peak number of live bytes in a pool's recent passes. While a pool is settled, only
/// some of its acquires are counted.
fn most_needed<B: StackedBackend>(state: &StackState<B>) -> usize {
    let (needed, counted) = (state.needed.get(), state.pass_peak.get());
    if state.is_settled() || counted == 0 { needed.max(counted) } else { counted }
}

/// Frees all of a pool's chunks and reserves capacity in its list for a borrowed chunk. If the host
/// cannot allocate the memory, the list's capacity does not change.
///
/// # Safety
///
/// None of the pool's views or cursors may be in use.
unsafe fn give_up_chunks<B: StackedBackend>(state: &StackState<B>) {
    let Some(_busy) = state.busy() else { return };
    state.unsettle();
    // SAFETY: the caller guarantees that no view or cursor is in use. The pool is marked as busy.
    unsafe { free_above(state, 0) };
    _ = lengthen(state);
}

/// Removes a pool from the chain. The pool reports the amount of memory that it needed, returns its
/// borrowed memory, and transfers its lent memory. If the pool is another chain's innermost pool,
/// the function does nothing and returns `false`.
///
/// # Safety
///
/// The requirements are the same as for [`enter`], except that the pool at `root` must be in a
/// chain and `outer` must be that pool's next outer pool. None of the pool's views or cursors may
/// be in use.
#[inline(never)]
pub(super) unsafe fn leave<B: StackedBackend>(
    root: NonNull<StackState<B>>,
    innermost: &Cell<*mut ()>,
    outer: NonNull<StackState<B>>,
) -> bool {
    // SAFETY: the caller guarantees that the pool is live.
    let state = unsafe { root.as_ref() };
    // The innermost pool has no inner pool whose link must be updated.
    if state.is_lean.get() && innermost.get() == root.as_ptr().cast() {
        // SAFETY: the caller guarantees that every pool in the chain is live.
        let lender = unsafe { outer.as_ref() };
        if give_back_simply(state, lender) {
            innermost.set(outer.as_ptr().cast());
            state.neighbours.outer.set(None);
            lender.neighbours.inner.set(None);
            return true;
        }
    }
    // SAFETY: the caller upholds the safety contract of `leave_rarely`.
    unsafe { leave_rarely(root, innermost) }
}

/// Implements [`leave`] for a pool whose `is_lean` flag is not set, a pool that is not innermost,
/// or a pool that has no outer pool.
///
/// # Safety
///
/// The requirements are the same as for [`leave`], except that the pool may have no outer pool.
#[inline(never)]
pub(super) unsafe fn leave_rarely<B: StackedBackend>(
    root: NonNull<StackState<B>>,
    innermost: &Cell<*mut ()>,
) -> bool {
    // SAFETY: the caller guarantees that the pool is live.
    let state = unsafe { root.as_ref() };
    let (outer, inner) = (state.neighbours.outer.get(), state.neighbours.inner.get());
    if let Some(inner) = inner {
        // SAFETY: the caller guarantees that every pool in the chain is live.
        unsafe { inner.as_ref() }.neighbours.outer.set(outer);
    } else if innermost.get() == root.as_ptr().cast() {
        innermost.set(outer.map_or(null_mut(), |outer| outer.as_ptr().cast()));
    } else {
        return false;
    }
    state.neighbours.outer.set(None);
    state.neighbours.inner.set(None);
    if let Some(outer) = outer {
        // SAFETY: the caller guarantees that every pool in the chain is live.
        let outer = unsafe { outer.as_ref() };
        outer.neighbours.inner.set(inner);
        if give_back_simply(state, outer) {
            return true;
        }
        state.take_capacity_peak();
        report(state, outer);
    }
    if state.shares_memory() {
        if let Some(chunk) = state.with_chunks(Chunks::take_first) {
            // SAFETY: the caller guarantees that none of the pool's views or cursors is in use.
            unsafe { part_with(state, &chunk) };
        }
        state.unsettle();
    }
    true
}

/// Records how many bytes were live beyond the outer pool's own arrays. Nothing is recorded if the
/// outer pool was able to lend these bytes and is not being sampled. If the outer pool was unable
/// to lend enough bytes, its next pass begins with a larger chunk.
fn report<B: StackedBackend>(state: &StackState<B>, outer: &StackState<B>) {
    let is_sampled = outer.samples_left.get() > 0;
    let needed = match most_needed(state) {
        // A pool that owns no chunks was able to borrow enough memory, unless the cold function
        // counted more live bytes.
        _ if state.reserved() == 0 && !is_sampled => state.pass_peak.get(),
        0 => state.borrowed(),
        needed => needed,
    };
    if needed == 0 {
        return;
    }
    let top = outer.top.get();
    let (live, capacity) = outer.with_chunks(|chunks| {
        let position = chunks.position(top);
        let live = position.and_then(|at| chunks.get(at)).map_or(0, |chunk| chunk.live_at(top));
        let unlent_end = outer.neighbours.unlent_end.get();
        let first = chunks.get(0).filter(|_| chunks.len() == 1);
        let end = |end: *mut u8| if unlent_end.is_null() { end } else { unlent_end };
        (live, first.map_or(0, |chunk| end(chunk.end).addr() - chunk.start.addr()))
    });
    let total = live.next_multiple_of(state.most_aligned.get()).saturating_add(needed);
    if total > capacity || is_sampled {
        outer.pass_peak.set(outer.pass_peak.get().max(total));
        outer.largest_sample.set(outer.largest_sample.get().max(total));
    }
    if total > capacity {
        outer.merge_next();
    }
}

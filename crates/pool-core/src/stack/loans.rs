//! Implements loans of memory between two stacks. The lender lends the rest of its chunk, which
//! becomes the borrower's first chunk.
//!
//! # Why this is sound
//!
//! - **The lender has no view of the lent memory**. A pool lends memory only while it is settled
//!   and only at or above its `top`. Each time a cursor of a pool that may lend memory reserves
//!   memory, the cursor's next position is stored in `top`. When a scope is opened directly from
//!   the pool, its cursor's position is stored in `top`. The innermost cursor was the last one to
//!   move. Any scope opened inside the innermost cursor's scope either has ended or has a cursor
//!   below `top`, so no cursor in use is above `top`. All cursors in use are in the chunk
//!   (invariant 3).
//! - **The lender cannot access the lent memory**. The end of the lender's chunk and the lender's
//!   `lender_ends` are lowered to the start of the lent memory, and its `ends` are null. A cursor
//!   that needs more memory calls the cold function, which allocates another chunk. At most one
//!   pool can borrow from a given pool at a time.
//! - **The block remains allocated**. Only [`free`](super::chunk_memory::free) frees chunks. If the
//!   chunk is lent, `free` transfers the block to the borrower, which then owns the block. If the
//!   chunk is borrowed, `free` returns the memory to the lender. The `free` function runs only
//!   while the pool has no array in the chunk.
//! - **The borrower returns only memory that has no views**. The borrower returns a chunk's memory
//!   when it drops the chunk, and returns all borrowed memory when its guard is dropped. A
//!   forgotten guard returns no memory, so its views remain valid until the process exits.
//! - **A loan does not change which bytes are dirty**. The dirty ranges of lent memory are moved to
//!   the borrower and, when the memory is returned, moved back to the lender.
//!
//! The pool that owns the block counts the borrowed bytes as reserved. Borrowed bytes count toward
//! the limits of both pools.

use core::ptr::{NonNull, null_mut, without_provenance_mut};

use super::chunks::{Chunk, Chunks};
use super::state::{STRAY, StackState};
use crate::stacked::StackedBackend;

/// The memory that a pool may lend. The memory extends from the lender's `top` to the end of the
/// lender's chunk.
pub(super) struct Offer {
    /// The chunk that the borrower would receive.
    chunk: Chunk,
    /// The end of the lender's chunk.
    lender_end: *mut u8,
}

impl Offer {
    /// Returns the memory that `lender` can currently lend to `borrower`. Returns `None` if
    /// `lender` cannot lend any memory.
    pub(super) fn of<B: StackedBackend>(
        lender: &StackState<B>,
        borrower: &StackState<B>,
    ) -> Option<Self> {
        // A busy pool lends nothing, because memory at `top` might be reserved for an array that
        // the cursor has not yet moved past.
        let may_lend = lender.may_lend()
            && lender.is_settled()
            && !lender.is_busy()
            && lender.neighbours.borrower.get().is_none()
            && !lender.config().fresh
            && B::may_exchange_blocks(&lender.context, &borrower.context);
        if !may_lend || borrower.config().fresh {
            return None;
        }
        let top = lender.top.get();
        let first = lender.with_chunks(|chunks| chunks.get(0).copied());
        let lender_end = first.filter(|chunk| chunk.contains(top))?.end;
        let padding = top.addr().wrapping_neg() & (borrower.most_aligned.get() - 1);
        let room = (lender_end.addr() - top.addr()).checked_sub(padding)?;
        // The offer is limited to the number of bytes that the borrower may reserve.
        let bytes = room.min(borrower.config().byte_limit & !(B::ALIGN - 1));
        let start = top.wrapping_add(padding);
        let end = start.wrapping_add(bytes);
        let chunk = Chunk { block: null_mut(), start, end, block_bytes: 0, live_before: 0 };
        (bytes > 0).then_some(Self { chunk, lender_end })
    }

    /// Returns the number of bytes that the borrower would receive.
    pub(super) fn bytes(&self) -> usize {
        self.chunk.capacity()
    }

    /// Lends the memory to the borrower and settles the borrower in that memory.
    ///
    /// # Safety
    ///
    /// The offer must have just been created for these two pools, and both pools must remain live
    /// until the loan ends. The borrower must have no chunk, and its list must have capacity for
    /// one chunk. None of the borrower's views or cursors may be in use.
    pub(super) unsafe fn lend<B: StackedBackend>(
        self,
        lender: NonNull<StackState<B>>,
        borrower: NonNull<StackState<B>>,
    ) {
        // SAFETY: the caller guarantees that the borrower is live.
        let to = unsafe { borrower.as_ref() };
        // SAFETY: the caller guarantees that the lender is live.
        let from = unsafe { lender.as_ref() };
        let lent = from.top.get();
        // The borrower has no memory, so its dirty ranges can refer only to chunks that have been
        // freed.
        to.dirty.keep_within(&(0..0));
        from.dirty.move_to(&to.dirty, &(lent.addr()..self.lender_end.addr()));
        from.with_first(|chunk| chunk.end = lent);
        from.neighbours.unlent_end.set(self.lender_end);
        from.neighbours.borrower.set(Some(borrower));
        from.set_ends();
        to.neighbours.lender.set(Some(lender));
        to.with_chunks(|chunks| chunks.push(self.chunk));
        // The borrower begins a new pass when it receives the memory.
        to.samples_left.set(to.samples_left.get().saturating_sub(1));
        to.top.set(self.chunk.start);
        to.settle_at(self.chunk.start);
    }
}

/// Works like [`Offer::lend`], but lends memory only if both pools are in their usual state. If
/// either pool is not in this state, the function does nothing and returns `false`.
///
/// # Safety
///
/// Both pools must remain live until the loan ends. None of the borrower's views or cursors may be
/// in use, and [`may_borrow_simply`](StackState::may_borrow_simply) must return `true` for the
/// borrower.
#[inline(always)]
pub(super) unsafe fn lend_simply<B: StackedBackend>(
    lender: NonNull<StackState<B>>,
    borrower: NonNull<StackState<B>>,
) -> bool {
    // SAFETY: the caller guarantees that the borrower is live.
    let to = unsafe { borrower.as_ref() };
    // SAFETY: the caller guarantees that the lender is live.
    let from = unsafe { lender.as_ref() };
    let (top, end) = (from.top.get(), from.lender_ends.written_end.get());
    // If `end` and `written_end` are equal, both are the end of the chunk or both are null. They
    // are null if the pool does not keep `top` up to date.
    let is_plain = from.lender_ends.end.get() == end && from.neighbours.borrower.get().is_none();
    let has_room = from.origin.get().addr() <= top.addr() && top.addr() < end.addr();
    if !is_plain || !has_room || !B::may_exchange_blocks(&from.context, &to.context) {
        return false;
    }
    // SAFETY: `written_end` is not null, so the pool is settled and therefore has one chunk
    // (invariant 3).
    from.with_chunks(|chunks| unsafe { chunks.set_first_end(top) });
    from.neighbours.unlent_end.set(end);
    from.neighbours.borrower.set(Some(borrower));
    from.lender_ends.set(top, top);
    to.neighbours.lender.set(Some(lender));
    let chunk = Chunk { block: null_mut(), start: top, end, block_bytes: 0, live_before: 0 };
    // SAFETY: the caller guarantees that `may_borrow_simply` returns `true`, so the list is empty
    // and has capacity for one chunk.
    to.with_chunks(|chunks| unsafe { chunks.push_first(chunk) });
    to.base.set(top);
    to.origin.set(top);
    to.top.set(top);
    debug_assert!(to.may_lend(), "a pool that borrows may lend");
    to.lender_ends.set(end, end);
    true
}

/// Returns a pool's only chunk to the chunk's lender if both pools are in their usual state. If
/// either pool is not in this state, the function does nothing and returns `false`. None of the
/// pool's views or cursors may be in use.
#[inline(always)]
pub(super) fn give_back_simply<B: StackedBackend>(
    state: &StackState<B>,
    lender: &StackState<B>,
) -> bool {
    let links = &state.neighbours;
    let is_lender = links.lender.get() == Some(NonNull::from(lender));
    let end = lender.lender_ends.written_end.get();
    // In the lender's usual state, `end` and `written_end` are at the start of the lent memory and
    // no bytes are dirty.
    let is_plain = !end.is_null() && lender.lender_ends.end.get() == end && lender.dirty.is_empty();
    // In the borrower's usual state, no live bytes have been counted and no bytes are dirty.
    let is_unchanged = state.is_lean.get()
        || state.reserved() == 0 && state.has_counted_nothing() && state.dirty.is_empty();
    if !is_lender || !is_plain || !is_unchanged || links.borrower.get().is_some() {
        return false;
    }
    links.lender.set(None);
    state.with_chunks(Chunks::clear);
    state.base.set(without_provenance_mut(STRAY));
    state.origin.set(null_mut());
    // The other ends are null, because a pool that has borrowed may lend.
    state.lender_ends.set(null_mut(), null_mut());
    lender.neighbours.borrower.set(None);
    let end = lender.neighbours.unlent_end.replace(null_mut());
    // SAFETY: the lender's `written_end` was not null, so the lender is settled and therefore has
    // one chunk (invariant 3).
    lender.with_chunks(|chunks| unsafe { chunks.set_first_end(end) });
    lender.lender_ends.set(end, end);
    true
}

/// Gives up a chunk that was removed from the pool's list. The function transfers the block to its
/// borrower or returns the memory to its lender. Returns `false` if the chunk is neither lent nor
/// borrowed.
///
/// # Safety
///
/// None of the pool's views or cursors in the chunk may be used after this call.
pub(super) unsafe fn part_with<B: StackedBackend>(state: &StackState<B>, chunk: &Chunk) -> bool {
    let links = &state.neighbours;
    let holds_lent =
        chunk.is_borrowed() || chunk.block_addresses().contains(&links.unlent_end.get().addr());
    let borrower = if holds_lent { links.borrower.take() } else { None };
    if let Some(borrower) = borrower {
        // SAFETY: a pool's borrower is live because every borrower gives up its borrowed chunk
        // before it is destroyed.
        unsafe { hand_over(state, chunk, borrower) };
        return true;
    }
    if chunk.is_borrowed() {
        if let Some(lender) = links.lender.take() {
            // SAFETY: a pool's lender is live because every lender transfers a lent chunk to the
            // borrower before the lender is destroyed.
            give_back(state, unsafe { lender.as_ref() });
        }
        return true;
    }
    false
}

/// Transfers a lent chunk to the borrower. The borrower becomes the owner of the chunk's block. If
/// the chunk itself is borrowed, the borrower takes over that loan.
///
/// # Safety
///
/// `borrower` must be live, and its first chunk must be part of the memory that was lent.
unsafe fn hand_over<B: StackedBackend>(
    state: &StackState<B>,
    chunk: &Chunk,
    borrower: NonNull<StackState<B>>,
) {
    // SAFETY: the caller guarantees that the borrower is live.
    let heir = unsafe { borrower.as_ref() };
    let links = &state.neighbours;
    links.unlent_end.set(null_mut());
    let lender = links.lender.take();
    heir.neighbours.lender.set(lender);
    let addresses = if let Some(lender) = lender {
        // SAFETY: a pool's lender is live because every lender transfers a lent chunk to the
        // borrower before the lender is destroyed.
        let lender = unsafe { lender.as_ref() };
        lender.neighbours.borrower.set(Some(borrower));
        lent_addresses(lender)
    } else {
        heir.with_first(|first| {
            (first.block, first.block_bytes) = (chunk.block, chunk.block_bytes);
        });
        state.remove_reserved(chunk.block_bytes);
        heir.add_reserved(chunk.block_bytes);
        // The borrower's next merge enlarges the chunk to the size of its block.
        heir.merge_next();
        chunk.block_addresses()
    };
    state.dirty.move_to(&heir.dirty, &addresses);
    heir.set_ends();
}

/// Returns a pool's borrowed memory to its lender.
fn give_back<B: StackedBackend>(state: &StackState<B>, lender: &StackState<B>) {
    let links = &lender.neighbours;
    links.borrower.set(None);
    state.dirty.move_to(&lender.dirty, &lent_addresses(lender));
    let end = links.unlent_end.replace(null_mut());
    lender.with_first(|chunk| chunk.end = end);
    lender.set_ends();
}

/// Returns the address range of the memory that a pool has lent out.
fn lent_addresses<B: StackedBackend>(lender: &StackState<B>) -> core::ops::Range<usize> {
    let start = lender.with_chunks(|chunks| chunks.get(0).map(|chunk| chunk.end.addr()));
    let end = lender.neighbours.unlent_end.get().addr();
    start.unwrap_or(end)..end
}

//! Memory that one stack lends to another: the rest of the lender's chunk is the first chunk of the borrower.
//!
//! # Why this is sound
//!
//! - **No view of the lender is there.** A pool lends only while it is settled, from its `top` on. Each step of a
//!   cursor stores the cursor, and a scope that begins in the pool itself stores its first one. The step was that of
//!   the innermost cursor, and scopes inside it have ended or are below, so no cursor in use is above `top`. All are in
//!   the chunk (invariant 3).
//! - **The lender cannot reach it.** Its chunk ends where the lent memory begins, and so do its ends. A cursor that
//!   needs more calls the cold function, and gets another chunk. Only one pool borrows from a pool at a time.
//! - **The block stays.** A chunk is freed by [`free`](super::chunk_memory::free) alone. If the chunk is lent, it hands
//!   the block over to the borrower, which owns it from then on. If the chunk is borrowed, it gives the memory back.
//!   Both happen only while the pool has nothing in the chunk.
//! - **The borrower gives back only memory without views**: a chunk that it drops, or all of it when its guard is
//!   dropped. A forgotten guard gives nothing back, so its views stay valid until the process ends.
//! - **A dirty byte stays dirty.** Dirty ranges of the lent memory move to the borrower, and back.
//!
//! The pool that owns the block counts borrowed bytes as reserved. They count for the limits of both pools.

use core::ptr::{NonNull, null_mut, without_provenance_mut};

use super::chunks::{Chunk, Chunks};
use super::state::{STRAY, StackState};
use crate::stacked::StackedBackend;

/// Memory that may be lent: from the lender's `top` to the end of its chunk.
pub(super) struct Offer {
    /// The chunk of the borrower.
    chunk: Chunk,
    /// The end of the lender's chunk.
    lender_end: *mut u8,
}

impl Offer {
    /// Returns the memory that a pool can lend to another one now; `None` if there is none.
    pub(super) fn of<B: StackedBackend>(
        lender: &StackState<B>,
        borrower: &StackState<B>,
    ) -> Option<Self> {
        // In the middle of an operation, memory at `top` may be reserved for an array that the cursor has not stepped past.
        let may_lend = lender.is_settled()
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
        // At most the bytes that the borrower may reserve.
        let bytes = room.min(borrower.config().byte_limit & !(B::ALIGN - 1));
        let start = top.wrapping_add(padding);
        let end = start.wrapping_add(bytes);
        let chunk = Chunk { block: null_mut(), start, end, block_bytes: 0, live_before: 0 };
        (bytes > 0).then_some(Self { chunk, lender_end })
    }

    /// Returns the bytes that the borrower would have.
    pub(super) fn bytes(&self) -> usize {
        self.chunk.capacity()
    }

    /// Lends the memory. The borrower is settled in it.
    ///
    /// # Safety
    ///
    /// The offer was just made for these pools. Both are live until they part with the chunk. The borrower has no
    /// chunk, and its list has room for one; no view or cursor of it is in use.
    pub(super) unsafe fn lend<B: StackedBackend>(
        self,
        lender: NonNull<StackState<B>>,
        borrower: NonNull<StackState<B>>,
    ) {
        // SAFETY: live (caller).
        let to = unsafe { borrower.as_ref() };
        // SAFETY: as above.
        let from = unsafe { lender.as_ref() };
        let lent = from.top.get();
        // The borrower has no memory, so its notes are about freed chunks.
        to.dirty.keep_within(&(0..0));
        from.dirty.move_to(&to.dirty, &(lent.addr()..self.lender_end.addr()));
        from.with_first(|chunk| chunk.end = lent);
        from.neighbours.unlent_end.set(self.lender_end);
        from.neighbours.borrower.set(Some(borrower));
        from.set_ends();
        to.neighbours.lender.set(Some(lender));
        to.with_chunks(|chunks| chunks.push(self.chunk));
        // A pass begins here.
        to.samples_left.set(to.samples_left.get().saturating_sub(1));
        to.top.set(self.chunk.start);
        to.settle_at(self.chunk.start);
    }
}

/// Does the same as [`Offer::lend`] if both pools are in the usual state. Otherwise returns `false`.
///
/// # Safety
///
/// Both pools are live until they part with the chunk. No view or cursor of the borrower is in use, and
/// [`may_borrow_simply`](StackState::may_borrow_simply) holds for it.
#[inline(always)]
pub(super) unsafe fn lend_simply<B: StackedBackend>(
    lender: NonNull<StackState<B>>,
    borrower: NonNull<StackState<B>>,
) -> bool {
    // SAFETY: live (caller).
    let to = unsafe { borrower.as_ref() };
    // SAFETY: as above.
    let from = unsafe { lender.as_ref() };
    let (top, end) = (from.top.get(), from.written_end.get());
    // Both ends are the chunk's, or null.
    let is_plain = from.end.get() == end && from.neighbours.borrower.get().is_none();
    let has_room = from.origin.get().addr() <= top.addr() && top.addr() < end.addr();
    if !is_plain || !has_room || !B::may_exchange_blocks(&from.context, &to.context) {
        return false;
    }
    // SAFETY: the pool is settled, because its ends are not null: it has one chunk (invariant 3).
    from.with_chunks(|chunks| unsafe { chunks.set_first_end(top) });
    from.neighbours.unlent_end.set(end);
    from.neighbours.borrower.set(Some(borrower));
    from.end.set(top);
    from.written_end.set(top);
    to.neighbours.lender.set(Some(lender));
    let chunk = Chunk { block: null_mut(), start: top, end, block_bytes: 0, live_before: 0 };
    // SAFETY: the list is empty and has capacity, because `may_borrow_simply` holds (caller).
    to.with_chunks(|chunks| unsafe { chunks.push_first(chunk) });
    to.base.set(top);
    to.origin.set(top);
    to.top.set(top);
    to.end.set(end);
    to.written_end.set(end);
    true
}

/// Gives a pool's only chunk back to its lender, if both pools are in the usual state. Otherwise returns `false`. No
/// view or cursor of the pool is in use.
#[inline(always)]
pub(super) fn give_back_simply<B: StackedBackend>(
    state: &StackState<B>,
    lender: &StackState<B>,
) -> bool {
    let links = &state.neighbours;
    let is_lender = links.lender.get() == Some(NonNull::from(lender));
    let end = lender.written_end.get();
    // The lender's ends are where the lent memory begins, or null.
    let is_plain = !end.is_null() && lender.end.get() == end && lender.dirty.is_empty();
    // The pool has counted nothing, and no byte is dirty.
    let is_unchanged = state.is_lean.get()
        || state.reserved() == 0 && state.has_counted_nothing() && state.dirty.is_empty();
    if !is_lender || !is_plain || !is_unchanged || links.borrower.get().is_some() {
        return false;
    }
    links.lender.set(None);
    state.with_chunks(Chunks::clear);
    state.base.set(without_provenance_mut(STRAY));
    state.origin.set(null_mut());
    state.end.set(null_mut());
    state.written_end.set(null_mut());
    lender.neighbours.borrower.set(None);
    let end = lender.neighbours.unlent_end.replace(null_mut());
    // SAFETY: the lender is settled, because its ends are not null: it has one chunk (invariant 3).
    lender.with_chunks(|chunks| unsafe { chunks.set_first_end(end) });
    lender.end.set(end);
    lender.written_end.set(end);
    true
}

/// Parts with a chunk that was taken out of the pool's list. Hands the block over to its borrower, or gives the memory
/// back to its lender. Returns `false` if the chunk is neither lent nor borrowed.
///
/// # Safety
///
/// No view or cursor of the pool that may be used again is in the chunk.
pub(super) unsafe fn part_with<B: StackedBackend>(state: &StackState<B>, chunk: &Chunk) -> bool {
    let links = &state.neighbours;
    let holds_lent =
        chunk.is_borrowed() || chunk.block_addresses().contains(&links.unlent_end.get().addr());
    let borrower = if holds_lent { links.borrower.take() } else { None };
    if let Some(borrower) = borrower {
        // SAFETY: a pool's borrower is live: it would have parted with the chunk before.
        unsafe { hand_over(state, chunk, borrower) };
        return true;
    }
    if chunk.is_borrowed() {
        if let Some(lender) = links.lender.take() {
            // SAFETY: a pool's lender is live: it would have handed the chunk over before.
            give_back(state, unsafe { lender.as_ref() });
        }
        return true;
    }
    false
}

/// Makes the borrower the owner of a lent chunk's block, or of the loan that the chunk itself is.
///
/// # Safety
///
/// `borrower` is live, and its first chunk is a part of the memory that was lent.
unsafe fn hand_over<B: StackedBackend>(
    state: &StackState<B>,
    chunk: &Chunk,
    borrower: NonNull<StackState<B>>,
) {
    // SAFETY: the caller's promise.
    let heir = unsafe { borrower.as_ref() };
    let links = &state.neighbours;
    links.unlent_end.set(null_mut());
    let lender = links.lender.take();
    heir.neighbours.lender.set(lender);
    let addresses = if let Some(lender) = lender {
        // SAFETY: live, as in `part_with`.
        let lender = unsafe { lender.as_ref() };
        lender.neighbours.borrower.set(Some(borrower));
        lent_addresses(lender)
    } else {
        heir.with_first(|first| {
            (first.block, first.block_bytes) = (chunk.block, chunk.block_bytes);
        });
        state.remove_reserved(chunk.block_bytes);
        heir.add_reserved(chunk.block_bytes);
        // Then the chunk becomes as large as its block.
        heir.merge_next();
        chunk.block_addresses()
    };
    state.dirty.move_to(&heir.dirty, &addresses);
    heir.set_ends();
}

/// Gives a pool's borrowed memory back to its lender.
fn give_back<B: StackedBackend>(state: &StackState<B>, lender: &StackState<B>) {
    let links = &lender.neighbours;
    links.borrower.set(None);
    state.dirty.move_to(&lender.dirty, &lent_addresses(lender));
    let end = links.unlent_end.replace(null_mut());
    lender.with_first(|chunk| chunk.end = end);
    lender.set_ends();
}

/// Returns the addresses of the memory that a pool has lent.
fn lent_addresses<B: StackedBackend>(lender: &StackState<B>) -> core::ops::Range<usize> {
    let start = lender.with_chunks(|chunks| chunks.get(0).map(|chunk| chunk.end.addr()));
    let end = lender.neighbours.unlent_end.get().addr();
    start.unwrap_or(end)..end
}

//! Provides functions that allocate and free chunks.

use core::ptr::NonNull;

use super::chunks::{Chunk, Chunks};
use super::loans::part_with;
use super::state::StackState;
use crate::backend::Advice;
use crate::error::PoolError;
use crate::stacked::StackedBackend;

/// Frees all chunks except the first `keep` chunks. Returns the number of bytes and the number of
/// chunks that were freed.
///
/// # Safety
///
/// No view of these chunks may exist, and the pool must be marked as busy or exclusively borrowed.
pub(super) unsafe fn free_above<B: StackedBackend>(
    state: &StackState<B>,
    keep: usize,
) -> (usize, usize) {
    let (mut bytes, mut count) = (0, 0);
    while let Some(chunk) = state.with_chunks(|chunks| chunks.pop_above(keep)) {
        // SAFETY: the chunk was removed from the list. The caller guarantees that no view of the
        // chunk exists.
        let freed = unsafe { free(state, chunk) };
        bytes += freed;
        count += usize::from(freed > 0);
    }
    (bytes, count)
}

/// Frees a chunk that was removed from the list and returns its size in bytes. Instead of being
/// freed, a lent chunk is transferred to its borrower, and a borrowed chunk is returned to its
/// lender. The function returns 0 for a lent or borrowed chunk.
///
/// # Safety
///
/// The chunk must belong to this pool, and no view of the chunk may be in use. The pool must be
/// marked as busy or exclusively borrowed.
pub(super) unsafe fn free<B: StackedBackend>(state: &StackState<B>, chunk: Chunk) -> usize {
    // SAFETY: the caller guarantees that no view of the chunk is in use.
    if unsafe { part_with(state, &chunk) } {
        return 0;
    }
    state.dirty.remove(&chunk.block_addresses());
    // The armed bytes need no call to `reuse_bytes`, because the backend's `free` takes effect only
    // once all work on the block has finished.
    state.armed.remove(&chunk.block_addresses());
    state.remove_reserved(chunk.block_bytes);
    // SAFETY: a block's address is never null.
    let block = unsafe { NonNull::new_unchecked(chunk.block) };
    // SAFETY: `B` allocated the block with this number of bytes. The caller guarantees that no view
    // of the block is in use.
    unsafe { B::free(&state.context, B::block_at(block), chunk.block_bytes) };
    chunk.block_bytes
}

/// Ensures that the list has capacity for one more chunk.
///
/// # Errors
///
/// Returns [`PoolError::Bookkeeping`] if the host cannot allocate memory for the longer list.
pub(super) fn lengthen<B: StackedBackend>(
    state: &StackState<B>,
) -> Result<(), PoolError<B::Error>> {
    if state.with_chunks(|chunks| chunks.has_room()) {
        return Ok(());
    }
    let count = state.with_chunks(|chunks| chunks.len());
    let longer = Chunks::longer(2 * count);
    let longer = longer.map_err(|requested| PoolError::Bookkeeping { requested })?;
    // The old list is freed outside the closure because the allocator might run user code.
    drop(state.with_chunks(|chunks| chunks.move_to(longer)));
    Ok(())
}

/// Allocates a block of `generous` bytes. If the allocation fails, the function calls the backend's
/// `settle` and then allocates a block of `needed` bytes. The block becomes a chunk. `live` is the
/// number of live bytes in earlier chunks.
///
/// # Errors
///
/// Returns [`PoolError::LimitExceeded`] or [`PoolError::OutOfMemory`] if the block cannot be
/// allocated.
pub(super) fn allocate<B: StackedBackend>(
    state: &StackState<B>,
    needed: usize,
    generous: usize,
    live: usize,
) -> Result<Chunk, PoolError<B::Error>> {
    let config = state.config();
    let advice = Advice { huge_pages: config.huge_pages };
    let room = state.room() & !(B::ALIGN - 1);
    let reserved = state.reserved();
    if needed > room {
        let limit = config.byte_limit;
        return Err(PoolError::LimitExceeded { requested: needed, reserved, limit });
    }
    let generous = generous.clamp(needed, room);
    let (block, block_bytes) = match B::allocate(&state.context, generous, advice) {
        Ok(block) => (block, generous),
        Err(_) => {
            B::settle(&state.context);
            match B::allocate(&state.context, needed, advice) {
                Ok(block) => (block, needed),
                Err(source) => {
                    let largest = state.with_chunks(|chunks| chunks.largest());
                    return Err(PoolError::OutOfMemory {
                        requested: needed,
                        reserved,
                        largest,
                        source,
                    });
                }
            }
        }
    };
    let block = B::address(block).as_ptr();
    let start = block.wrapping_add(block.addr().wrapping_neg() & (state.most_aligned.get() - 1));
    let end = block.wrapping_add(block_bytes - B::ALIGN);
    Ok(Chunk { block, start, end, block_bytes, live_before: live })
}

//! Implements a stack's cold function, which handles all rare cases of an acquire. The rare cases
//! are the end of a chunk, an unsettled pool, a dirty range, and an enabled configuration mode. A
//! single comparison diverts all of these cases to [`prepare`].

use core::alloc::Layout;
use core::ptr::NonNull;

use super::chunk_memory::{allocate, free, free_above, lengthen};
use super::chunks::{Chunk, Chunks};
use super::memory::{MOST_HOT_BYTES, Span, fit_bytes, lines};
use super::settle::settle;
use super::state::{STRAY, StackState};
use crate::backend::FirstUse;
use crate::error::{PoolError, panic_with};
use crate::stacked::StackedBackend;

/// The elements for which an acquire requires memory.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub(super) length: usize,
    /// The number of elements that is sufficient if the chunk cannot hold `length` elements.
    /// `least` is less than `length` only for a vector that grows.
    pub(super) least: usize,
    pub(super) element: Layout,
    pub(super) first_use: FirstUse,
    /// The number of leading bytes in the memory that retain their contents. `kept_bytes` is
    /// greater than 0 only for a vector that grows in place.
    pub(super) kept_bytes: usize,
    /// `true` if the memory at the cursor belongs to a vector. The vector retains this memory if
    /// the demand cannot be met.
    pub(super) is_growth: bool,
}

impl Demand {
    /// Creates a demand for `length` elements of `T`.
    #[inline(always)]
    pub(super) const fn new<T>(length: usize, first_use: FirstUse) -> Self {
        let element = Layout::new::<T>();
        Self { length, least: length, element, first_use, kept_bytes: 0, is_growth: false }
    }

    /// Returns the total size of the elements in bytes. `padding` is the maximum number of bytes
    /// that might remain unused before the start of a chunk.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::SizeOverflow`] if a chunk for the elements would exceed `isize::MAX`
    /// bytes.
    fn bytes<B: StackedBackend>(self, padding: usize) -> Result<usize, PoolError<B::Error>> {
        let element_size = self.element.size();
        let most = isize::MAX as usize - 2 * B::ALIGN - self.element.align().max(padding);
        let bytes = self.length.checked_mul(element_size).filter(|&bytes| bytes <= most);
        bytes.ok_or(PoolError::SizeOverflow { elements: self.length, element_size })
    }
}

/// Returns the span of `length` elements at a cursor if the span ends at or below `written_end` and
/// contains no dirty bytes. `end` is at or below the lowest dirty byte. An acquire above a live
/// array that contains padding therefore fails the comparison with `end`, even if the acquired
/// memory is clean.
///
/// Returning the span is sound because the span ends at or below `written_end`. The span may
/// therefore be handed out (invariants 3 and 12), and its bytes are initialized (invariant 6).
#[inline]
fn clean_span<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    length: usize,
    element: Layout,
) -> Option<Span> {
    let bytes = length.checked_mul(element.size()).filter(|&bytes| bytes <= MOST_HOT_BYTES)?;
    let span = fit_bytes(state, NonNull::new(at)?, bytes, FirstUse::Write)?;
    let is_usual = bytes > 0 && element.align() <= B::ALIGN;
    (is_usual && state.dirty.is_clean(&(at.addr()..span.next.addr()))).then_some(span)
}

/// Finds memory for a demand, either at the cursor or in one of the pool's later chunks. The
/// function stores the cursor's position after the memory in `top`.
///
/// # Errors
///
/// Returns the same errors as the acquire methods.
///
/// # Safety
///
/// `at` must be the address of one of the pool's cursors. No view of memory at or above `at` may
/// exist, except for the first `kept_bytes` bytes of a vector.
#[cold]
#[inline(never)]
pub(super) unsafe fn prepare<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    demand: Demand,
) -> Result<Span, PoolError<B::Error>> {
    let clean = match demand.first_use {
        FirstUse::Read => clean_span(state, at, demand.length, demand.element),
        FirstUse::Write => None,
    };
    if let Some(span) = clean {
        return Ok(span);
    }
    // SAFETY: the caller upholds the safety contract of `prepare_rarely`.
    unsafe { prepare_rarely(state, at, demand) }
}

/// Implements [`prepare`] for all but the simplest demands. The pool might have to allocate memory,
/// zero memory, or call the backend's `reuse_bytes`.
///
/// # Errors
///
/// Returns the same errors as the acquire methods.
///
/// # Safety
///
/// The requirements are the same as for [`prepare`].
#[inline(never)]
unsafe fn prepare_rarely<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    demand: Demand,
) -> Result<Span, PoolError<B::Error>> {
    let bytes = demand.bytes::<B>(state.padding())?;
    if at.addr() == STRAY {
        // A cursor at `STRAY` begins a pass, so the pool is settled first. SAFETY: nothing in the
        // pool is in use, because none of a pool's arrays is below a stray cursor (invariant 1).
        unsafe { settle(state) };
    }
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    if bytes == 0 {
        state.top.set(at);
        // SAFETY: the addresses of a pool's memory are never null.
        return Ok(nothing(unsafe { NonNull::new_unchecked(at) }, demand.element.align()));
    }
    state.most_aligned.set(state.most_aligned.get().max(demand.element.align()));
    // SAFETY: the caller upholds the safety contract of `find`. The pool is marked as busy.
    let (span, live) = match unsafe { find(state, at, bytes, demand) } {
        Some(found) => found,
        // SAFETY: the caller upholds the safety contract of `grow_within_limit`. The pool is marked
        // as busy.
        None => unsafe { grow_within_limit(state, at, bytes, demand) }?,
    };
    // The span might be shorter than `bytes` bytes if a vector received only the remainder of its
    // chunk.
    let bytes = bytes.min(span.next.addr() - span.start.addr().get());
    // SAFETY: the caller guarantees that no view of the span exists beyond `kept_bytes`. The pool
    // is marked as busy.
    unsafe { put_in_order(state, span, bytes, demand) }?;
    if demand.least < demand.length {
        state.note_capacity(live, span.next);
    } else {
        state.note_live(live);
    }
    state.cold_acquires.increment();
    state.top.set(span.next);
    Ok(span)
}

/// The panicking version of [`prepare`], for elements that might be read before they are written.
///
/// # Safety
///
/// The requirements are the same as for [`prepare`].
#[cold]
#[inline(never)]
#[track_caller]
pub(super) unsafe fn prepare_or_panic<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    length: usize,
    element: Layout,
) -> Span {
    match clean_span(state, at, length, element) {
        Some(span) => span,
        // SAFETY: the caller upholds the safety contract of `prepare_rarely_or_panic`.
        None => unsafe { prepare_rarely_or_panic(state, at, length, element) },
    }
}

/// # Safety
///
/// The requirements are the same as for [`prepare`].
#[inline(never)]
#[track_caller]
unsafe fn prepare_rarely_or_panic<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    length: usize,
    element: Layout,
) -> Span {
    let demand = Demand {
        length,
        least: length,
        element,
        first_use: FirstUse::Read,
        kept_bytes: 0,
        is_growth: false,
    };
    // SAFETY: the caller upholds the safety contract of `prepare_rarely`.
    match unsafe { prepare_rarely(state, at, demand) } {
        Ok(span) => span,
        Err(error) => panic_with(&error),
    }
}

/// Returns the position of elements that occupy no bytes. The position is the first aligned address
/// at or above the cursor. The next array might begin at a lower address because these elements
/// occupy no bytes.
fn nothing(at: NonNull<u8>, align: usize) -> Span {
    let padding = at.addr().get().wrapping_neg() & (align - 1);
    let start = NonNull::new(at.as_ptr().wrapping_add(padding)).unwrap_or(at);
    Span { start, next: at.as_ptr() }
}

/// Returns the number of bytes from the first aligned address at or above `at` to the end of the
/// chunk. Returns `None` if the aligned address is above the end of the chunk.
fn room(chunk: &Chunk, at: *mut u8, align: usize) -> Option<usize> {
    let padding = at.addr().wrapping_neg() & (align - 1);
    chunk.end.addr().checked_sub(at.addr())?.checked_sub(padding)
}

/// Returns the span of `bytes` bytes that starts at the first multiple of `align` at or above `at`.
/// Returns `None` if the span would extend past the end of the chunk.
fn fit<B: StackedBackend>(chunk: &Chunk, at: *mut u8, bytes: usize, align: usize) -> Option<Span> {
    if bytes > room(chunk, at, align)? {
        return None;
    }
    let start = at.wrapping_add(at.addr().wrapping_neg() & (align - 1));
    // The start is also aligned to a line because alignments are powers of two and `at` is aligned
    // to a line.
    let next = start.wrapping_add(lines::<B>(bytes));
    Some(Span { start: NonNull::new(start)?, next })
}

/// Finds memory in the cursor's chunk or in the next chunk. The function also returns the number of
/// bytes that are live after the memory has been handed out.
///
/// # Safety
///
/// The requirements are the same as for [`prepare`]. The pool must also be marked as busy.
unsafe fn find<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    bytes: usize,
    demand: Demand,
) -> Option<(Span, usize)> {
    if state.config().fresh {
        return None;
    }
    let align = demand.element.align();
    // Until the pool is settled, a vector receives all of the bytes that it requests. As a result,
    // the vector grows identically in the next pass.
    let is_settled = state.is_settled();
    let least = if is_settled { demand.least * demand.element.size() } else { bytes };
    state.with_chunks(|chunks| {
        let position = chunks.position(at);
        if let Some(chunk) = position.and_then(|position| chunks.get(position)) {
            let room = room(chunk, at, align).filter(|&room| room >= least);
            if let Some(span) = room.and_then(|room| fit::<B>(chunk, at, bytes.min(room), align)) {
                return Some((span, chunk.live_at(span.next)));
            }
        }
        let live = live_at(chunks, position, at);
        // Later chunks contain no arrays, because the cursor is in an earlier chunk (invariant 2).
        let next = chunks.get_mut(position.map_or(0, |position| position + 1))?;
        let span = fit::<B>(next, next.start, bytes, align)?;
        next.live_before = state.live_before_chunk(live);
        Some((span, next.live_at(span.next)))
    })
}

/// Returns the number of bytes that are live while the cursor is at `at`.
fn live_at(chunks: &Chunks, position: Option<usize>, at: *mut u8) -> usize {
    position.and_then(|position| chunks.get(position)).map_or(0, |chunk| chunk.live_at(at))
}

/// Allocates memory with [`grow`] for a pool that might have borrowed memory. The memory above the
/// cursor in a borrowed chunk does not count toward the pool's limit. The pool no longer uses this
/// memory after it has allocated another chunk.
///
/// # Errors
///
/// Returns the same errors as [`grow`].
///
/// # Safety
///
/// The requirements are the same as for [`grow`].
unsafe fn grow_within_limit<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    bytes: usize,
    demand: Demand,
) -> Result<(Span, usize), PoolError<B::Error>> {
    let mut unused = None;
    // A growing vector's chunk is not shortened, because the vector's elements are still above the
    // cursor.
    state.with_first(|chunk| {
        if chunk.is_borrowed() && chunk.contains(at) && !demand.is_growth {
            unused = Some(core::mem::replace(&mut chunk.end, at));
        }
    });
    // SAFETY: the caller upholds the safety contract of `grow`.
    let grown = unsafe { grow(state, at, bytes, demand) };
    if let (Err(_), Some(end)) = (&grown, unused) {
        state.with_first(|chunk| {
            if chunk.is_borrowed() && chunk.end == at {
                chunk.end = end;
            }
        });
    }
    grown
}

/// Allocates a chunk that follows the cursor's chunk. The new chunk is as large as all of the
/// pool's memory combined. The chunk therefore doubles the pool's memory. If a chunk of that size
/// cannot be allocated, the new chunk is exactly large enough for the demand. All later chunks are
/// freed before the new chunk is allocated. If memory is still insufficient and the first chunk
/// contains no array, the first chunk is also freed.
///
/// # Errors
///
/// Returns the same errors as the acquire methods. After an error, the pool might have freed idle
/// chunks, but no other chunks.
///
/// # Safety
///
/// The requirements are the same as for [`prepare`]. The pool must also be marked as busy.
unsafe fn grow<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    bytes: usize,
    demand: Demand,
) -> Result<(Span, usize), PoolError<B::Error>> {
    // The `end` and `written_end` fields stay null until the first acquire of a new pass (invariant
    // 3).
    state.unsettle();
    let (position, live, is_idle) = state.with_chunks(|chunks| {
        let position = chunks.position(at);
        let is_first = position == Some(0) && chunks.get(0).is_some_and(|chunk| chunk.start == at);
        (position, live_at(chunks, position, at), is_first && !demand.is_growth)
    });
    let keep = position.map_or(0, |position| position + 1);
    let held = state.reserved();
    // SAFETY: the later chunks contain no arrays (invariant 2). The pool is marked as busy.
    unsafe { free_above(state, keep) };
    lengthen(state)?;

    // The chunk needs one more line than its elements occupy (invariant 4).
    let needed = lines::<B>(bytes) + state.padding() + B::ALIGN;
    let live = if live == 0 { 0 } else { state.live_before_chunk(live) };
    let generous = if state.config().fresh { needed } else { held.max(LEAST).max(needed) };
    let chunk = match allocate(state, needed, lines::<B>(generous), live) {
        Err(PoolError::LimitExceeded { .. } | PoolError::OutOfMemory { .. }) if is_idle => {
            // SAFETY: the cursor is at the start of the first chunk, so the chunk contains no
            // arrays. All of the pool's cursors become stray because their chunk is freed.
            unsafe { free_above(state, 0) };
            allocate(state, needed, needed, live)?
        }
        allocated => allocated?,
    };
    let is_stray = state.with_chunks(|chunks| chunks.position(at)).is_none();
    let chunk = if is_stray && chunk.contains(at) && chunk.start != at {
        // SAFETY: the chunk was just allocated. The pool is marked as busy.
        unsafe { allocate_elsewhere(state, chunk, needed) }?
    } else {
        state.note_allocated(&chunk);
        chunk
    };
    state.with_chunks(|chunks| chunks.push(chunk));
    // The span always fits in the new chunk because the requested chunk size is sufficient.
    let Some(span) = fit::<B>(&chunk, chunk.start, bytes, demand.element.align()) else {
        return Err(PoolError::SizeOverflow { elements: bytes, element_size: 1 });
    };
    // The warning hook runs after the chunk has been added to the list, so a panic in the hook does
    // not leak the chunk.
    #[cfg(debug_assertions)]
    state.growth_report.note_growth(state.config(), at.addr(), state.reserved());
    Ok((span, chunk.live_at(span.next)))
}

/// Replaces a newly allocated chunk that happens to contain the address of an old cursor. If the
/// pool used this chunk, the bytes below the old cursor would count as handed out (invariant 1).
///
/// # Errors
///
/// Returns the same errors as [`allocate`]. The pool briefly holds both chunks, so the second
/// allocation might exceed the pool's limit.
///
/// # Safety
///
/// The chunk must be newly allocated and not yet counted. No view of the chunk may exist. The pool
/// must be marked as busy.
unsafe fn allocate_elsewhere<B: StackedBackend>(
    state: &StackState<B>,
    chunk: Chunk,
    needed: usize,
) -> Result<Chunk, PoolError<B::Error>> {
    state.note_allocated(&chunk);
    let other = allocate(state, needed, needed, chunk.live_before);
    if let Ok(other) = &other {
        state.note_allocated(other);
    }
    // SAFETY: the caller upholds the safety contract of `free`.
    unsafe { free(state, chunk) };
    other
}

/// The size in bytes of the smallest chunk that a pool allocates for itself.
const LEAST: usize = 4 << 10;

/// Calls the backend's `reuse_bytes` for the armed bytes of a span. The function also zeroes dirty
/// bytes that might be read before they are written. It poisons the memory if the configuration
/// requests poisoning.
///
/// # Errors
///
/// Returns [`PoolError::Backend`] if the backend fails.
///
/// # Safety
///
/// No view of the span may exist, except for a view of its first `kept_bytes` bytes. The pool must
/// be marked as busy.
unsafe fn put_in_order<B: StackedBackend>(
    state: &StackState<B>,
    span: Span,
    bytes: usize,
    demand: Demand,
) -> Result<(), PoolError<B::Error>> {
    let start = span.start.addr().get();
    let armed = start + demand.kept_bytes..start + bytes;
    while let Some(part) = state.armed.first_in(&armed) {
        let block = B::block_at(offset(span.start, part.start - start));
        // SAFETY: this part of the span is in an allocated chunk. The caller guarantees that no
        // view of this part exists.
        unsafe { B::reuse_bytes(&state.context, block, part.len()) }.map_err(|source| {
            PoolError::Backend { operation: "order a block after its last use", source }
        })?;
        state.armed.remove(&part);
    }
    if demand.first_use == FirstUse::Read {
        let range = start..start + bytes;
        while let Some(part) = state.dirty.first_in(&range) {
            let at = offset(span.start, part.start - start);
            // SAFETY: this part of the span is in an allocated chunk. The caller guarantees that no
            // view of this part exists.
            unsafe { set_bytes::<B>(state, at, 0, part.len(), "zero a dirty range") }?;
            state.dirty.remove(&part);
        }
    }
    if state.config().poison && bytes > demand.kept_bytes {
        let at = offset(span.start, demand.kept_bytes);
        // SAFETY: the bytes after `kept_bytes` are in an allocated chunk. The caller guarantees
        // that no view of these bytes exists.
        unsafe { set_bytes::<B>(state, at, 0xFF, bytes - demand.kept_bytes, "poison an array") }?;
    }
    Ok(())
}

/// Returns the address that is `bytes` bytes after `start`. The function does not call the
/// pointer's `add` method, which must not be used on an address in device memory.
fn offset(start: NonNull<u8>, bytes: usize) -> NonNull<u8> {
    // The sum never wraps to null. If the sum were null, the function would return `start`, which
    // is also an address in the span.
    NonNull::new(start.as_ptr().wrapping_add(bytes)).unwrap_or(start)
}

/// # Safety
///
/// The bytes must be in an allocated chunk, and no view of them may exist.
unsafe fn set_bytes<B: StackedBackend>(
    state: &StackState<B>,
    at: NonNull<u8>,
    value: u8,
    bytes: usize,
    operation: &'static str,
) -> Result<(), PoolError<B::Error>> {
    // SAFETY: the caller upholds the safety contract of `B::set_bytes`. A `StackedBackend` accepts
    // any part of a block as a block.
    unsafe { B::set_bytes(&state.context, B::block_at(at), value, bytes) }
        .map_err(|source| PoolError::Backend { operation, source })
}

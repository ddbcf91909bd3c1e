//! The cold function of a stack: all rare cases of an acquire. These are the end of a chunk, a pool
//! that is not settled, a dirty range, and a mode of the configuration. One compare sends all of
//! them to [`prepare`].

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

/// The elements for which an acquire needs memory.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub(super) length: usize,
    /// The number of elements that suffices if the chunk has no room for all: less than `length`
    /// for a vector that grows.
    pub(super) least: usize,
    pub(super) element: Layout,
    pub(super) first_use: FirstUse,
    /// The number of bytes at the start that keep their contents: those of a vector that grows in
    /// place.
    pub(super) kept_bytes: usize,
    /// `true` if the memory at the cursor belongs to a vector, which keeps it if this demand is
    /// refused.
    pub(super) is_growth: bool,
}

impl Demand {
    /// Makes a demand for `length` elements of `T`.
    #[inline(always)]
    pub(super) const fn new<T>(length: usize, first_use: FirstUse) -> Self {
        let element = Layout::new::<T>();
        Self { length, least: length, element, first_use, kept_bytes: 0, is_growth: false }
    }

    /// Returns the bytes of the elements, for a chunk that may lose `padding` bytes before its
    /// start.
    ///
    /// # Errors
    ///
    /// [`PoolError::SizeOverflow`] if a chunk for them would exceed `isize::MAX` bytes.
    fn bytes<B: StackedBackend>(self, padding: usize) -> Result<usize, PoolError<B::Error>> {
        let element_size = self.element.size();
        let most = isize::MAX as usize - 2 * B::ALIGN - self.element.align().max(padding);
        let bytes = self.length.checked_mul(element_size).filter(|&bytes| bytes <= most);
        bytes.ok_or(PoolError::SizeOverflow { elements: self.length, element_size })
    }
}

/// Returns the span of `length` elements at a cursor below `written_end`, if no byte of it is dirty. `end` is below the
/// lowest dirty byte, so acquires above live memory with padding fail the comparison with `end`, though they may be
/// read.
///
/// Sound: the span ends at or below `written_end`, so it may be handed out (invariants 3 and 12), and its bytes are
/// initialised (invariant 6).
#[inline]
fn clean_span<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    length: usize,
    element: Layout,
) -> Option<Span> {
    let bytes = length.checked_mul(element.size()).filter(|&bytes| bytes <= MOST_HOT_BYTES)?;
    let span = fit_bytes::<B>(NonNull::new(at)?, state.written_end.get(), bytes)?;
    let is_usual = bytes > 0 && element.align() <= B::ALIGN;
    (is_usual && state.dirty.is_clean(&(at.addr()..span.next.addr()))).then_some(span)
}

/// Finds memory for a demand at a cursor, or in a later chunk.
///
/// # Errors
///
/// Same as for an acquire.
///
/// # Safety
///
/// `at` is a cursor of the pool, and nothing at or above it is viewed, except the `kept_bytes` of a vector.
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
    // SAFETY: the caller's promise.
    unsafe { prepare_rarely(state, at, demand) }
}

/// Does the same as [`prepare`], if memory must be allocated, zeroed, or ordered by the backend.
///
/// # Errors
///
/// Same as for an acquire.
///
/// # Safety
///
/// Same as for [`prepare`].
#[inline(never)]
unsafe fn prepare_rarely<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    demand: Demand,
) -> Result<Span, PoolError<B::Error>> {
    let bytes = demand.bytes::<B>(state.padding())?;
    if at.addr() == STRAY {
        // A first cursor of a pool that is not settled: nothing of the pool is in use (invariant
        // 1).
        // SAFETY: by that, nothing is in use.
        unsafe { settle(state) };
    }
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    if bytes == 0 {
        // SAFETY: addresses of a pool are not null.
        return Ok(nothing(unsafe { NonNull::new_unchecked(at) }, demand.element.align()));
    }
    state.most_aligned.set(state.most_aligned.get().max(demand.element.align()));
    // SAFETY: the caller upholds this contract; the pool is marked.
    let (span, live) = match unsafe { find(state, at, bytes, demand) } {
        Some(found) => found,
        // SAFETY: as above.
        None => unsafe { grow_within_limit(state, at, bytes, demand) }?,
    };
    // Fewer if a vector got the rest of its chunk.
    let bytes = bytes.min(span.next.addr() - span.start.addr().get());
    // SAFETY: nothing views the span (caller); the pool is marked.
    unsafe { put_in_order(state, span, bytes, demand) }?;
    if demand.least < demand.length {
        state.note_capacity(live, span.next);
    } else {
        state.note_live(live);
    }
    state.cold_acquires.increment();
    Ok(span)
}

/// Does the same as [`prepare`] for elements that may be read, with a panic instead of an error.
///
/// # Safety
///
/// Same as for [`prepare`].
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
        // SAFETY: the caller's promise.
        None => unsafe { prepare_rarely_or_panic(state, at, length, element) },
    }
}

/// # Safety
///
/// Same as for [`prepare`].
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
    // SAFETY: the same contract, which the caller upholds.
    match unsafe { prepare_rarely(state, at, demand) } {
        Ok(span) => span,
        Err(error) => panic_with(&error),
    }
}

/// Returns the position of elements without bytes: the first aligned address from the cursor on.
/// The next array may begin before it.
fn nothing(at: NonNull<u8>, align: usize) -> Span {
    let padding = at.addr().get().wrapping_neg() & (align - 1);
    let start = NonNull::new(at.as_ptr().wrapping_add(padding)).unwrap_or(at);
    Span { start, next: at.as_ptr() }
}

/// Returns the bytes of a chunk from the first aligned address at or above `at` on; `None` if that
/// is above the chunk.
fn room(chunk: &Chunk, at: *mut u8, align: usize) -> Option<usize> {
    let padding = at.addr().wrapping_neg() & (align - 1);
    chunk.end.addr().checked_sub(at.addr())?.checked_sub(padding)
}

/// Returns the span of `bytes` bytes at the first address from `at` on with the alignment `align`;
/// `None` if it ends above the chunk.
fn fit<B: StackedBackend>(chunk: &Chunk, at: *mut u8, bytes: usize, align: usize) -> Option<Span> {
    if bytes > room(chunk, at, align)? {
        return None;
    }
    let start = at.wrapping_add(at.addr().wrapping_neg() & (align - 1));
    // The start is a multiple of a line too: alignments are powers of two, and `at` is a multiple of a line.
    let next = start.wrapping_add(lines::<B>(bytes));
    Some(Span { start: NonNull::new(start)?, next })
}

/// Finds memory in the cursor's chunk or in the next one, and the bytes that are then live.
///
/// # Safety
///
/// Same as for [`prepare`], and the pool is marked as busy.
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
    // While chunks are allocated, a vector gets all bytes that it demands, so that it grows in the
    // same way in the next pass.
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
        // A later chunk holds nothing: the cursor is in an earlier one (invariant 2).
        let next = chunks.get_mut(position.map_or(0, |position| position + 1))?;
        let span = fit::<B>(next, next.start, bytes, align)?;
        next.live_before = state.live_before_chunk(live);
        Some((span, next.live_at(span.next)))
    })
}

/// Returns the bytes that are live at a cursor.
fn live_at(chunks: &Chunks, position: Option<usize>, at: *mut u8) -> usize {
    position.and_then(|position| chunks.get(position)).map_or(0, |chunk| chunk.live_at(at))
}

/// Does the same as [`grow`], for a pool that may have borrowed memory. Memory above the cursor in
/// a borrowed chunk does not count for the pool's limit, and is not used after another chunk
/// follows it.
///
/// # Errors
///
/// Same as for [`grow`].
///
/// # Safety
///
/// Same as for [`grow`].
unsafe fn grow_within_limit<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    bytes: usize,
    demand: Demand,
) -> Result<(Span, usize), PoolError<B::Error>> {
    let mut unused = None;
    // A vector's memory is above the cursor that it is moved from.
    state.with_first(|chunk| {
        if chunk.is_borrowed() && chunk.contains(at) && !demand.is_growth {
            unused = Some(core::mem::replace(&mut chunk.end, at));
        }
    });
    // SAFETY: the same contract, which the caller upholds.
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

/// Allocates a chunk after the cursor's. It is as large as all that the pool holds, which doubles
/// the pool, or else exactly large enough. Later chunks are freed first. If that is not enough, so
/// is a first chunk without any array.
///
/// # Errors
///
/// Same as for an acquire. The pool has then lost at most idle chunks.
///
/// # Safety
///
/// Same as for [`prepare`], and the pool is marked as busy.
unsafe fn grow<B: StackedBackend>(
    state: &StackState<B>,
    at: *mut u8,
    bytes: usize,
    demand: Demand,
) -> Result<(Span, usize), PoolError<B::Error>> {
    // The ends stay null until a first cursor acquires again (invariant 3).
    state.unsettle();
    let (position, live, is_idle) = state.with_chunks(|chunks| {
        let position = chunks.position(at);
        let is_first = position == Some(0) && chunks.get(0).is_some_and(|chunk| chunk.start == at);
        (position, live_at(chunks, position, at), is_first && !demand.is_growth)
    });
    let keep = position.map_or(0, |position| position + 1);
    let held = state.reserved();
    // SAFETY: the later chunks hold nothing (invariant 2), and the pool is marked.
    unsafe { free_above(state, keep) };
    lengthen(state)?;

    // One line more than the elements need (invariant 4).
    let needed = lines::<B>(bytes) + state.padding() + B::ALIGN;
    let live = if live == 0 { 0 } else { state.live_before_chunk(live) };
    let generous = if state.config().fresh { needed } else { held.max(LEAST).max(needed) };
    let chunk = match allocate(state, needed, lines::<B>(generous), live) {
        Err(PoolError::LimitExceeded { .. } | PoolError::OutOfMemory { .. }) if is_idle => {
            // SAFETY: the cursor is at the start of the first chunk, so it holds nothing; the
            // cursors become stray.
            unsafe { free_above(state, 0) };
            allocate(state, needed, needed, live)?
        }
        allocated => allocated?,
    };
    let is_stray = state.with_chunks(|chunks| chunks.position(at)).is_none();
    let chunk = if is_stray && chunk.contains(at) && chunk.start != at {
        // SAFETY: just allocated, and the pool is marked.
        unsafe { allocate_elsewhere(state, chunk, needed) }?
    } else {
        state.note_allocated(&chunk);
        chunk
    };
    state.with_chunks(|chunks| chunks.push(chunk));
    // The chunk was made large enough for the span.
    let Some(span) = fit::<B>(&chunk, chunk.start, bytes, demand.element.align()) else {
        return Err(PoolError::SizeOverflow { elements: bytes, element_size: 1 });
    };
    // The chunk is in the list: a hook that panics loses nothing.
    #[cfg(debug_assertions)]
    state.growth_report.note_growth(state.config(), at.addr(), state.reserved());
    Ok((span, chunk.live_at(span.next)))
}

/// Allocates another chunk instead of one that contains a stray cursor. For such a cursor, the
/// bytes below it in the chunk would look handed out (invariant 1).
///
/// # Errors
///
/// Same as for [`allocate`]: both chunks are held for a moment.
///
/// # Safety
///
/// The chunk was just allocated, is not recorded yet, and nothing views it. The pool is marked as
/// busy.
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
    // SAFETY: the same contract, which the caller upholds.
    unsafe { free(state, chunk) };
    other
}

/// The bytes of the smallest chunk that a pool allocates for itself.
const LEAST: usize = 4 << 10;

/// Lets the backend order the armed bytes of a span, zeroes the dirty bytes if they are read first,
/// and poisons.
///
/// # Errors
///
/// [`PoolError::Backend`] if the backend fails.
///
/// # Safety
///
/// Nothing views the span except its `kept_bytes`, and the pool is marked as busy.
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
        // SAFETY: the part is in an allocated chunk, and nothing views it (caller).
        unsafe { B::reuse_bytes(&state.context, block, part.len()) }.map_err(|source| {
            PoolError::Backend { operation: "order a block after its last use", source }
        })?;
        state.armed.remove(&part);
    }
    if demand.first_use == FirstUse::Read {
        let range = start..start + bytes;
        while let Some(part) = state.dirty.first_in(&range) {
            let at = offset(span.start, part.start - start);
            // SAFETY: the part is in an allocated chunk, and nothing views it (caller).
            unsafe { set_bytes::<B>(state, at, 0, part.len(), "zero a dirty range") }?;
            state.dirty.remove(&part);
        }
    }
    if state.config().poison && bytes > demand.kept_bytes {
        let at = offset(span.start, demand.kept_bytes);
        // SAFETY: as above.
        unsafe { set_bytes::<B>(state, at, 0xFF, bytes - demand.kept_bytes, "poison an array") }?;
    }
    Ok(())
}

/// Returns the address `bytes` bytes after the start of a span that has more. On a device, an
/// address is not a pointer that Rust's own `add` accepts.
fn offset(start: NonNull<u8>, bytes: usize) -> NonNull<u8> {
    // The sum never wraps; if it did, the start is in the span, too.
    NonNull::new(start.as_ptr().wrapping_add(bytes)).unwrap_or(start)
}

/// # Safety
///
/// The bytes are in an allocated chunk, and nothing views them.
unsafe fn set_bytes<B: StackedBackend>(
    state: &StackState<B>,
    at: NonNull<u8>,
    value: u8,
    bytes: usize,
    operation: &'static str,
) -> Result<(), PoolError<B::Error>> {
    // SAFETY: the caller upholds this contract; a part of a block is a block (`StackedBackend`).
    unsafe { B::set_bytes(&state.context, B::block_at(at), value, bytes) }
        .map_err(|source| PoolError::Backend { operation, source })
}

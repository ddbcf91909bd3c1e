//! Defines a stack's cursor, which consists of the next array's address and a pointer to the pool's
//! state.

use core::alloc::Layout;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::cold::{self, Demand};
use super::idle;
use super::memory::{MOST_HOT_BYTES, Span, StackMemory, fit_bytes, lines};
use super::shapes;
use super::state::StackState;
use crate::backend::{
    CursorPlace, EnlargeResult, FirstUse, MemoryAndShape, ScopeCursor, VectorMemory,
};
use crate::config::Compaction;
use crate::element::Element;
use crate::error::PoolError;
use crate::stacked::{Stacked, StackedBackend};
use crate::stats::ReleaseReport;
use crate::threads::ScopeMayLeaveItsThread;

/// The address of the next array in the pool, together with a pointer to the pool's state.
pub struct StackCursor<B: StackedBackend> {
    at: Cell<NonNull<u8>>,
    state: NonNull<StackState<B>>,
}

// SAFETY: no type implements `ScopeMayLeaveItsThread`, so this impl does not apply to any type.
unsafe impl<B: StackedBackend + ScopeMayLeaveItsThread> Send for StackCursor<B> {}

// SAFETY: no type implements `ScopeMayLeaveItsThread`, so this impl does not apply to any type.
unsafe impl<B: StackedBackend + ScopeMayLeaveItsThread> Sync for StackCursor<B> {}

impl<B: StackedBackend> fmt::Debug for StackCursor<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackCursor").field("at", &self.at.get()).finish_non_exhaustive()
    }
}

/// The position of a stack's cursor, passed by value.
pub struct StackPlace<'s, B: StackedBackend> {
    at: NonNull<u8>,
    state: NonNull<StackState<B>>,
    pool: PhantomData<&'s ()>,
}

impl<B: StackedBackend> Clone for StackPlace<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: StackedBackend> Copy for StackPlace<'_, B> {}

impl<B: StackedBackend> fmt::Debug for StackPlace<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackPlace").field("at", &self.at).finish_non_exhaustive()
    }
}

impl<B: StackedBackend> StackCursor<B> {
    /// # Safety
    ///
    /// `at` must be a valid cursor address of the pool with this state (invariant 1), and the pool
    /// must outlive the cursor. No view of memory at or above the cursor may be in use. While this
    /// cursor is in use, no other cursor may create a view of this memory.
    #[inline(always)]
    pub(super) unsafe fn new(at: NonNull<u8>, state: NonNull<StackState<B>>) -> Self {
        Self { at: Cell::new(at), state }
    }

    #[inline(always)]
    fn pool(&self) -> &StackState<B> {
        // SAFETY: the pool outlives the cursor, as `new` requires. Only shared references to the
        // pool's state exist.
        unsafe { self.state.as_ref() }
    }

    /// # Safety
    ///
    /// `at` must be a valid cursor address, as described in the documentation of
    /// [`new`](Self::new).
    #[inline(always)]
    unsafe fn set(&self, at: *mut u8) {
        // SAFETY: the addresses of a pool's memory are never null.
        self.at.set(unsafe { NonNull::new_unchecked(at) });
    }
}

/// Returns the span of `length` elements at a cursor if the span ends at or below the pool's end
/// for this use. If the pool may lend memory, the end of the span is stored in `top`.
#[inline(always)]
fn fit<B: StackedBackend, T>(
    state: &StackState<B>,
    at: NonNull<u8>,
    length: usize,
    first_use: FirstUse,
) -> Option<Span> {
    if align_of::<T>() > B::ALIGN || length > const { most_hot(size_of::<T>()) } {
        return None;
    }
    fit_bytes(state, at, length * size_of::<T>(), first_use)
}

/// Returns the maximum number of elements that the hot path can hand out for one array.
const fn most_hot(element_size: usize) -> usize {
    match MOST_HOT_BYTES.checked_div(element_size) {
        Some(most) => most,
        None => usize::MAX,
    }
}

impl<B: StackedBackend> ScopeCursor<Stacked<B>> for StackCursor<B> {
    type State = StackState<B>;
    type Place<'s> = StackPlace<'s, B>;
    type Memory<'s> = StackMemory<'s, B>;

    #[inline(always)]
    unsafe fn copy(&self) -> Self {
        Self { at: Cell::new(self.at.get()), state: self.state }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn reserve<'s, T>(&self, length: usize) -> StackMemory<'s, B> {
        let (state, at) = (self.pool(), self.at.get());
        let span = match fit::<B, T>(state, at, length, FirstUse::Read) {
            Some(span) => span,
            // SAFETY: the cursor belongs to this pool. No view of memory at or above the cursor
            // exists, as `new` requires.
            None => unsafe {
                cold::prepare_or_panic(state, at.as_ptr(), length, Layout::new::<T>())
            },
        };
        // SAFETY: the span belongs to this pool. The caller guarantees that the pool outlives `'s`.
        unsafe { StackMemory::new(span, self.state) }
    }

    #[inline(always)]
    unsafe fn try_reserve<'s, T>(
        &self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<StackMemory<'s, B>, PoolError<B::Error>> {
        let (state, at) = (self.pool(), self.at.get());
        let demand = Demand::new::<T>(length, first_use);
        let span = match fit::<B, T>(state, at, length, first_use) {
            Some(span) => span,
            // SAFETY: the cursor belongs to this pool. No view of memory at or above the cursor
            // exists, as `new` requires.
            None => unsafe { cold::prepare(state, at.as_ptr(), demand) }?,
        };
        // SAFETY: the span belongs to this pool. The caller guarantees that the pool outlives `'s`.
        Ok(unsafe { StackMemory::new(span, self.state) })
    }

    unsafe fn enlarge<'s, T: Copy>(
        &self,
        vector: VectorMemory<Self::Memory<'s>>,
        needed: usize,
    ) -> EnlargeResult<'s, Stacked<B>, Self> {
        // SAFETY: the caller upholds the safety contract of `enlarge`.
        unsafe { enlarge::<B, T>(self, vector, needed) }
    }

    unsafe fn shrink<T>(&self, vector: VectorMemory<StackMemory<'_, B>>) {
        let old = vector.memory;
        if !ptr::eq(self.at.get().as_ptr(), old.next) || old.bytes() == 0 {
            return;
        }
        let used = lines::<B>(vector.length * size_of::<T>());
        let next = old.start.as_ptr().wrapping_add(used);
        if next.addr() >= old.next.addr() {
            return;
        }
        let state = self.pool();
        state.forget_capacity(old.next, next);
        // SAFETY: the address is within the vector's memory, at or above the end of the elements.
        // The vector is the most recently acquired array.
        unsafe { self.set(next) };
    }

    unsafe fn keep<T: Copy>(&self, start: *mut T, length: usize, plain: bool) -> Option<*mut T> {
        // SAFETY: the caller upholds the safety contract of `keep`.
        unsafe { keep(self, start, length, plain) }
    }

    #[inline(always)]
    unsafe fn place<'s>(&self) -> StackPlace<'s, B> {
        StackPlace { at: self.at.get(), state: self.state, pool: PhantomData }
    }

    #[inline(always)]
    unsafe fn step(&self, reserved: StackMemory<'_, B>) {
        // The reservation has already stored `top`. SAFETY: the reserved memory ends within its
        // chunk.
        unsafe { self.set(reserved.next) };
    }

    #[inline(always)]
    unsafe fn step_back(&self, taken: StackMemory<'_, B>) {
        if ptr::eq(self.at.get().as_ptr(), taken.next) && taken.bytes() > 0 {
            self.at.set(taken.start);
        }
    }

    fn active(&self) -> usize {
        self.pool().named_count()
    }

    fn state(&self) -> &StackState<B> {
        self.pool()
    }

    fn trim(&self) -> ReleaseReport {
        // SAFETY: no view of memory at or above the cursor exists, as `new` requires.
        unsafe { idle::trim(self.pool(), self.at.get().as_ptr()) }
    }

    fn compact(&self, compaction: &Compaction) -> ReleaseReport {
        // SAFETY: no view of memory at or above the cursor exists, as `new` requires.
        unsafe { idle::compact(self.pool(), self.at.get().as_ptr(), compaction) }
    }

    fn sample_lengths(&self) {
        idle::sample(self.pool());
    }

    #[inline(always)]
    #[track_caller]
    fn note_caller(&self) {
        #[cfg(debug_assertions)]
        self.pool()
            .growth_report
            .note_caller(self.at.get().addr().get(), core::panic::Location::caller());
    }
}

impl<'s, B: StackedBackend> StackPlace<'s, B> {
    #[inline(always)]
    fn pool(self) -> &'s StackState<B> {
        // SAFETY: the pool outlives `'s`, as `ScopeCursor::place` requires. Only shared references
        // to the pool's state exist.
        unsafe { self.state.as_ref() }
    }

    #[inline(always)]
    fn memory(self, span: Span) -> StackMemory<'s, B> {
        // SAFETY: the span belongs to this pool, which outlives `'s`.
        unsafe { StackMemory::new(span, self.state) }
    }
}

impl<'s, B: StackedBackend> CursorPlace<'s, Stacked<B>> for StackPlace<'s, B> {
    type Memory = StackMemory<'s, B>;

    #[inline(always)]
    fn fitting<T>(self, length: usize) -> Option<StackMemory<'s, B>> {
        let state = self.pool();
        let span = fit::<B, T>(state, self.at, length, FirstUse::Read)?;
        Some(self.memory(span))
    }

    unsafe fn prepare<T>(
        self,
        length: usize,
        first_use: FirstUse,
    ) -> Result<StackMemory<'s, B>, PoolError<B::Error>> {
        let demand = Demand::new::<T>(length, first_use);
        // SAFETY: the caller guarantees that the cursor is at this position.
        let span = unsafe { cold::prepare(self.pool(), self.at.as_ptr(), demand) }?;
        Ok(self.memory(span))
    }

    #[inline(always)]
    unsafe fn fitting_shape<T: Element>(
        self,
        dims: &[usize],
    ) -> Option<MemoryAndShape<'s, StackMemory<'s, B>, Stacked<B>>> {
        // SAFETY: the caller upholds the safety contract of `shapes::fitting`. The pool outlives
        // `'s`.
        let (span, way) = unsafe { shapes::fitting::<B, T>(self.pool(), self.at, dims) }?;
        Some((self.memory(span), way))
    }

    #[cold]
    unsafe fn prepare_shape<T: Element>(
        self,
        dims: &[usize],
        first_use: FirstUse,
    ) -> Result<MemoryAndShape<'s, StackMemory<'s, B>, Stacked<B>>, PoolError<B::Error>> {
        // SAFETY: the caller upholds the safety contract of `shapes::prepare`. The pool outlives
        // `'s`.
        let prepared = unsafe { shapes::prepare::<B, T>(self.pool(), self.at, dims, first_use) };
        prepared.map(|(span, way)| (self.memory(span), way))
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    unsafe fn prepare_shape_or_panic<T: Element>(
        self,
        dims: &[usize],
    ) -> MemoryAndShape<'s, StackMemory<'s, B>, Stacked<B>> {
        // SAFETY: the caller upholds the safety contract of `prepare_shape`.
        match unsafe { self.prepare_shape::<T>(dims, FirstUse::Read) } {
            Ok(prepared) => prepared,
            Err(error) => crate::error::panic_with(&error),
        }
    }
}

/// Enlarges a vector's memory. If the vector is the last array and its chunk is large enough, the
/// vector grows in place. If the vector cannot grow in place, its elements are moved to new memory.
///
/// # Errors
///
/// Returns the same errors as the acquire methods. If an error is returned, the vector's memory is
/// unchanged.
///
/// # Safety
///
/// The requirements are the same as for [`ScopeCursor::enlarge`].
unsafe fn enlarge<'s, B: StackedBackend, T: Copy>(
    cursor: &StackCursor<B>,
    vector: VectorMemory<StackMemory<'s, B>>,
    needed: usize,
) -> EnlargeResult<'s, Stacked<B>, StackCursor<B>> {
    let state = cursor.pool();
    let VectorMemory { memory: old, length, plain, .. } = vector;
    let is_last = ptr::eq(cursor.at.get().as_ptr(), old.next) && old.bytes() > 0;
    let (at, kept_bytes) = if is_last {
        (old.start.as_ptr(), length * size_of::<T>())
    } else {
        (cursor.at.get().as_ptr(), 0)
    };
    let reserve = |capacity| {
        let demand = Demand::new::<T>(capacity, FirstUse::Write);
        let demand = Demand { kept_bytes, is_growth: is_last, least: needed, ..demand };
        // SAFETY: no view of memory above the cursor exists. The only view of the vector's memory
        // covers its first `kept_bytes` bytes.
        unsafe { cold::prepare(state, at, demand) }
    };
    let wanted = needed.max(length.saturating_mul(2)).max(LEAST);
    let reserved = match reserve(wanted) {
        Err(
            PoolError::LimitExceeded { .. }
            | PoolError::OutOfMemory { .. }
            | PoolError::SizeOverflow { .. },
        ) => reserve(needed),
        reserved => reserved,
    };
    let span = reserved?;
    // SAFETY: the span belongs to this pool, which outlives `'s`.
    let memory: StackMemory<'s, B> = unsafe { StackMemory::new(span, cursor.state) };
    if length > 0 && memory.start != old.start {
        // SAFETY: the old memory contains the elements. The two regions do not overlap, because the
        // old memory is either below the new memory or in another chunk that is still allocated.
        // The new memory has room for more than `length` elements.
        unsafe { memory.start.cast::<T>().copy_from_nonoverlapping(old.start.cast(), length) };
    }
    // SAFETY: `span.next` is the end of the memory that was just reserved.
    unsafe { cursor.set(span.next) };
    if !plain {
        state.mark(memory.start.as_ptr(), memory.bytes());
    }
    let capacity = memory.bytes() / size_of::<T>().max(1);
    Ok(VectorMemory { memory, capacity, length, plain })
}

/// The minimum capacity to which a vector grows.
const LEAST: usize = 4;

/// Moves elements that are above the cursor down to it, and then moves the cursor past them. If the
/// elements are in a later chunk, the elements and the cursor move to the start of that chunk.
///
/// # Safety
///
/// The requirements are the same as for [`ScopeCursor::keep`].
unsafe fn keep<B: StackedBackend, T: Copy>(
    cursor: &StackCursor<B>,
    start: *mut T,
    length: usize,
    plain: bool,
) -> Option<*mut T> {
    let state = cursor.pool();
    let at = cursor.at.get().as_ptr();
    let base = state.with_chunks(|chunks| chunks.idle_base(at, start.cast()))?;
    let bytes = length * size_of::<T>();
    let aligned = align_up(base, align_of::<T>()).cast::<T>();
    // If the elements occupy less than a line and already begin below the aligned address, they are
    // not moved.
    let target = if aligned.addr() <= start.addr() { aligned } else { start };
    // SAFETY: both addresses are in the same chunk, at or above the cursor. The caller guarantees
    // that no other view of that memory exists.
    unsafe { ptr::copy(start, target, length) };
    let next = align_up(target.cast::<u8>().wrapping_add(bytes), B::ALIGN);
    state.top.set(next);
    // SAFETY: the elements do not end at a higher address than before. A chunk's end is aligned to
    // a line. `next` is therefore within the chunk.
    unsafe { cursor.set(next) };
    if !plain {
        state.mark(target.cast(), bytes);
    }
    Some(target)
}

/// Returns the first multiple of `align` at or above the address `at`.
fn align_up(at: *mut u8, align: usize) -> *mut u8 {
    at.wrapping_add(at.addr().wrapping_neg() & (align - 1))
}

//! Defines the memory that is reserved for one array in a stack.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::state::{Name, StackState};
use crate::backend::{ArrayMemory, FirstUse};
use crate::error::PoolError;
use crate::slot_ref::SlotRef;
use crate::stacked::{Stacked, StackedBackend};
use crate::threads::ScopeMayLeaveItsThread;

/// An array's address, together with the start address of the next array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: NonNull<u8>,
    pub(super) next: *mut u8,
}

impl Span {
    /// Returns the span of `bytes` bytes at a cursor. `bytes` must be at most [`MOST_HOT_BYTES`].
    #[inline(always)]
    pub(super) fn of_bytes<B: StackedBackend>(at: NonNull<u8>, bytes: usize) -> Self {
        // A cursor is aligned to a line (invariant 5), so the sum of the cursor and the bytes can
        // be rounded at once.
        let next = at.as_ptr().wrapping_add(bytes + (B::ALIGN - 1));
        Self { start: at, next: next.map_addr(|address| address & !(B::ALIGN - 1)) }
    }

    /// Returns `true` if the span ends at or below `end`. The result is `false` if `end` is null or
    /// below the span's start, even for a span of 0 bytes.
    #[inline(always)]
    pub(super) fn ends_by(self, end: *mut u8) -> bool {
        // Every `end` is aligned to a line, so the rounded span does not extend past the chunk.
        self.next.addr() <= end.addr()
    }
}

/// The maximum size in bytes of an array that the hot path can hand out. The address of the cursor
/// after an array of this size does not overflow, because every cursor is at or below
/// [`STRAY`](super::state::STRAY).
pub(super) const MOST_HOT_BYTES: usize = (1 << 30) - 1;

/// Returns the span of `bytes` bytes at a cursor, if the span ends at or below the pool's end for
/// this use. `bytes` must be at most [`MOST_HOT_BYTES`]. If the pool may lend memory, the function
/// stores the end of the span in `top` (invariant 10).
///
/// A pool that lends no memory reserves a span without a store to memory. The store would cost a
/// clock cycle: processors write to one cache line per cycle, and the stores to the arrays are to
/// other lines.
#[inline(always)]
pub(super) fn fit_bytes<B: StackedBackend>(
    state: &StackState<B>,
    at: NonNull<u8>,
    bytes: usize,
    first_use: FirstUse,
) -> Option<Span> {
    let span = Span::of_bytes::<B>(at, bytes);
    if !span.ends_by(state.ends.of(first_use)) {
        if !span.ends_by(state.lender_ends.of(first_use)) {
            return None;
        }
        state.top.set(span.next);
    }
    Some(span)
}

/// Rounds `bytes` up to whole lines.
#[inline(always)]
pub(super) const fn lines<B: StackedBackend>(bytes: usize) -> usize {
    (bytes + (B::ALIGN - 1)) & !(B::ALIGN - 1)
}

/// Memory for one array, borrowed for the lifetime `'s` of the array's scope.
pub struct StackMemory<'s, B: StackedBackend> {
    pub(super) start: NonNull<u8>,
    /// The cursor's position after the array.
    pub(super) next: *mut u8,
    pub(super) state: NonNull<StackState<B>>,
    scope: PhantomData<&'s ()>,
}

// SAFETY: no type implements `ScopeMayLeaveItsThread`, so this impl does not apply to any type.
unsafe impl<B: StackedBackend + ScopeMayLeaveItsThread> Send for StackMemory<'_, B> {}

// SAFETY: no type implements `ScopeMayLeaveItsThread`, so this impl does not apply to any type.
unsafe impl<B: StackedBackend + ScopeMayLeaveItsThread> Sync for StackMemory<'_, B> {}

impl<B: StackedBackend> Clone for StackMemory<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: StackedBackend> Copy for StackMemory<'_, B> {}

impl<B: StackedBackend> fmt::Debug for StackMemory<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackMemory")
            .field("start", &self.start)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl<'s, B: StackedBackend> StackMemory<'s, B> {
    /// # Safety
    ///
    /// `span` must belong to the pool with this state, and the pool must outlive `'s`.
    #[inline(always)]
    pub(super) unsafe fn new(span: Span, state: NonNull<StackState<B>>) -> Self {
        Self { start: span.start, next: span.next, state, scope: PhantomData }
    }

    /// Returns the pool's state.
    #[inline(always)]
    pub(super) fn state(self) -> &'s StackState<B> {
        // SAFETY: the pool outlives `'s`, as `new` requires. Only shared references to the pool's
        // state exist.
        unsafe { self.state.as_ref() }
    }

    /// Returns the number of bytes from the start of one array to the start of the next. Returns 0
    /// for an array that occupies no bytes, because the next array might start at a lower address.
    pub(super) fn bytes(self) -> usize {
        self.next.addr().saturating_sub(self.start.addr().get())
    }
}

impl<'s, B: StackedBackend> ArrayMemory<'s, Stacked<B>> for StackMemory<'s, B> {
    #[inline(always)]
    fn block_for<T>(self) -> B::Block {
        B::block_at(self.start)
    }

    #[inline(always)]
    fn reference(self) -> SlotRef<Stacked<B>> {
        // SAFETY: for a `Stacked` backend, a `SlotRef` refers to a pool's state.
        unsafe { SlotRef::new(self.state.cast()) }
    }

    #[inline]
    fn context(self) -> &'s B::Context {
        &self.state().context
    }

    unsafe fn name(self, serial: u64, length: usize) -> Result<usize, PoolError<B::Error>> {
        let Self { start, next, .. } = self;
        let state = self.state();
        let count = state.named_count();
        let mut longer = Vec::new();
        if state.with_names(|names| names.len() == names.capacity()) {
            let requested = (2 * count + 1) * size_of::<Name>();
            longer
                .try_reserve_exact(2 * count + 1)
                .map_err(|_| PoolError::Bookkeeping { requested })?;
        }
        let old = state.with_names(|names| {
            if names.len() == names.capacity() {
                longer.append(names);
                core::mem::swap(names, &mut longer);
            }
            names.push(Name { start, next, serial, length });
            longer
        });
        // The old list is freed outside the closure because the allocator might run user code.
        drop(old);
        Ok(count)
    }

    #[inline]
    unsafe fn mark<T>(self, length: usize) {
        self.state().mark(self.start.as_ptr(), length * size_of::<T>());
    }
}

//! Defines the memory that is reserved for one array in a stack.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::state::{Name, StackState};
use crate::backend::ArrayMemory;
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

/// The maximum size in bytes of an array that the hot path can hand out. When rounded up to whole
/// lines, this size fits in a 32-bit operand. Adding this size to a cursor cannot overflow, because
/// every cursor is at or below [`STRAY`](super::state::STRAY).
pub(super) const MOST_HOT_BYTES: usize = (1 << 30) - 1;

/// Returns the span of `bytes` bytes at a cursor if the span ends at or below `end`. `bytes` must
/// be at most [`MOST_HOT_BYTES`]. If `end` is null or below the cursor, the function returns
/// `None`, even for 0 bytes.
#[inline(always)]
pub(super) fn fit_bytes<B: StackedBackend>(
    at: NonNull<u8>,
    end: *mut u8,
    bytes: usize,
) -> Option<Span> {
    // Every `end` is aligned to a line, so rounding the step up to whole lines does not move the
    // cursor past `end`.
    let next = at.as_ptr().wrapping_add(lines::<B>(bytes));
    (next.addr() <= end.addr()).then_some(Span { start: at, next })
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

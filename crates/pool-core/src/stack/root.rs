//! Defines a stacked pool's root, a single word that contains the address of the pool's state.

use core::cell::Cell;
use core::fmt;
use core::ptr::{NonNull, null_mut};

use super::chunk_memory::free_above;
use super::cursor::StackCursor;
use super::nesting;
use super::shapes;
use super::state::StackState;
use crate::backend::PoolRoot;
use crate::config::PoolConfig;
use crate::error::PoolError;
use crate::identity::next_identity;
use crate::memory_checks::MemoryChecks;
use crate::stacked::{Stacked, StackedBackend};
use crate::try_box::{into_box, try_box};

/// The address of a stacked pool's state.
pub struct StackRoot<B: StackedBackend>(NonNull<StackState<B>>);

impl<B: StackedBackend> Clone for StackRoot<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: StackedBackend> Copy for StackRoot<B> {}

impl<B: StackedBackend> fmt::Debug for StackRoot<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StackRoot").field(&self.0).finish()
    }
}

impl<B: StackedBackend> PoolRoot<Stacked<B>> for StackRoot<B> {
    type State = StackState<B>;
    type Cursor = StackCursor<B>;

    #[inline(never)]
    fn create(context: B::Context, config: PoolConfig) -> Result<Self, PoolError<B::Error>> {
        config.validate()?;
        let config = MemoryChecks::applied_to(config);
        let id = next_identity().ok_or(PoolError::IdentitiesExhausted { most: usize::MAX - 1 })?;
        let state = try_box(StackState::new(id, context, config));
        let requested = size_of::<StackState<B>>();
        Ok(Self(state.ok_or(PoolError::Bookkeeping { requested })?))
    }

    unsafe fn destroy(self) {
        // SAFETY: the caller guarantees that the pool is live.
        let state = unsafe { self.state() };
        // SAFETY: the caller guarantees that no view is in use and that no other code can access
        // the pool.
        unsafe { free_above(state, 0) };
        // SAFETY: the caller guarantees that no view is in use and that no other code can access
        // the pool.
        unsafe { shapes::clear(state) };
        // SAFETY: `create` allocated the state with `try_box`. The caller does not use the state
        // after this call.
        drop(unsafe { into_box(self.0) });
    }

    #[inline(always)]
    unsafe fn state<'s>(self) -> &'s StackState<B> {
        // SAFETY: the caller guarantees that the pool is live for `'s`. Only shared references to
        // the pool's state exist.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    unsafe fn cursor(self) -> StackCursor<B> {
        // SAFETY: the caller guarantees that the pool is live.
        let state = unsafe { self.state() };
        // SAFETY: neither a chunk's start nor a stray address is null.
        let at = unsafe { NonNull::new_unchecked(state.base.get()) };
        state.note_pass();
        // SAFETY: `at` is the start of the first chunk or a stray address. The caller upholds the
        // other requirements.
        unsafe { StackCursor::new(at, self.0) }
    }

    const NESTS: bool = true;

    #[inline(always)]
    unsafe fn nested_cursor(self) -> StackCursor<B> {
        // SAFETY: the caller guarantees that the pool is live.
        let state = unsafe { self.state() };
        state.top.set(state.base.get());
        // SAFETY: the caller upholds the safety contract of `cursor`.
        unsafe { self.cursor() }
    }

    #[inline(always)]
    unsafe fn enter(self, innermost: &Cell<*mut ()>) {
        // SAFETY: the caller guarantees that the pool is live.
        unsafe { self.state() }.note_entry();
        let Some(outer) = NonNull::new(innermost.get().cast()) else {
            innermost.set(self.into_raw());
            return;
        };
        // SAFETY: the caller upholds the safety contract of `nesting::enter`.
        unsafe { nesting::enter(self.0, innermost, outer) };
    }

    #[inline(always)]
    unsafe fn leave(self, innermost: &Cell<*mut ()>) -> bool {
        // SAFETY: the caller guarantees that the pool is live.
        if let Some(outer) = unsafe { self.state() }.neighbours.outer.get() {
            // SAFETY: the caller upholds the safety contract of `nesting::leave`.
            return unsafe { nesting::leave(self.0, innermost, outer) };
        }
        if innermost.get() == self.into_raw() {
            // No other pool is in use, so this pool has borrowed no memory.
            innermost.set(null_mut());
            return true;
        }
        // SAFETY: the caller upholds the safety contract of `nesting::leave`.
        unsafe { nesting::leave_rarely(self.0, innermost) }
    }

    #[inline(always)]
    unsafe fn next_idle(self) -> *mut () {
        // SAFETY: the caller guarantees that the pool is live.
        unsafe { self.state() }.next_idle.get()
    }

    #[inline(always)]
    unsafe fn set_next_idle(self, next: *mut ()) {
        // SAFETY: the caller guarantees that the pool is live.
        unsafe { self.state() }.next_idle.set(next);
    }

    #[inline(always)]
    fn into_raw(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn from_raw(address: *mut ()) -> Self {
        // SAFETY: the address of a state is never null.
        Self(unsafe { NonNull::new_unchecked(address.cast()) })
    }
}

//! The one word of a pool: the address of its first table, which is also the address of the table's
//! first slot.

use core::fmt;
use core::ptr::NonNull;

use super::cursor::SlotCursor;
use super::state::State;
use super::table::Table;
use crate::backend::{PoolBackend, PoolRoot};
use crate::config::PoolConfig;
use crate::error::PoolError;

/// The address of a pool's first table. A root is a plain value: the code that holds it decides
/// when the pool ends.
pub struct SlotRoot<B: PoolBackend>(NonNull<Table<B>>);

impl<B: PoolBackend> Clone for SlotRoot<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: PoolBackend> Copy for SlotRoot<B> {}

impl<B: PoolBackend> fmt::Debug for SlotRoot<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SlotRoot").field(&self.0).finish()
    }
}

impl<B: PoolBackend> PoolRoot<B> for SlotRoot<B> {
    type State = State<B>;
    type Cursor = SlotCursor<B>;

    // Not inlined: otherwise, a caller that takes pools from a list, and creates a pool if there is
    // none, would save more registers.
    #[inline(never)]
    fn create(context: B::Context, config: PoolConfig) -> Result<Self, PoolError<B::Error>> {
        State::create(context, config).map(Self)
    }

    unsafe fn destroy(self) {
        // SAFETY: this is the first table of a live pool, whose `state` is never written after the
        // table was created.
        let state = unsafe { (*self.0.as_ptr()).state };
        // SAFETY: the caller upholds the same contract.
        unsafe { State::destroy(state) };
    }

    #[inline(always)]
    unsafe fn state<'s>(self) -> &'s State<B> {
        // SAFETY: as in `destroy`.
        let state = unsafe { (*self.0.as_ptr()).state };
        // SAFETY: a pool's state lives as long as the pool.
        unsafe { state.as_ref() }
    }

    #[inline(always)]
    unsafe fn cursor(self) -> SlotCursor<B> {
        // SAFETY: slot 0 is at the table's own address (`repr(C)`); the caller upholds the rest of
        // the contract.
        unsafe { SlotCursor::new(self.0.cast()) }
    }

    #[inline(always)]
    unsafe fn next_idle(self) -> *mut () {
        // SAFETY: the table is live, and nothing holds a reference to the field.
        unsafe { (*self.0.as_ptr()).next_idle }
    }

    #[inline(always)]
    unsafe fn set_next_idle(self, next: *mut ()) {
        // SAFETY: the table is live, and nothing holds a reference to the field.
        unsafe { (*self.0.as_ptr()).next_idle = next };
    }

    #[inline(always)]
    fn into_raw(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn from_raw(address: *mut ()) -> Self {
        // SAFETY: the address of a table is not null.
        Self(unsafe { NonNull::new_unchecked(address.cast()) })
    }
}

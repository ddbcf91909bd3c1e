//! Defines the single word that represents a pool. The word is the address of the pool's first
//! table. The table's address is also the address of the table's first slot.

use core::fmt;
use core::ptr::NonNull;

use super::cursor::SlotCursor;
use super::state::State;
use super::table::Table;
use crate::backend::{PoolBackend, PoolRoot};
use crate::config::PoolConfig;
use crate::error::PoolError;

/// The address of a pool's first table. A root is a plain value, so the code that stores it decides
/// when the pool is destroyed.
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

    // This function is not inlined, because callers usually take a pool from a list and would
    // otherwise save registers that only `create` needs.
    #[inline(never)]
    fn create(context: B::Context, config: PoolConfig) -> Result<Self, PoolError<B::Error>> {
        State::create(context, config).map(Self)
    }

    unsafe fn destroy(self) {
        // SAFETY: the root points to the first table of a live pool, and the `state` field never
        // changes after the table is created.
        let state = unsafe { (*self.0.as_ptr()).state };
        // SAFETY: the caller upholds the safety contract of `State::destroy`.
        unsafe { State::destroy(state) };
    }

    #[inline(always)]
    unsafe fn state<'s>(self) -> &'s State<B> {
        // SAFETY: the root points to the first table of a live pool, and the `state` field never
        // changes after the table is created.
        let state = unsafe { (*self.0.as_ptr()).state };
        // SAFETY: a pool's state lives as long as the pool does.
        unsafe { state.as_ref() }
    }

    #[inline(always)]
    unsafe fn cursor(self) -> SlotCursor<B> {
        // SAFETY: slot 0 is at the address of its table, because `Table` is `repr(C)`. The caller
        // upholds the other requirements of `SlotCursor::new`.
        unsafe { SlotCursor::new(self.0.cast()) }
    }

    #[inline(always)]
    unsafe fn next_idle(self) -> *mut () {
        // SAFETY: the table is live, and no reference to the field exists.
        unsafe { (*self.0.as_ptr()).next_idle }
    }

    #[inline(always)]
    unsafe fn set_next_idle(self, next: *mut ()) {
        // SAFETY: the table is live, and no reference to the field exists.
        unsafe { (*self.0.as_ptr()).next_idle = next };
    }

    #[inline(always)]
    fn into_raw(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn from_raw(address: *mut ()) -> Self {
        // SAFETY: a table's address is never null.
        Self(unsafe { NonNull::new_unchecked(address.cast()) })
    }
}

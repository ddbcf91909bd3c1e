//! The one word that a pool is: the address of its first table, which is that of its first slot.

use core::ptr::NonNull;

use super::cursor::Cursor;
use super::state::State;
use super::table::Table;
use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::error::PoolError;

/// The address of a pool's first table. A root is a plain value: whoever holds it decides when the pool ends.
pub(crate) struct Root<B: PoolBackend>(NonNull<Table<B>>);

impl<B: PoolBackend> Clone for Root<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: PoolBackend> Copy for Root<B> {}

impl<B: PoolBackend> Root<B> {
    /// A new pool with one empty table.
    // Not inlined: who takes pools from a list, and makes one where there is none, would have more registers to save.
    #[inline(never)]
    pub(crate) fn create(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<Self, PoolError<B::Error>> {
        State::create(context, config).map(Self)
    }

    /// Frees every block, the tables and the state; the context goes last.
    ///
    /// # Safety
    ///
    /// The pool is live, no view or cursor of it is in use, and no copy of this root is used
    /// afterwards.
    pub(crate) unsafe fn destroy(self) {
        // SAFETY: the first table of a live pool, whose `state` is never written after it was made.
        let state = unsafe { (*self.0.as_ptr()).state };
        // SAFETY: the caller's promise.
        unsafe { State::destroy(state) };
    }

    /// The pool's state.
    ///
    /// # Safety
    ///
    /// The pool is live for `'s`.
    #[inline(always)]
    pub(crate) unsafe fn state<'s>(self) -> &'s State<B> {
        // SAFETY: as in `destroy`.
        let state = unsafe { (*self.0.as_ptr()).state };
        // SAFETY: a pool's state lives as long as the pool.
        unsafe { state.as_ref() }
    }

    /// A cursor at the first slot.
    ///
    /// # Safety
    ///
    /// As for [`Cursor::new`].
    #[inline(always)]
    pub(crate) unsafe fn cursor(self) -> Cursor<B> {
        // SAFETY: slot 0 is at the table's own address (`repr(C)`); the rest is the caller's promise.
        unsafe { Cursor::new(self.0.cast()) }
    }

    /// The next pool of the free list that this one is in.
    ///
    /// # Safety
    ///
    /// The pool is live.
    #[inline(always)]
    pub(crate) unsafe fn next_idle(self) -> *mut () {
        // SAFETY: the table is live, and nothing holds a reference to the field.
        unsafe { (*self.0.as_ptr()).next_idle }
    }

    /// Sets what [`next_idle`](Self::next_idle) returns.
    ///
    /// # Safety
    ///
    /// The pool is live.
    #[inline(always)]
    pub(crate) unsafe fn set_next_idle(self, next: *mut ()) {
        // SAFETY: the table is live, and nothing holds a reference to the field.
        unsafe { (*self.0.as_ptr()).next_idle = next };
    }

    /// The root as an address without a type.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    /// The root that [`into_raw`](Self::into_raw) turned into an address.
    ///
    /// # Safety
    ///
    /// `address` came from [`into_raw`](Self::into_raw) of a root of the same backend.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(address: *mut ()) -> Self {
        // SAFETY: the address of a table is not null.
        Self(unsafe { NonNull::new_unchecked(address.cast()) })
    }
}

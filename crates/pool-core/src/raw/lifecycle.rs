//! Implements the creation, reconfiguration, and destruction of a pool.

use core::ptr::NonNull;

use super::advertise::advertise;
use super::block::take_shapes;
use super::idle;
use super::state::State;
use super::table::Table;
use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::error::{ConfigError, PoolError};
use crate::identity::next_identity;
use crate::memory_checks::MemoryChecks;
use crate::try_box::{into_box, try_box};

impl<B: PoolBackend> State<B> {
    /// Creates the state of a new pool with one empty table and returns that table.
    pub(super) fn create(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<NonNull<Table<B>>, PoolError<B::Error>> {
        config.validate()?;
        let config = MemoryChecks::applied_to(config);
        let id = next_identity().ok_or(PoolError::IdentitiesExhausted { most: usize::MAX - 1 })?;
        let state = try_box(Self::new(id, context, config))
            .ok_or(PoolError::Bookkeeping { requested: size_of::<Self>() })?;
        // SAFETY: `state` was just created, and no other reference to it exists.
        let this = unsafe { state.as_ref() };
        // SAFETY: `state` is the address of `this`, and no other code has the address yet.
        if let Err(error) = unsafe { this.push_table(state) } {
            // SAFETY: `try_box` created the state, which has no table and is not used after this
            // call.
            drop(unsafe { into_box(state) });
            return Err(error);
        }
        // SAFETY: the state has one table, which `push_table` has just created.
        Ok(unsafe { this.table(0) })
    }

    /// Replaces the configuration. Each slot starts to use the new configuration when it is next
    /// acquired.
    ///
    /// # Safety
    ///
    /// The pool must be exclusively borrowed so that no view of any slot is in use.
    pub(crate) unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError> {
        config.validate()?;
        let config = MemoryChecks::applied_to(config);
        self.set_config(config);
        for slot in self.slots_from(0) {
            // SAFETY: the caller guarantees that no view of the slot is in use.
            unsafe { advertise(slot) };
        }
        // The shape sets are dropped after the first loop, because dropping a set runs the `Drop`
        // implementations of the backend's descriptors. Every slot must use the new configuration
        // before these `Drop` implementations run.
        for slot in self.slots_from(0) {
            // SAFETY: the caller guarantees that no view of the slot is in use.
            drop(unsafe { take_shapes(slot) });
        }
        if !config.measure_live_bytes {
            self.live.stop();
        }
        Ok(())
    }

    /// Frees every block, every table, and the state. The backend's context is dropped last.
    ///
    /// # Safety
    ///
    /// `state` must be the state of a table returned by [`create`](Self::create). No view or cursor
    /// of the pool may be in use, and the state must not be used after the call.
    pub(super) unsafe fn destroy(state: NonNull<Self>) {
        // SAFETY: the state lives until the end of this function.
        let this = unsafe { state.as_ref() };
        // SAFETY: the caller guarantees that no view is in use and that no other code can access
        // the pool.
        unsafe { idle::release_from(this, 0) };
        for number in 0..this.tables.len() {
            // SAFETY: `number` is less than the number of tables.
            let table = unsafe { this.table(number) };
            // SAFETY: the table was created by `push_table`, its slots were just emptied, and no
            // cursor is in use.
            unsafe { Table::deallocate(table) };
        }
        // SAFETY: `create` obtained the state from `try_box`, and the caller does not use the state
        // after this call.
        drop(unsafe { into_box(state) });
    }
}

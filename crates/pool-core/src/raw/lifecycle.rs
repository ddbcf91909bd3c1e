//! The life cycle of a pool: creation, a new configuration, and destruction.

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
    /// Creates a new state with one empty table, and returns that table.
    pub(super) fn create(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<NonNull<Table<B>>, PoolError<B::Error>> {
        config.validate()?;
        let config = MemoryChecks::applied_to(config);
        let id = next_identity().ok_or(PoolError::IdentitiesExhausted { most: usize::MAX - 1 })?;
        let state = try_box(Self::new(id, context, config))
            .ok_or(PoolError::Bookkeeping { requested: size_of::<Self>() })?;
        // SAFETY: `state` was just created and has no other reference.
        let this = unsafe { state.as_ref() };
        // SAFETY: this is the state's own address, which nothing else knows yet.
        if let Err(error) = unsafe { this.push_table(state) } {
            // SAFETY: the state was created by `try_box` above, and is given up here. It has no
            // table yet.
            drop(unsafe { into_box(state) });
            return Err(error);
        }
        // SAFETY: the first table was just created.
        Ok(unsafe { this.table(0) })
    }

    /// Replaces the configuration, which every slot follows from its next acquire on.
    ///
    /// # Safety
    ///
    /// The pool is borrowed exclusively, so no view of any slot is in use.
    pub(crate) unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError> {
        config.validate()?;
        let config = MemoryChecks::applied_to(config);
        self.set_config(config);
        for slot in self.slots_from(0) {
            // SAFETY: no view of the slot is in use (caller).
            unsafe { advertise(slot) };
        }
        // The shape sets are dropped last, because the `Drop` of a backend's descriptors runs: by
        // that time, every slot follows the new configuration.
        for slot in self.slots_from(0) {
            // SAFETY: as above.
            drop(unsafe { take_shapes(slot) });
        }
        if !config.measure_live_bytes {
            self.live.stop();
        }
        Ok(())
    }

    /// Frees every block, every table and the state. The context is dropped last.
    ///
    /// # Safety
    ///
    /// `state` is the state of a table from [`create`](Self::create). No view or cursor of the pool
    /// is in use, and the state is not used afterwards.
    pub(super) unsafe fn destroy(state: NonNull<Self>) {
        // SAFETY: the state is live until the end of this function.
        let this = unsafe { state.as_ref() };
        // SAFETY: no view is in use, and no other code can reach the pool (caller).
        unsafe { idle::release_from(this, 0) };
        for number in 0..this.tables.len() {
            // SAFETY: `number` is below the number of tables.
            let table = unsafe { this.table(number) };
            // SAFETY: the table was created by `push_table`, its slots were just emptied, and no
            // cursor is in use.
            unsafe { Table::deallocate(table) };
        }
        // SAFETY: the state was created by `try_box` in `create`, and the caller gives it up.
        drop(unsafe { into_box(state) });
    }
}

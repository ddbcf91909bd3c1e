//! What a pool owns besides its slots: the backend's context, the configuration, the list of tables
//! and the counters. Touched by cold code alone.

use alloc::vec::Vec;
use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::cold;
use super::cursor::Cursor;
use super::host::{drop_box, try_box};
use super::idle;
use super::slot::SlotPointer;
use super::table::{SLOTS, Table};
use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::error::{ConfigError, PoolError};
use crate::stats::{PoolStats, Released};

/// The source of pool ids; an id is never used twice in a process.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The state of one pool.
pub(crate) struct State<B: PoolBackend> {
    context: B::Context,
    config: Cell<PoolConfig>,
    id: u64,
    last_serial: Cell<u64>,
    tables: UnsafeCell<Vec<NonNull<Table<B>>>>,
    reserved: Cell<usize>,
    peak_reserved: Cell<usize>,
    leaked: Cell<usize>,
    high_water: Cell<usize>,
    growths: Cell<u64>,
    cold_acquires: Cell<u64>,
    pub(super) shape_hits: Cell<u64>,
    pub(super) shape_misses: Cell<u64>,
}

impl<B: PoolBackend> State<B> {
    /// A new state with one empty table, which is returned.
    pub(super) fn create(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<NonNull<Table<B>>, PoolError<B::Error>> {
        config.validate()?;
        let state = Self {
            context,
            config: Cell::new(config),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            last_serial: Cell::new(0),
            tables: UnsafeCell::new(Vec::new()),
            reserved: Cell::new(0),
            peak_reserved: Cell::new(0),
            leaked: Cell::new(0),
            high_water: Cell::new(0),
            growths: Cell::new(0),
            cold_acquires: Cell::new(0),
            shape_hits: Cell::new(0),
            shape_misses: Cell::new(0),
        };
        let state =
            try_box(state).ok_or(PoolError::Bookkeeping { requested: size_of::<Self>() })?;
        // SAFETY: `state` was just made and nothing else knows it.
        let this = unsafe { state.as_ref() };
        if let Err(error) = this.push_table(state) {
            // SAFETY: made by `try_box` above, and given up here; it has no table yet.
            unsafe { drop_box(state) };
            return Err(error);
        }
        Ok(this.table(0))
    }

    /// Frees every block, every table and the state; the context goes last.
    ///
    /// # Safety
    ///
    /// `state` is that of a table from [`create`](Self::create), no view or cursor of the pool is in use, and it is
    /// not used afterwards.
    pub(super) unsafe fn destroy(state: NonNull<Self>) {
        // SAFETY: live until the end of this function.
        let this = unsafe { state.as_ref() };
        // SAFETY: no view is in use.
        unsafe { idle::release_from(this, 0) };
        for number in 0..this.table_count() {
            // SAFETY: made by `push_table`, its slots were just emptied, and no cursor is in use.
            unsafe { Table::deallocate(this.table(number)) };
        }
        // SAFETY: made by `try_box` in `create`; the caller gives it up.
        unsafe { drop_box(state) };
    }

    /// Appends an empty table. `state` is the address of `self`.
    fn push_table(&self, state: NonNull<Self>) -> Result<(), PoolError<B::Error>> {
        // SAFETY: the list is only touched in this method and in `table` and `table_count`, none of
        // which runs anything else while it holds the reference (invariant 7: one thread).
        let tables = unsafe { &mut *self.tables.get() };
        let no_memory = PoolError::Bookkeeping { requested: Table::<B>::BYTES };
        if tables.try_reserve(1).is_err() {
            return Err(no_memory);
        }
        let table = Table::allocate(state, tables.len()).ok_or(no_memory)?;
        tables.push(table);
        Ok(())
    }

    /// The first slot of the table after `table`, which is made if there is none.
    ///
    /// # Safety
    ///
    /// `table` belongs to a pool that lives for `'s`.
    pub(super) unsafe fn slot_after<'s>(
        table: NonNull<Table<B>>,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        // SAFETY: the table is live, and the field is never written after it was made.
        let state = unsafe { (*table.as_ptr()).state };
        // SAFETY: the state outlives its tables.
        let this = unsafe { state.as_ref() };
        // SAFETY: as for `state`.
        let next = unsafe { (*table.as_ptr()).number } + 1;
        if next == this.table_count() {
            this.push_table(state)?;
        }
        // SAFETY: the table is live, and 0 is a slot.
        let slot = unsafe { Table::slot(this.table(next), 0) };
        // SAFETY: no sentinel, and the pool lives for `'s` (caller).
        Ok(unsafe { SlotPointer::new(slot) })
    }

    fn table_count(&self) -> usize {
        // SAFETY: a shared look while no `push_table` runs (one thread, no re-entry).
        let tables = unsafe { &*self.tables.get() };
        tables.len()
    }

    fn table(&self, number: usize) -> NonNull<Table<B>> {
        // SAFETY: as in `table_count`.
        let tables = unsafe { &*self.tables.get() };
        tables[number]
    }

    /// How many slots there are, used or not.
    pub(super) fn slot_count(&self) -> usize {
        self.table_count() * SLOTS
    }

    /// The slot of a number below [`slot_count`](Self::slot_count).
    ///
    /// # Panics
    ///
    /// Where there is no such slot.
    pub(crate) fn slot(&self, number: usize) -> SlotPointer<'_, B> {
        let table = self.table(number / SLOTS);
        // SAFETY: the table is live and the remainder is below `SLOTS`.
        let slot = unsafe { Table::slot(table, number % SLOTS) };
        // SAFETY: no sentinel, and the pool lives while its state is borrowed.
        unsafe { SlotPointer::new(slot) }
    }

    /// A cursor at slot `number`, or at the end of the last table.
    ///
    /// # Safety
    ///
    /// As for [`Cursor::new`]; and `number` is at most the number of slots.
    #[inline]
    pub(crate) unsafe fn cursor(&self, number: usize) -> Cursor<B> {
        let at_end = number == self.slot_count();
        let table = self.table(number / SLOTS - usize::from(at_end));
        let index = if at_end { SLOTS } else { number % SLOTS };
        // SAFETY: the table is live and the index is that of a slot or of the sentinel.
        let slot = unsafe { Table::slot(table, index) };
        // SAFETY: the caller's promise.
        unsafe { Cursor::new(slot) }
    }

    pub(crate) fn context(&self) -> &B::Context {
        &self.context
    }

    pub(crate) fn config(&self) -> PoolConfig {
        self.config.get()
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A serial that no handle of this pool had before.
    pub(crate) fn next_serial(&self) -> u64 {
        let serial = self.last_serial.get() + 1;
        self.last_serial.set(serial);
        serial
    }

    /// Takes a new configuration, which every slot follows from its next acquire on.
    ///
    /// # Safety
    ///
    /// No view of any slot is in use.
    pub(crate) unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError> {
        config.validate()?;
        self.config.set(config);
        for number in 0..self.slot_count() {
            let slot = self.slot(number);
            // SAFETY: no view of the slot is in use (caller).
            unsafe { cold::forget_shapes(slot) };
            // SAFETY: as above.
            unsafe { cold::advertise(slot) };
        }
        Ok(())
    }

    /// Bytes that blocks hold now.
    pub(super) fn reserved(&self) -> usize {
        self.reserved.get()
    }

    /// Bytes of the largest blocks, the largest first.
    pub(super) fn largest_blocks(&self) -> [usize; 3] {
        let mut largest = [0; 3];
        for number in 0..self.slot_count() {
            // SAFETY: the record is live and nothing holds a reference to it.
            let bytes = unsafe { (*self.slot(number).record().as_ptr()).real };
            let [first, second, third] = largest;
            largest = if bytes > first {
                [bytes, first, second]
            } else if bytes > second {
                [first, bytes, second]
            } else {
                [first, second, bytes.max(third)]
            };
        }
        largest
    }

    /// Bytes that the limit leaves.
    pub(super) fn room(&self) -> usize {
        self.config.get().byte_limit.saturating_sub(self.reserved.get())
    }

    pub(super) fn note_reserved(&self, bytes: usize) {
        let reserved = self.reserved.get() + bytes;
        self.reserved.set(reserved);
        self.peak_reserved.set(self.peak_reserved.get().max(reserved));
        self.growths.set(self.growths.get() + 1);
    }

    pub(super) fn note_released(&self, bytes: usize) {
        self.reserved.set(self.reserved.get() - bytes);
    }

    pub(super) fn note_leaked(&self, bytes: usize) {
        self.leaked.set(self.leaked.get() + bytes);
    }

    pub(super) fn note_cold_acquire(&self) {
        self.cold_acquires.set(self.cold_acquires.get() + 1);
    }

    /// Notes that slot `number` is about to be handed out, and warns where there are very many.
    pub(super) fn note_use(&self, number: usize) {
        let slots = number + 1;
        if slots <= self.high_water.get() {
            return;
        }
        self.high_water.set(slots);
        if slots >= PoolConfig::WARNING_SLOTS && slots.is_power_of_two() {
            self.warn_many_slots(slots);
        }
    }

    #[cfg(feature = "tracing")]
    fn warn_many_slots(&self, slots: usize) {
        tracing::warn!(
            pool = self.config.get().name,
            slots,
            reserved_bytes = self.reserved.get(),
            "the pool has handed out {slots} slots at once: is a scope missing around a loop body?"
        );
    }

    #[cfg(not(feature = "tracing"))]
    #[expect(clippy::unused_self, reason = "the twin with feature `tracing` reads it")]
    fn warn_many_slots(&self, _slots: usize) {}

    /// Forgets the high water and the peaks: what follows `clear`.
    pub(crate) fn forget_peaks(&self) {
        self.high_water.set(0);
        self.peak_reserved.set(self.reserved.get());
    }

    pub(crate) fn stats(&self, active: usize) -> PoolStats {
        let config = self.config.get();
        PoolStats {
            name: config.name,
            device: B::device(&self.context),
            active_slots: active,
            high_water_slots: self.high_water.get(),
            reserved_bytes: self.reserved.get(),
            peak_reserved_bytes: self.peak_reserved.get(),
            leaked_bytes: self.leaked.get(),
            bookkeeping_bytes: size_of::<Self>() + self.table_count() * Table::<B>::BYTES,
            byte_limit: config.byte_limit,
            growths: self.growths.get(),
            cold_acquires: self.cold_acquires.get(),
            shape_hits: self.shape_hits.get(),
            shape_misses: self.shape_misses.get(),
            pools: 1,
        }
    }

    /// Frees the blocks of every slot from `active` on.
    ///
    /// # Safety
    ///
    /// No view of those slots is in use.
    pub(crate) unsafe fn trim(&self, active: usize) -> Released {
        // SAFETY: the caller's promise.
        unsafe { idle::trim(self, active) }
    }
}

//! What a pool owns besides its slots: the backend's context, the configuration, the list of tables
//! and the counters. Touched by cold code alone.

use alloc::vec::Vec;
use core::cell::{Cell, UnsafeCell};
use core::mem;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::busy::{Busy, BusyMark};
use super::cold;
use super::cursor::Cursor;
use super::host::{into_box, try_box};
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
    /// Set while code that is not ours may run inside an operation of this pool (invariant 9).
    busy: BusyMark,
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
            busy: BusyMark::new(),
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
        // SAFETY: the state's own address; nobody else knows it.
        if let Err(error) = unsafe { this.push_table(state) } {
            // SAFETY: made by `try_box` above, and given up here; it has no table yet.
            drop(unsafe { into_box(state) });
            return Err(error);
        }
        // SAFETY: the first table was just made.
        Ok(unsafe { this.table(0) })
    }

    /// The state of a table's pool.
    ///
    /// # Safety
    ///
    /// `table` belongs to a pool that lives for `'s`.
    #[inline]
    pub(super) unsafe fn of<'s>(table: NonNull<Table<B>>) -> &'s Self {
        // SAFETY: the table is live (invariant 1), and the field is never written after it was made.
        let state = unsafe { (*table.as_ptr()).state };
        // SAFETY: the state outlives its tables, and there are only shared references to it.
        unsafe { state.as_ref() }
    }

    /// Marks the pool as busy until the guard is dropped; `None` where it is already.
    pub(super) fn busy(&self) -> Option<Busy<'_>> {
        self.busy.set()
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
        // SAFETY: no view is in use, and the caller has the pool to itself.
        unsafe { idle::release_from(this, 0) };
        for number in 0..this.table_count() {
            // SAFETY: there are as many tables.
            let table = unsafe { this.table(number) };
            // SAFETY: made by `push_table`, its slots were just emptied, and no cursor is in use.
            unsafe { Table::deallocate(table) };
        }
        // SAFETY: made by `try_box` in `create`; the caller gives it up.
        drop(unsafe { into_box(state) });
    }

    /// Appends an empty table. The allocator may run code that asks for the list, but none that makes it
    /// longer.
    ///
    /// # Safety
    ///
    /// `state` is the address of `self`; the pool is marked as busy, or known to nobody yet.
    unsafe fn push_table(&self, state: NonNull<Self>) -> Result<(), PoolError<B::Error>> {
        let no_memory = |requested| PoolError::Bookkeeping { requested };
        let count = self.table_count();
        self.reserve_table(count).map_err(no_memory)?;
        let table = Table::allocate(state, count).ok_or(no_memory(Table::<B>::BYTES))?;
        // SAFETY: as in `table_count`; there is room, so the allocator is not called.
        let tables = unsafe { &mut *self.tables.get() };
        tables.push(table);
        Ok(())
    }

    /// Makes room for one more table than `count` in the list, or says how many bytes there are not. A
    /// longer list is made aside: whoever asks while the allocator runs sees the old one or the new one.
    fn reserve_table(&self, count: usize) -> Result<(), usize> {
        // SAFETY: as in `table_count`.
        if unsafe { &*self.tables.get() }.capacity() > count {
            return Ok(());
        }
        let longer = (2 * count).max(4);
        let mut tables = Vec::new();
        tables.try_reserve_exact(longer).map_err(|_| longer * size_of::<NonNull<Table<B>>>())?;
        // SAFETY: as in `table_count`.
        tables.extend_from_slice(unsafe { &*self.tables.get() });
        // SAFETY: as in `table_count`: swapping calls nobody.
        mem::swap(unsafe { &mut *self.tables.get() }, &mut tables);
        // Here the old list is freed, which nothing refers to any more.
        drop(tables);
        Ok(())
    }

    /// The first slot of the table after `table`, which is made if there is none.
    ///
    /// # Safety
    ///
    /// `table` belongs to a pool that lives for `'s`, and the pool is marked as busy.
    pub(super) unsafe fn slot_after<'s>(
        table: NonNull<Table<B>>,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        // SAFETY: the table is live, and the field is never written after it was made.
        let state = unsafe { (*table.as_ptr()).state };
        // SAFETY: the caller's promise.
        let this: &'s Self = unsafe { Self::of(table) };
        // SAFETY: as for `state`.
        let next = unsafe { (*table.as_ptr()).number } + 1;
        if next == this.table_count() {
            // SAFETY: a table's `state` is the address of its pool's state, which is marked (caller).
            unsafe { this.push_table(state) }?;
        }
        // SAFETY: `next` is the number of a table that there was, or of the one just made.
        Ok(unsafe { this.slot(next * SLOTS) })
    }

    fn table_count(&self) -> usize {
        // SAFETY: the list is referred to in this method, in `table`, `push_table` and `reserve_table`
        // alone, on one thread (invariant 7), and none of them calls anything, not even the allocator,
        // while it has the reference: so this is the only one, or one of several shared ones.
        let tables = unsafe { &*self.tables.get() };
        tables.len()
    }

    /// # Safety
    ///
    /// There are more than `number` tables.
    unsafe fn table(&self, number: usize) -> NonNull<Table<B>> {
        // SAFETY: as in `table_count`.
        let tables = unsafe { &*self.tables.get() };
        debug_assert!(number < tables.len(), "table {number} of {}", tables.len());
        // SAFETY: the caller's promise.
        unsafe { *tables.get_unchecked(number) }
    }

    /// How many slots there are, used or not.
    pub(super) fn slot_count(&self) -> usize {
        self.table_count() * SLOTS
    }

    /// The slots from number `from` on, as many as there are now.
    pub(super) fn slots_from(&self, from: usize) -> impl Iterator<Item = SlotPointer<'_, B>> {
        // SAFETY: the numbers are below the number of slots, and tables are never fewer.
        (from..self.slot_count()).map(|number| unsafe { self.slot(number) })
    }

    /// The slot of a number.
    ///
    /// # Safety
    ///
    /// `number` is below [`slot_count`](Self::slot_count).
    pub(crate) unsafe fn slot(&self, number: usize) -> SlotPointer<'_, B> {
        // SAFETY: there are `SLOTS` slots to each table (caller).
        let table = unsafe { self.table(number / SLOTS) };
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
        // SAFETY: there is at least one table, and the number is one of a slot or right behind the last.
        let table = unsafe { self.table(number / SLOTS - usize::from(at_end)) };
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
    /// The pool is borrowed exclusively, so that no view of any slot is in use.
    pub(crate) unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError> {
        config.validate()?;
        self.config.set(config);
        for slot in self.slots_from(0) {
            // SAFETY: no view of the slot is in use (caller).
            unsafe { cold::advertise(slot) };
        }
        // Only now, because the `Drop` of a backend's descriptors runs: every slot follows by then.
        for slot in self.slots_from(0) {
            // SAFETY: as above.
            drop(unsafe { cold::take_shapes(slot) });
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
        for slot in self.slots_from(0) {
            // SAFETY: the record is live and nothing holds a reference to it.
            let bytes = unsafe { (*slot.record().as_ptr()).real };
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

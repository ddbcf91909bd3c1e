//! Implements methods that create a pool's tables or find a slot by its number.

use core::ptr::NonNull;

use super::slot::SlotPointer;
use super::state::State;
use super::table::{SLOTS, Table};
use super::words::Slot;
use crate::backend::PoolBackend;
use crate::error::PoolError;
use crate::stats::PoolStats;

impl<B: PoolBackend> State<B> {
    /// Appends an empty table. While this method runs, the allocator might run code that reads the
    /// list of tables. Code that the allocator runs must not add a table to the list.
    ///
    /// # Safety
    ///
    /// `state` must be the address of `self`. The pool must be marked as busy, or must not yet be
    /// accessible to other code.
    pub(super) unsafe fn push_table(
        &self,
        state: NonNull<Self>,
    ) -> Result<(), PoolError<B::Error>> {
        let no_memory = |requested| PoolError::Bookkeeping { requested };
        let count = self.tables.len();
        self.tables.make_room().map_err(no_memory)?;
        let table = Table::allocate(state, count).ok_or(no_memory(Table::<B>::BYTES))?;
        // SAFETY: the new table is live. Index 0 refers to the table's first slot.
        let first = unsafe { Table::slot(table, 0) };
        // SAFETY: `make_room` reserved capacity for the table. The caller guarantees that no other
        // code has used that capacity.
        unsafe { self.tables.push(first) };
        Ok(())
    }

    /// Returns the first slot of the table that follows `table`. If `table` is the last one, the
    /// method creates another.
    ///
    /// # Safety
    ///
    /// `table` must belong to a pool that outlives `'s`, and the pool must be marked as busy.
    pub(super) unsafe fn slot_after<'s>(
        table: NonNull<Table<B>>,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        // SAFETY: the table is live. The `state` field never changes after the table is created.
        let state = unsafe { (*table.as_ptr()).state };
        // SAFETY: the caller upholds the safety contract of `Table::state_of`.
        let this: &'s Self = unsafe { Table::state_of(table) };
        // SAFETY: the table is live. The `number` field never changes after the table is created.
        let next = unsafe { (*table.as_ptr()).number } + 1;
        if next == this.tables.len() {
            // SAFETY: `state` is the address of the pool's state. The caller guarantees that the
            // pool is marked as busy.
            unsafe { this.push_table(state) }?;
        }
        // SAFETY: `next` is the number of an existing table, which might have just been created.
        Ok(unsafe { this.slot(next * SLOTS) })
    }

    /// Returns the table with the given number.
    ///
    /// # Safety
    ///
    /// The pool must have more than `number` tables.
    pub(super) unsafe fn table(&self, number: usize) -> NonNull<Table<B>> {
        // A table has the same address as its first slot because `Table` is `repr(C)`. The first
        // slot's address was derived from the table's allocation. SAFETY: the caller guarantees
        // that the pool has more than `number` tables.
        unsafe { self.tables.get(number) }.cast()
    }

    /// Returns the total number of slots, both used and unused.
    pub(super) fn slot_count(&self) -> usize {
        self.tables.len() * SLOTS
    }

    /// Returns an iterator over slot `from` and all later slots that exist when this method is
    /// called.
    pub(super) fn slots_from(&self, from: usize) -> impl Iterator<Item = SlotPointer<'_, B>> {
        // SAFETY: every `number` is less than the number of slots, and the number of slots never
        // decreases.
        (from..self.slot_count()).map(|number| unsafe { self.slot(number) })
    }

    /// Returns the slot with the given number.
    ///
    /// # Safety
    ///
    /// `number` must be less than [`slot_count`](Self::slot_count).
    pub(crate) unsafe fn slot(&self, number: usize) -> SlotPointer<'_, B> {
        // SAFETY: the caller guarantees that the slot exists. The slot's table therefore also
        // exists, because each table has `SLOTS` slots.
        let first = unsafe { self.tables.get(number / SLOTS) };
        // SAFETY: `first` is slot 0 of a live table. The remainder, which is the slot's index in
        // that table, is less than `SLOTS`.
        let slot = unsafe { first.add(number % SLOTS) };
        // SAFETY: the slot is not a sentinel. The pool is live while its state is borrowed.
        unsafe { SlotPointer::new(slot) }
    }

    /// Returns the address of slot `number`. If `number` equals the number of slots, the method
    /// returns the address of the sentinel at the end of the last table.
    ///
    /// # Safety
    ///
    /// `number` must be at most the number of slots.
    #[inline]
    pub(super) unsafe fn slot_or_end(&self, number: usize) -> NonNull<Slot<B>> {
        let at_end = number == self.slot_count();
        // SAFETY: the pool has at least one table. `number` is at most one more than the last
        // slot's number.
        let first = unsafe { self.tables.get(number / SLOTS - usize::from(at_end)) };
        let index = if at_end { SLOTS } else { number % SLOTS };
        // SAFETY: `first` is slot 0 of a live table. `index` refers to a slot or to the sentinel of
        // that table.
        unsafe { first.add(index) }
    }

    /// Returns the sizes in bytes of the three largest blocks, in descending order.
    pub(super) fn largest_blocks(&self) -> [usize; 3] {
        let mut largest = [0; 3];
        for slot in self.slots_from(0) {
            // SAFETY: the slot's record is live. No reference to the record exists.
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

    /// Returns the pool's statistics for a scope whose cursor is at slot number `active`.
    pub(crate) fn stats(&self, active: usize) -> PoolStats {
        self.numbers(active, self.table_bytes())
    }

    /// Returns the total size of the tables in bytes. Any thread may call this method.
    pub(super) fn table_bytes(&self) -> usize {
        self.tables.counted() * Table::<B>::BYTES
    }
}

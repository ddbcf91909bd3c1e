//! The tables of a pool: creating another table, and finding slots by their numbers across all
//! tables.

use core::ptr::NonNull;

use super::slot::SlotPointer;
use super::state::State;
use super::table::{SLOTS, Table};
use super::words::Slot;
use crate::backend::PoolBackend;
use crate::error::PoolError;
use crate::stats::PoolStats;

impl<B: PoolBackend> State<B> {
    /// Appends an empty table. The allocator may run code that reads the list, but no code that
    /// adds to it.
    ///
    /// # Safety
    ///
    /// `state` is the address of `self`. The pool is marked as busy, or is not yet shared.
    pub(super) unsafe fn push_table(
        &self,
        state: NonNull<Self>,
    ) -> Result<(), PoolError<B::Error>> {
        let no_memory = |requested| PoolError::Bookkeeping { requested };
        let count = self.tables.len();
        self.tables.make_room().map_err(no_memory)?;
        let table = Table::allocate(state, count).ok_or(no_memory(Table::<B>::BYTES))?;
        // SAFETY: this is slot 0 of the table that was just created.
        let first = unsafe { Table::slot(table, 0) };
        // SAFETY: the list has capacity for the table, which no other code uses up (caller).
        unsafe { self.tables.push(first) };
        Ok(())
    }

    /// Returns the first slot of the table after `table`. Creates that table if it does not exist.
    ///
    /// # Safety
    ///
    /// `table` belongs to a pool that lives for `'s`, and the pool is marked as busy.
    pub(super) unsafe fn slot_after<'s>(
        table: NonNull<Table<B>>,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        // SAFETY: the table is live, and the field is never written after the table was created.
        let state = unsafe { (*table.as_ptr()).state };
        // SAFETY: the caller upholds the same contract.
        let this: &'s Self = unsafe { Table::state_of(table) };
        // SAFETY: as for `state`.
        let next = unsafe { (*table.as_ptr()).number } + 1;
        if next == this.tables.len() {
            // SAFETY: a table's `state` is the address of its pool's state, which is marked
            // (caller).
            unsafe { this.push_table(state) }?;
        }
        // SAFETY: `next` is the number of an existing table, or of the table just created.
        Ok(unsafe { this.slot(next * SLOTS) })
    }

    /// Returns the table with the given number.
    ///
    /// # Safety
    ///
    /// The pool has more than `number` tables.
    pub(super) unsafe fn table(&self, number: usize) -> NonNull<Table<B>> {
        // SAFETY: the caller upholds the same contract. A table is at the address of its first slot
        // (`Table` is `repr(C)`), and that address was derived from the table's allocation.
        unsafe { self.tables.get(number) }.cast()
    }

    /// Returns the number of slots, whether used or not.
    pub(super) fn slot_count(&self) -> usize {
        self.tables.len() * SLOTS
    }

    /// Returns the slots from number `from` on that exist when the method is called.
    pub(super) fn slots_from(&self, from: usize) -> impl Iterator<Item = SlotPointer<'_, B>> {
        // SAFETY: the numbers are below the number of slots, and the number of tables never
        // decreases.
        (from..self.slot_count()).map(|number| unsafe { self.slot(number) })
    }

    /// Returns the slot with the given number.
    ///
    /// # Safety
    ///
    /// `number` is below [`slot_count`](Self::slot_count).
    pub(crate) unsafe fn slot(&self, number: usize) -> SlotPointer<'_, B> {
        // SAFETY: each table has `SLOTS` slots, so this table exists (caller).
        let first = unsafe { self.tables.get(number / SLOTS) };
        // SAFETY: `first` is slot 0 of a live table, and the remainder is below `SLOTS`.
        let slot = unsafe { first.add(number % SLOTS) };
        // SAFETY: the slot is not a sentinel, and the pool lives while its state is borrowed.
        unsafe { SlotPointer::new(slot) }
    }

    /// Returns the address of slot `number`, or of the sentinel that ends the last table.
    ///
    /// # Safety
    ///
    /// `number` is at most the number of slots.
    #[inline]
    pub(super) unsafe fn slot_or_end(&self, number: usize) -> NonNull<Slot<B>> {
        let at_end = number == self.slot_count();
        // SAFETY: there is at least one table, and `number` is the number of a slot or one more
        // than the last slot's.
        let first = unsafe { self.tables.get(number / SLOTS - usize::from(at_end)) };
        let index = if at_end { SLOTS } else { number % SLOTS };
        // SAFETY: `first` is slot 0 of a live table, and the index refers to a slot or to the
        // sentinel.
        unsafe { first.add(index) }
    }

    /// Returns the sizes of the largest blocks in bytes, in descending order.
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

    /// Returns the statistics of the pool, as seen from a position after `active` slots.
    pub(crate) fn stats(&self, active: usize) -> PoolStats {
        self.numbers(active, self.table_bytes())
    }

    /// Returns the size of the tables in bytes. Any thread may call this method.
    pub(super) fn table_bytes(&self) -> usize {
        self.tables.counted() * Table::<B>::BYTES
    }
}

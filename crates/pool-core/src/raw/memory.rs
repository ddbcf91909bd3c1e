//! A slot as the memory of an array: what acquires, views and handles do with a slot that was reserved.

use super::mark::mark;
use super::slot::SlotPointer;
use super::table::{SLOTS, Table};
use crate::backend::{ArrayMemory, HostBackend, PoolBackend};
use crate::slot_ref::SlotRef;

impl<'s, B: PoolBackend> ArrayMemory<'s, B> for SlotPointer<'s, B> {
    #[inline(always)]
    fn block(self) -> B::Block {
        // SAFETY: the slot lives for `'s`, and nothing holds a reference to it (invariant 2).
        unsafe { (*self.slot.as_ptr()).block }
    }

    #[inline(always)]
    fn reference(self) -> SlotRef<B> {
        // SAFETY: a slot of a pool of this backend (`new`).
        unsafe { SlotRef::new(self.slot.cast()) }
    }

    #[inline]
    fn context(self) -> &'s B::Context {
        self.state().context()
    }

    fn number(self) -> usize {
        // SAFETY: a slot of a live pool (`new`).
        let (table, index) = unsafe { Table::locate(self.slot) };
        // SAFETY: the slot's table is live, and its number is never written after it was made.
        unsafe { (*table.as_ptr()).number * SLOTS + index }
    }

    unsafe fn set_handle(self, serial: u64, length: usize) {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it.
        unsafe { (*record).serial = serial };
        // SAFETY: as above.
        unsafe { (*record).length = length };
    }

    fn handle(self) -> (u64, usize) {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it.
        let serial = unsafe { (*record).serial };
        // SAFETY: as above.
        (serial, unsafe { (*record).length })
    }

    #[inline]
    unsafe fn mark(self, bytes: usize)
    where
        B: HostBackend,
    {
        // SAFETY: the caller's promise.
        unsafe { mark(self, bytes) };
    }
}

//! A slot as the memory of an array: what acquires, views and handles do with a slot that was reserved.

use super::mark::mark;
use super::slot::SlotPointer;
use crate::backend::{ArrayMemory, HostBackend, PoolBackend};
use crate::error::PoolError;
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

    #[inline]
    unsafe fn name(self, serial: u64, length: usize) -> Result<usize, PoolError<B::Error>> {
        let record = self.record().as_ptr();
        // SAFETY: the record is live and nothing holds a reference to it.
        unsafe { (*record).serial = serial };
        // SAFETY: as above.
        unsafe { (*record).length = length };
        Ok(self.number())
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

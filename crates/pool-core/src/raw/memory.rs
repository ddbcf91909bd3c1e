//! A slot as the memory of an array: the operations of acquires, views and handles on a reserved
//! slot.

use super::fits::padded;
use super::mark::mark;
use super::slot::SlotPointer;
use crate::backend::{ArrayMemory, HostBackend, PoolBackend};
use crate::error::PoolError;
use crate::slot_ref::SlotRef;

impl<'s, B: PoolBackend> ArrayMemory<'s, B> for SlotPointer<'s, B> {
    #[inline(always)]
    fn block_for<T>(self) -> B::Block {
        if align_of::<T>() > B::ALIGN {
            return B::align_block(self.block(), align_of::<T>());
        }
        self.block()
    }

    #[inline(always)]
    fn reference(self) -> SlotRef<B> {
        // SAFETY: this is a slot of a pool of this backend (`new`).
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
    unsafe fn mark<T>(self, length: usize)
    where
        B: HostBackend,
    {
        // The elements end within this number of bytes from the start of the block.
        let bytes = padded::<T>(length, B::ALIGN) * size_of::<T>();
        // SAFETY: the memory was reserved for this number of bytes, including padding (caller). The
        // caller upholds the rest of the contract.
        unsafe { mark(self, bytes) };
    }
}

//! Implements `ArrayMemory` for slots. This module contains the operations that acquire methods,
//! views, and handles perform on a reserved slot.

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
        // SAFETY: the pointer refers to a slot of a pool with the backend `B`, as `new` requires.
        unsafe { SlotRef::new(self.slot.cast()) }
    }

    #[inline]
    fn context(self) -> &'s B::Context {
        self.state().context()
    }

    #[inline]
    unsafe fn name(self, serial: u64, length: usize) -> Result<usize, PoolError<B::Error>> {
        let record = self.record().as_ptr();
        // SAFETY: the slot's record is live, and no reference to it exists.
        unsafe { (*record).serial = serial };
        // SAFETY: the slot's record is live, and no reference to it exists.
        unsafe { (*record).length = length };
        Ok(self.number())
    }

    #[inline]
    unsafe fn mark<T>(self, length: usize)
    where
        B: HostBackend,
    {
        // `bytes` is an upper bound on the offset from the start of the block to the end of the
        // elements.
        let bytes = padded::<T>(length, B::ALIGN) * size_of::<T>();
        // SAFETY: the caller guarantees that the memory was reserved for this number of bytes,
        // including padding. The caller also upholds the other requirements of `mark`.
        unsafe { mark(self, bytes) };
    }
}

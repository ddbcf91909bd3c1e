//! Provides scratch memory for routines that partition the memory themselves. Scratch memory
//! consists of uninitialized bytes with a given alignment.

use core::mem::MaybeUninit;

use super::HostAcquireResult;
use crate::backend::{HostBackend, ScopeCursor};
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Acquires `bytes` uninitialized bytes at an address that is a multiple of `align`, which may
    /// be any power of two. If `align` is greater than
    /// [`PoolBackend::ALIGN`](crate::PoolBackend::ALIGN), the slot holds up to `align` additional
    /// bytes.
    ///
    /// For example, pass the memory to the `MemStack::new` function from the dyn-stack crate, which
    /// faer uses:
    ///
    /// ```text
    /// let needed = routine_scratch(rows, columns); // a `StackReq`
    /// let stack = MemStack::new(scope.scratch(needed.size_bytes(), needed.align_bytes()));
    /// ```
    ///
    /// Like [`acquire_uninit`](Self::acquire_uninit), this method marks the slot.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let page = scope.scratch(100, 4096);
    /// assert_eq!((page.len(), page.as_ptr().addr() % 4096), (100, 0));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_scratch`](Self::try_scratch) would return.
    #[inline]
    #[track_caller]
    pub fn scratch(&self, bytes: usize, align: usize) -> &'s mut [MaybeUninit<u8>] {
        self.cursor.note_caller();
        self.try_scratch(bytes, align).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`scratch`](Self::scratch).
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Alignment`] if `align` is not a power of two. The method can also
    /// return any error that [`try_acquire`](Self::try_acquire) returns.
    pub fn try_scratch(
        &self,
        bytes: usize,
        align: usize,
    ) -> HostAcquireResult<'s, B, MaybeUninit<u8>> {
        if !align.is_power_of_two() {
            return Err(PoolError::Alignment { asked: align });
        }
        // A block starts at a multiple of `ALIGN`, so the next multiple of a larger `align` is at
        // most `align - ALIGN` bytes away.
        let Some(room) = bytes.checked_add(align.saturating_sub(B::ALIGN)) else {
            return Err(PoolError::SizeOverflow { elements: bytes, element_size: 1 });
        };
        let whole = self.try_acquire_uninit::<u8, _>(room)?;
        // The offset is computed without `align_offset` because that method is allowed to fail.
        let offset = whole.as_ptr().addr().wrapping_neg() & (align - 1);
        Ok(&mut whole[offset..offset + bytes])
    }
}

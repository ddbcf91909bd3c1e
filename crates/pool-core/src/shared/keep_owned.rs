//! Keeping an array of an inner scope as an owned array: its block leaves the scope's pool if it can, else it is
//! copied.

use core::any::TypeId;
use core::ptr::NonNull;
use core::slice;

use super::host_memory::{HostMemory, SharedHostBackend};
use super::memory::OwnedMemory;
use super::owned::{Owned, TakenBlock};
use super::record::RecordPlace;
use super::shared_pool::{SharedPool, TakeResult};
use crate::backend::{HostBackend, PoolBackend, ScopeCursor};
use crate::element::HostElement;
use crate::error::{PoolError, panic_with};
use crate::host::is_known_plain;
use crate::scope::Scope;

impl<B: HostBackend> Scope<'_, B> {
    /// Runs `body` in an inner scope, and keeps the slice that `body` returns as an array of `pool` when that scope
    /// ends.
    ///
    /// The array is not copied if the scope's pool has slots, is of the same backend, and the backend's context is
    /// `()`, as it is for host memory. Then its block moves to `pool`, and an idle block of `pool` takes its place in
    /// the slot. So a loop allocates nothing if the arrays that it keeps are dropped again. Any other slice is copied.
    /// The array holds the whole block that moved.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// use pool_core::{Owned, Pool, SharedPool};
    ///
    /// let results = SharedPool::<Memory>::new(Default::default());
    /// let mut pool = Pool::<Memory>::new(Default::default());
    /// let mut scope = pool.scope();
    /// let kept: Owned<Memory, u64> = scope.keep_owned(&results, |inner| {
    ///     let all = inner.acquire_with(10, |i| i as u64);
    ///     inner.acquire_from_iter(all.iter().copied().filter(|number| number % 3 == 0))
    /// });
    /// drop(pool);
    /// assert_eq!(*kept, [0, 3, 6, 9]);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_keep_owned`](Self::try_keep_owned) returns.
    #[track_caller]
    pub fn keep_owned<O, T: HostElement>(
        &mut self,
        pool: &SharedPool<O>,
        body: impl for<'inner> FnOnce(Scope<'inner, B>) -> &'inner mut [T],
    ) -> Owned<O, T>
    where
        O: SharedHostBackend<Block = B::Block>,
    {
        let kept = self.try_keep_owned(pool, |inner| Ok::<_, PoolError<O::Error>>(body(inner)));
        kept.unwrap_or_else(|error| panic_with(&error))
    }

    /// Does the same as [`keep_owned`](Self::keep_owned), for a `body` that may fail.
    ///
    /// # Errors
    ///
    /// The error of `body`, and those of [`SharedPool::try_take`].
    pub fn try_keep_owned<O, T: HostElement, E: From<PoolError<O::Error>>>(
        &mut self,
        pool: &SharedPool<O>,
        body: impl for<'inner> FnOnce(Scope<'inner, B>) -> Result<&'inner mut [T], E>,
    ) -> Result<Owned<O, T>, E>
    where
        O: SharedHostBackend<Block = B::Block>,
    {
        let slice = body(self.scope())?;
        // From here on only its address and length are used: the inner scope has ended.
        let (start, length) = (NonNull::from(&mut *slice).cast::<T>(), slice.len());
        // SAFETY: the inner scope has ended, and `body` knows nothing of the lifetime `'inner`. So no slot at or above the
        // cursor has a view but the slice (see `try_keep`), which was given up.
        if let Some(kept) = unsafe { self.move_out(pool, start, length) } {
            return Ok(kept?);
        }
        // SAFETY: the slice is valid: it was not moved, and nothing was acquired or freed since.
        let source = unsafe { slice::from_raw_parts(start.as_ptr(), length) };
        Ok(pool.try_take_with(length, |index| source[index])?)
    }

    /// Moves the block that contains a slice to a shared pool; `None` if it cannot move.
    ///
    /// # Safety
    ///
    /// The elements are valid, and nothing else uses them. No slot at or above the cursor has another view.
    unsafe fn move_out<O, T: HostElement>(
        &mut self,
        pool: &SharedPool<O>,
        start: NonNull<T>,
        length: usize,
    ) -> Option<TakeResult<O, T>>
    where
        O: SharedHostBackend<Block = B::Block>,
    {
        // A block is freed with the context that it was allocated with. All contexts of the type `()` are the same.
        let is_same = TypeId::of::<B>() == TypeId::of::<O>()
            && TypeId::of::<<B as PoolBackend>::Context>() == TypeId::of::<()>();
        if !is_same || length * size_of::<T>() == 0 {
            return None;
        }
        let address = start.cast::<u8>();
        let bytes = self.cursor.idle_block_bytes(address)?;
        let store = pool.store();
        let place = match RecordPlace::new() {
            Ok(place) => place,
            Err(requested) => return Some(Err(PoolError::Bookkeeping { requested })),
        };
        // If the limit does not allow the whole block, a copy may fit.
        store.reserve(bytes).ok()?;
        let spare = store.take_like(bytes).map(HostMemory::into_block);
        // The cursor found the block above, and nothing was acquired since.
        // SAFETY: as the caller promises, the block has no view but the caller's. The spare block is the caller's own, of
        // the same backend and context.
        let block = unsafe { self.cursor.take_idle_block(address, spare) }?;
        // SAFETY: taken out of its slot, which described it so.
        let mut memory = unsafe { HostMemory::<O>::from_block(block) };
        if !is_known_plain::<T>() {
            memory.mark(memory.bytes());
        }
        let record = store.adopt(place, memory);
        // SAFETY: just adopted by this store.
        let block = unsafe { TakenBlock::new(pool.store_pointer(), record) };
        // SAFETY: the elements are valid, and in the block.
        Some(Ok(unsafe { Owned::new(block, start, length) }))
    }
}

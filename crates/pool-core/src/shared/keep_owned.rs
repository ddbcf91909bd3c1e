//! Implements methods that convert an inner scope's array into an owned array. If possible, the
//! array's block is moved out of the scope's pool. If the block cannot be moved, the array is
//! copied.

use core::any::TypeId;
use core::ptr::NonNull;
use core::slice;

use super::host_memory::{HostMemory, SharedHostBackend};
use super::memory::OwnedMemory;
use super::owned::{Owned, TakenBlock};
use super::record::RecordPlace;
use super::shared_pool::{SharedPool, TakeResult};
use super::store::Store;
use crate::backend::{HostBackend, PoolBackend, ScopeCursor};
use crate::element::HostElement;
use crate::error::{PoolError, panic_with};
use crate::host::is_known_plain;
use crate::scope::Scope;

impl<B: HostBackend> Scope<'_, B> {
    /// Runs `body` in an inner scope and converts the returned slice into an owned array that
    /// belongs to `pool`. The array remains valid after the inner scope has ended.
    ///
    /// The slice is not copied if the scope's pool has slots and the same backend as `pool`. The
    /// type of the backend's context must also be `()`, which is the context type of host memory.
    /// If the slice is not copied, its block moves to `pool` and is replaced in the slot with an
    /// idle block from `pool`. A loop that calls this method stops allocating memory once it can
    /// reuse the blocks of dropped arrays. The owned array occupies the whole block that was moved.
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
    /// Panics with the error that [`try_keep_owned`](Self::try_keep_owned) would return.
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

    /// Works like [`keep_owned`](Self::keep_owned), but accepts a `body` that can fail.
    ///
    /// # Errors
    ///
    /// Returns the error from `body`, or an error from [`SharedPool::try_take`].
    pub fn try_keep_owned<O, T: HostElement, E: From<PoolError<O::Error>>>(
        &mut self,
        pool: &SharedPool<O>,
        body: impl for<'inner> FnOnce(Scope<'inner, B>) -> Result<&'inner mut [T], E>,
    ) -> Result<Owned<O, T>, E>
    where
        O: SharedHostBackend<Block = B::Block>,
    {
        let slice = body(self.scope())?;
        // From this point on, only the slice's address and length are used, because the inner scope
        // has ended.
        let (start, length) = (NonNull::from(&mut *slice).cast::<T>(), slice.len());
        // SAFETY: the inner scope has ended. `body` is generic over the lifetime `'inner`. The
        // slice is therefore the only view of any slot at or above the cursor, as the proof in
        // `try_keep` explains. `body` no longer uses the slice.
        if let Some(kept) = unsafe { self.move_out(pool, start, length) } {
            return Ok(kept?);
        }
        // SAFETY: the slice is still valid because nothing has been moved, acquired, or freed since
        // `body` returned it.
        let source = unsafe { slice::from_raw_parts(start.as_ptr(), length) };
        Ok(pool.try_take_with(length, |index| source[index])?)
    }

    /// Moves a slice's block to a shared pool. Returns `None` if the block cannot be moved.
    ///
    /// # Safety
    ///
    /// The elements must be valid, and no other code may use them. No other view of any slot at or
    /// above the cursor may exist.
    unsafe fn move_out<O, T: HostElement>(
        &mut self,
        pool: &SharedPool<O>,
        start: NonNull<T>,
        length: usize,
    ) -> Option<TakeResult<O, T>>
    where
        O: SharedHostBackend<Block = B::Block>,
    {
        // A block must be freed with the same context that allocated it. All contexts of type `()`
        // are equal, so the block can move to another pool.
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
        let spare = store.take_like(bytes);
        if store.reserve_adopted(bytes).is_err() {
            // Moving the block would exceed the limit, but a copy of the slice might still fit
            // within the limit.
            spare.into_iter().for_each(|spare| store.free_memory(spare));
            return None;
        }
        let spare = spare.map(HostMemory::into_block);
        // The slot still contains the block that `idle_block_bytes` found, because nothing has been
        // acquired in the meantime. SAFETY: the caller guarantees that it holds the only view of
        // the block. Only this call uses the spare block, which has the same backend and context as
        // the slot's block.
        let block = unsafe { self.cursor.take_idle_block(address, spare) }?;
        // SAFETY: the block was removed from its slot. The block's size and its number of
        // uninitialized bytes come from the slot's record.
        let mut memory = unsafe { HostMemory::<O>::from_block(block) };
        if !is_known_plain::<T>() {
            memory.mark(memory.bytes());
        }
        let record = Store::<O>::adopt(place, memory);
        // SAFETY: this store has just adopted the record.
        let block = unsafe { TakenBlock::new(pool.store_pointer(), record) };
        // SAFETY: the elements are valid and are stored in the block.
        Some(Ok(unsafe { Owned::new(block, start, length) }))
    }
}

//! The handle of a pool of owned arrays, which any thread takes and drops.

use alloc::sync::Arc;
use core::fmt;
use core::ptr::NonNull;

use super::host_memory::SharedHostBackend;
use super::memory::{OwnedMemory, SharedBackend};
use super::owned::{Owned, TakenBlock};
use super::store::{Store, close};
use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::element::{Element, HostElement, PodElement};
use crate::error::{PoolError, panic_with};
use crate::host::is_known_plain;
use crate::memory_checks::MemoryChecks;
use crate::stats::{PoolStats, ReleaseReport};

/// The result of the methods of [`SharedPool`] that take an array.
pub type TakeResult<B, T> = Result<Owned<B, T>, PoolError<<B as PoolBackend>::Error>>;

/// The name of an array in the memory of a backend.
type Name<B, T> = <<B as SharedBackend>::Memory as OwnedMemory<B>>::Name<T>;

/// A thread-safe pool of [`Owned`] arrays, for memory that leaves a scope.
///
/// A clone is another handle of the same pool. Any thread takes arrays, and any thread drops them. The pool reuses the
/// memory of dropped arrays. Arrays keep the pool's memory alive: the handles may be dropped before them.
///
/// Scopes are faster, so temporaries belong there. Owned arrays are for data that outlives its scope: results that
/// leave a loop, queues between threads, tasks of an executor.
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// use std::sync::mpsc;
/// use std::thread;
///
/// use pool_core::{Owned, SharedPool};
///
/// let pool = SharedPool::<Memory>::new(Default::default());
/// let (sender, receiver) = mpsc::channel::<Owned<Memory, f32>>();
/// let worker = thread::spawn({
///     let pool = pool.clone();
///     move || {
///         for number in 0..100 {
///             let mut block = pool.take_zeroed::<f32>(1000);
///             block[0] = number as f32;
///             sender.send(block).unwrap();
///         }
///     }
/// });
/// let sum: f32 = receiver.iter().map(|block| block[0]).sum(); // each block is used again
/// assert_eq!(sum, 4950.0);
/// worker.join().unwrap();
/// ```
///
/// # What it holds
///
/// A block exceeds its array by at most a quarter, and 64 bytes. Dropped arrays leave idle blocks. The pool frees idle
/// blocks rather than hold more than five quarters of the bytes that were live at most, and 64 KiB for each thread. If
/// an array would need a block beyond that, it may get a larger idle block, of up to four times its bytes. While such
/// arrays live, the pool may hold more. The peak is measured each time the pool is about to grow. [`trim`](Self::trim)
/// frees all idle blocks.
///
/// # Threads
///
/// With the feature `std`, on Linux, a thread takes from a magazine of its own and returns to it, without an atomic
/// exchange. Otherwise, and if the magazine is empty or full, blocks go through shards, each behind a lock that is held
/// for a few instructions. A thread tries the locks in turn and takes the first that is free. Threads wait only in
/// [`trim`](Self::trim), if the pool may not grow, and when the last handle is dropped. Allocation and freeing happen
/// outside the locks.
///
/// A signal or interrupt handler must not use a pool that the code it interrupts uses.
///
/// # Configuration
///
/// These options of a [`PoolConfig`] apply: the name, the byte limit, huge pages, poison and fresh blocks.
pub struct SharedPool<B: SharedBackend>(Arc<StoreHandle<B>>);

/// The state that all handles of a store share; its drop closes the store.
struct StoreHandle<B: SharedBackend>(NonNull<Store<B>>);

// SAFETY: a store is shared by threads: its shards are behind locks, its memory is `Send`, its origin `Send` and `Sync`,
// and the rest is atomic or does not change.
unsafe impl<B: SharedBackend> Send for StoreHandle<B> {}

// SAFETY: as above.
unsafe impl<B: SharedBackend> Sync for StoreHandle<B> {}

impl<B: SharedBackend> Drop for StoreHandle<B> {
    fn drop(&mut self) {
        // SAFETY: the last handle is gone, and no handle closed the store before.
        unsafe { close(self.0) };
    }
}

impl<B: SharedBackend> SharedPool<B> {
    /// Creates an empty pool with the default configuration.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`with_config`](Self::with_config) returns.
    #[must_use]
    pub fn new(context: B::Context) -> Self {
        Self::with_config(context, PoolConfig::new()).unwrap_or_else(|error| panic_with(&error))
    }

    /// Creates an empty pool with a configuration.
    ///
    /// # Errors
    ///
    /// [`PoolError::Config`] for a value out of its range, and [`PoolError::Bookkeeping`] if the host has no memory for
    /// the pool's own state.
    pub fn with_config(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<Self, PoolError<B::Error>> {
        config.validate()?;
        let store = Store::create(context, MemoryChecks::applied_to(config))?;
        Ok(Self(Arc::new(StoreHandle(store))))
    }

    #[inline(always)]
    pub(super) fn store(&self) -> &Store<B> {
        // SAFETY: the store lives until the last handle is dropped.
        unsafe { self.0.0.as_ref() }
    }

    #[inline(always)]
    pub(super) fn store_pointer(&self) -> NonNull<Store<B>> {
        self.0.0
    }

    /// Takes an array of `length` elements with recycled contents.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_take`](Self::try_take) returns.
    #[inline]
    #[track_caller]
    pub fn take<T: PodElement>(&self, length: usize) -> Owned<B, T> {
        self.try_take(length).unwrap_or_else(|error| panic_with(&error))
    }

    /// Does the same as [`take`](Self::take), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// [`PoolError::SizeOverflow`] above `isize::MAX` bytes. [`PoolError::LimitExceeded`] and
    /// [`PoolError::OutOfMemory`] if no block can be allocated even after all idle blocks were freed.
    /// [`PoolError::Bookkeeping`] if the host has no memory for the block's record. [`PoolError::Backend`] if the
    /// memory cannot be initialised or ordered.
    #[inline]
    pub fn try_take<T: PodElement>(&self, length: usize) -> TakeResult<B, T> {
        self.hand_out(length, |memory, store| {
            memory.recycled(store.origin(), length, store.config())
        })
    }

    /// Takes an array of `length` elements, all of whose bytes are zero.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_take_zeroed`](Self::try_take_zeroed) returns.
    #[inline]
    #[track_caller]
    pub fn take_zeroed<T: Element>(&self, length: usize) -> Owned<B, T> {
        self.try_take_zeroed(length).unwrap_or_else(|error| panic_with(&error))
    }

    /// Does the same as [`take_zeroed`](Self::take_zeroed), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// Same as [`try_take`](Self::try_take).
    #[inline]
    pub fn try_take_zeroed<T: Element>(&self, length: usize) -> TakeResult<B, T> {
        self.hand_out(length, |memory, store| memory.zeroed(store.origin(), length))
    }

    /// Takes an array with a copy of `source`. The call returns after `source` was read.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_take_from`](Self::try_take_from) returns.
    #[inline]
    #[track_caller]
    pub fn take_from<T: Element>(&self, source: &[T]) -> Owned<B, T> {
        self.try_take_from(source).unwrap_or_else(|error| panic_with(&error))
    }

    /// Does the same as [`take_from`](Self::take_from), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// Same as [`try_take`](Self::try_take).
    #[inline]
    pub fn try_take_from<T: Element>(&self, source: &[T]) -> TakeResult<B, T> {
        self.hand_out(source.len(), |memory, store| memory.copied(store.origin(), source))
    }

    /// Takes a block, in which `fill` begins an array.
    #[inline(always)]
    fn hand_out<T>(
        &self,
        length: usize,
        fill: impl FnOnce(&mut B::Memory, &Store<B>) -> Result<Name<B, T>, PoolError<B::Error>>,
    ) -> TakeResult<B, T> {
        let store = self.store();
        let Some(bytes) = B::Memory::block_bytes(length, size_of::<T>()) else {
            return Err(too_large::<T, _>(length));
        };
        let record = match store.take_near(bytes) {
            Some(record) => record,
            None => match store.take(bytes) {
                Ok(record) => record,
                Err(error) => return Err(error.unwrap_or_else(|| too_large::<T, _>(length))),
            },
        };
        // SAFETY: just taken from this store.
        let mut block = unsafe { TakenBlock::<B>::new(self.store_pointer(), record) };
        let name = fill(block.memory_mut(), store)?;
        // SAFETY: an array of this name, with valid elements, was just begun in the block.
        Ok(unsafe { Owned::new(block, name, length) })
    }

    /// Frees all idle blocks of all threads.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn trim(&self) -> ReleaseReport {
        self.store().trim()
    }

    /// Returns the numbers of the pool.
    ///
    /// `active_slots` is the number of live arrays. `peak_live_bytes` is measured each time the pool is about to grow,
    /// and by this method. While other threads take and drop arrays, the numbers are estimates.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.store().stats()
    }
}

/// Returns the error for more elements than an address space holds.
#[cold]
fn too_large<T, E>(elements: usize) -> PoolError<E> {
    PoolError::SizeOverflow { elements, element_size: size_of::<T>() }
}

impl<B: SharedHostBackend> SharedPool<B> {
    /// Takes an array whose elements `element(index)` returns: any type that is [`Copy`].
    ///
    /// Types that may have padding mark the block, as in [`Scope::acquire_with`](crate::Scope::acquire_with). The pool
    /// zeroes it before an array next gets its recycled contents.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let pool = pool_core::SharedPool::<Memory>::new(Default::default());
    /// let squares = pool.take_with(4, |i| (i, i * i));
    /// assert_eq!(squares[3], (3, 9));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_take_with`](Self::try_take_with) returns.
    #[inline]
    #[track_caller]
    pub fn take_with<T: HostElement>(
        &self,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Owned<B, T> {
        self.try_take_with(length, element).unwrap_or_else(|error| panic_with(&error))
    }

    /// Does the same as [`take_with`](Self::take_with), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// Same as for [`try_take`](Self::try_take); `element` is then not called.
    #[inline]
    pub fn try_take_with<T: HostElement>(
        &self,
        length: usize,
        mut element: impl FnMut(usize) -> T,
    ) -> TakeResult<B, T> {
        self.hand_out(length, |memory, _| {
            if !is_known_plain::<T>() {
                memory.mark(length * size_of::<T>());
            }
            let start = memory.start::<T>();
            for index in 0..length {
                let value = element(index);
                // SAFETY: the block has `length` elements of `T`.
                let place = unsafe { start.add(index) };
                // SAFETY: within the block, aligned for `T` (`start`), and viewed by nothing yet.
                unsafe { place.write(value) };
            }
            Ok(start)
        })
    }
}

impl<B: SharedBackend> Clone for SharedPool<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B: SharedBackend<Context: Default>> Default for SharedPool<B> {
    /// Does the same as [`new`](Self::new), with the default context.
    fn default() -> Self {
        Self::new(B::Context::default())
    }
}

/// A panic cannot leave a pool in an inconsistent state.
impl<B: SharedBackend> core::panic::UnwindSafe for SharedPool<B> {}
impl<B: SharedBackend> core::panic::RefUnwindSafe for SharedPool<B> {}

impl<B: SharedBackend> fmt::Debug for SharedPool<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

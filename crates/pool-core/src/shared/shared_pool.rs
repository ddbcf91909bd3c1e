//! Defines a handle to a pool of owned arrays. Any thread can acquire and drop the pool's arrays.

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

/// The return type of the [`SharedPool`] methods that acquire an array.
pub type TakeResult<B, T> = Result<Owned<B, T>, PoolError<<B as PoolBackend>::Error>>;

/// The type that identifies an array in a backend's memory.
type Name<B, T> = <<B as SharedBackend>::Memory as OwnedMemory<B>>::Name<T>;

/// A thread-safe pool of [`Owned`] arrays for memory that is not bound to a scope.
///
/// Cloning the pool creates another handle to the same pool. Any thread can acquire and drop
/// arrays. The pool reuses the memory of dropped arrays. The arrays keep the pool's memory alive,
/// so all handles can be dropped before the arrays.
///
/// Scopes are faster than a `SharedPool`, so use scopes for temporaries. Use owned arrays for data
/// that outlives its scope. Examples of such data include results that outlive a loop, queues
/// between threads, and an executor's tasks.
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
/// A block exceeds its array's size by at most a quarter of that size plus 64 bytes. When an array
/// is dropped, its block becomes idle. As long as a block is idle, the pool does not grow beyond
/// 37/32 of its peak live bytes, plus 256 KiB, plus 64 KiB for each thread. Instead of allocating a
/// block that would exceed this bound, the pool can use an idle block up to sixteen times as large
/// as the array. Otherwise, the pool frees idle blocks. Only blocks that are all in use can exceed
/// the bound, because they can be larger than their arrays. The peak is measured whenever the pool
/// is about to grow. The [`trim`](Self::trim) method frees all idle blocks.
///
/// The bound covers the pool's blocks. The backend's allocator can hold more memory, because the
/// blocks fragment it. On a CUDA device, arrays of very different lengths can double the memory.
/// [Fresh blocks](PoolConfig::fresh) then need less memory, but each acquire calls the driver.
///
/// # Threads
///
/// With the `std` feature enabled on Linux, each thread uses its own magazine to acquire and return
/// blocks without an atomic exchange instruction. On other systems, or if a thread's magazine is
/// empty or full, the thread uses the pool's shards. Each shard is protected by a lock, which is
/// held for only a few instructions. A thread tries these locks in turn and acquires the first one
/// that is free. Threads might have to wait for each other when [`trim`](Self::trim) is called,
/// when the pool cannot grow, and when the last handle is dropped. No lock is held while memory is
/// allocated or freed.
///
/// A signal handler or interrupt handler must not use a pool that the interrupted code is using.
///
/// # Configuration
///
/// A shared pool uses only the following options of [`PoolConfig`]: the name, the byte limit, huge
/// pages, poison, and fresh blocks.
pub struct SharedPool<B: SharedBackend>(Arc<StoreHandle<B>>);

/// The state that is shared by all handles to a store. Dropping this value closes the store.
struct StoreHandle<B: SharedBackend>(NonNull<Store<B>>);

// SAFETY: a store may be shared between threads. A store's shards are protected by locks, its
// memory is `Send`, and its origin is `Send` and `Sync`. The other fields either are atomic or
// never change.
unsafe impl<B: SharedBackend> Send for StoreHandle<B> {}

// SAFETY: a store may be shared between threads. A store's shards are protected by locks, its
// memory is `Send`, and its origin is `Send` and `Sync`. The other fields either are atomic or
// never change.
unsafe impl<B: SharedBackend> Sync for StoreHandle<B> {}

impl<B: SharedBackend> Drop for StoreHandle<B> {
    fn drop(&mut self) {
        // SAFETY: this is the last handle to the store. No other handle has closed the store.
        unsafe { close(self.0) };
    }
}

impl<B: SharedBackend> SharedPool<B> {
    /// Creates an empty pool with the default configuration.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`with_config`](Self::with_config) would return.
    #[must_use]
    pub fn new(context: B::Context) -> Self {
        Self::with_config(context, PoolConfig::new()).unwrap_or_else(|error| panic_with(&error))
    }

    /// Creates an empty pool with a configuration.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Config`] if a value is out of range, and [`PoolError::Bookkeeping`] if
    /// the host cannot allocate memory for the pool's state.
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

    /// Acquires an array of `length` elements with recycled contents.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_take`](Self::try_take) would return.
    #[inline]
    #[track_caller]
    pub fn take<T: PodElement>(&self, length: usize) -> Owned<B, T> {
        self.try_take(length).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`take`](Self::take).
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::SizeOverflow`] if the array would occupy more than `isize::MAX` bytes.
    /// Returns [`PoolError::LimitExceeded`] or [`PoolError::OutOfMemory`] if no block can be
    /// allocated, even after all idle blocks have been freed. Returns [`PoolError::Bookkeeping`] if
    /// the host cannot allocate memory for the block's record. Returns [`PoolError::Backend`] if
    /// the memory cannot be initialized or if the backend cannot wait for pending work on it.
    #[inline]
    pub fn try_take<T: PodElement>(&self, length: usize) -> TakeResult<B, T> {
        self.hand_out(length, |memory, store| {
            memory.recycled(store.origin(), length, store.config())
        })
    }

    /// Acquires an array of `length` elements and zeroes all of their bytes.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_take_zeroed`](Self::try_take_zeroed) would return.
    #[inline]
    #[track_caller]
    pub fn take_zeroed<T: Element>(&self, length: usize) -> Owned<B, T> {
        self.try_take_zeroed(length).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`take_zeroed`](Self::take_zeroed).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_take`](Self::try_take).
    #[inline]
    pub fn try_take_zeroed<T: Element>(&self, length: usize) -> TakeResult<B, T> {
        self.hand_out(length, |memory, store| memory.zeroed(store.origin(), length))
    }

    /// Acquires an array that contains a copy of `source`. The caller may reuse `source` as soon as
    /// this method returns.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_take_from`](Self::try_take_from) would return.
    #[inline]
    #[track_caller]
    pub fn take_from<T: Element>(&self, source: &[T]) -> Owned<B, T> {
        self.try_take_from(source).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`take_from`](Self::take_from).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_take`](Self::try_take).
    #[inline]
    pub fn try_take_from<T: Element>(&self, source: &[T]) -> TakeResult<B, T> {
        self.hand_out(source.len(), |memory, store| memory.copied(store.origin(), source))
    }

    /// Acquires a block and calls `fill` to create an array in the block.
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
        // SAFETY: the record was just acquired from this store.
        let mut block = unsafe { TakenBlock::<B>::new(self.store_pointer(), record) };
        let name = fill(block.memory_mut(), store)?;
        // SAFETY: `fill` has just created an array with this name and `length` valid elements in
        // the block.
        Ok(unsafe { Owned::new(block, name, length) })
    }

    /// Frees the idle blocks of all threads.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn trim(&self) -> ReleaseReport {
        self.store().trim()
    }

    /// Returns the pool's statistics.
    ///
    /// `active_slots` is the number of live arrays. This method measures `peak_live_bytes`, which
    /// is also measured whenever the pool is about to grow. The statistics are only estimates while
    /// other threads acquire and drop arrays.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.store().stats()
    }
}

/// Returns the error for an array whose elements do not fit in the address space.
#[cold]
fn too_large<T, E>(elements: usize) -> PoolError<E> {
    PoolError::SizeOverflow { elements, element_size: size_of::<T>() }
}

impl<B: SharedHostBackend> SharedPool<B> {
    /// Acquires an array whose elements are computed by calling `element(index)`. The element type
    /// can be any [`Copy`] type.
    ///
    /// If values of the type might contain padding, the block is marked, as described in the
    /// documentation of [`Scope::acquire_with`](crate::Scope::acquire_with). The pool zeroes a
    /// marked block before it next hands out the block as an array with recycled contents.
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
    /// Panics with the error that [`try_take_with`](Self::try_take_with) would return.
    #[inline]
    #[track_caller]
    pub fn take_with<T: HostElement>(
        &self,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Owned<B, T> {
        self.try_take_with(length, element).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`take_with`](Self::take_with).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_take`](Self::try_take). If an error is returned, `element`
    /// is not called.
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
                // SAFETY: the block has room for `length` elements of `T`. `index` is less than
                // `length`.
                let place = unsafe { start.add(index) };
                // SAFETY: the position is within the block. It is aligned for `T` because `start`
                // is aligned. No view of the block exists yet.
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
    /// Creates an empty pool with the default configuration and the default context.
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

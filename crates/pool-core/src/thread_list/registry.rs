//! Defines the registry, which contains the lists of all threads in a process. One lock protects
//! the registry.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::Ordering;

use super::entry::{Entry, HeldPool, owned};
use super::list::{CLOSED, ThreadList};
use crate::backend::{PoolBackend, PoolRoot, PoolState, Root};
use crate::config::PoolConfig;
use crate::device::Device;
use crate::pool::Pool;
use crate::reserve::{NoHostMemory, list};
use crate::stats::PoolStats;

/// The record of one thread in a registry. The record contains the thread's list, its entries, and
/// the configuration of its pools.
pub struct ThreadRecord<B: PoolBackend> {
    list: NonNull<ThreadList<B>>,
    config: PoolConfig,
    /// The entry that the thread created most recently. The entry might not be in the list.
    entries: *mut Entry<B>,
    count: usize,
    next: *mut Self,
}

impl<B: PoolBackend> ThreadRecord<B> {
    /// Creates a record for a thread's list.
    ///
    /// # Errors
    ///
    /// Returns [`NoHostMemory`] if the host cannot allocate memory for the record.
    pub fn new(
        thread_list: &ThreadList<B>,
        config: PoolConfig,
    ) -> Result<NonNull<Self>, NoHostMemory> {
        let mut memory: Vec<Self> = list(1)?;
        let list = NonNull::from(thread_list);
        memory.push(Self { list, config, entries: null_mut(), count: 0, next: null_mut() });
        // The vector contains exactly one element, so the conversion does not reallocate it.
        let record = Box::into_raw(memory.into_boxed_slice()).cast::<Self>();
        // SAFETY: a box's address is never null.
        Ok(unsafe { NonNull::new_unchecked(record) })
    }

    /// Frees a record.
    ///
    /// # Safety
    ///
    /// The record must have been returned by [`new`](Self::new) and must not be in any registry.
    /// The record must not be used after the call.
    pub unsafe fn free(record: NonNull<Self>) {
        // SAFETY: `new` obtained the record from a box. The caller does not use the record after
        // this call.
        drop(unsafe { Box::from_raw(record.as_ptr()) });
    }

    /// Calls `f` with each entry that has been in the list at any time since the call began.
    ///
    /// # Safety
    ///
    /// The list must not have moved, and the record must be in a registry that the caller has
    /// locked.
    unsafe fn for_each_idle(&self, mut f: impl FnMut(&Entry<B>)) {
        // SAFETY: the caller guarantees that the list has not moved. The list's head is an atomic.
        let head = unsafe { &raw const (*self.list.as_ptr()).head };
        // SAFETY: the caller guarantees that the list has not moved. The list's head is an atomic.
        let mut next = unsafe { &*head }.load(Ordering::Acquire);
        // The number of steps is limited because a walk might never end if the owner keeps
        // reordering the entries.
        for _ in 0..self.count {
            if next.addr() <= CLOSED {
                return;
            }
            // SAFETY: the entries of a registered list are live.
            let entry = unsafe { &*next };
            f(entry);
            next = entry.next.load(Ordering::Acquire);
        }
    }
}

impl<B: PoolBackend> fmt::Debug for ThreadRecord<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadRecord").field("entries", &self.count).finish_non_exhaustive()
    }
}

/// The records of all threads in a process. A `ThreadLists` value must be protected by a lock. All
/// methods of `ThreadLists` can be called while the lock is held because they allocate nothing,
/// free nothing, and call no user code.
pub struct ThreadLists<B: PoolBackend> {
    first: *mut ThreadRecord<B>,
}

// SAFETY: the registry is used only while it is locked. The registry accesses only other threads'
// atomics, data protected by the lock, and pools that the module's protocol has transferred to the
// registry. The bound ensures that pools can be sent to another thread.
unsafe impl<B: PoolBackend> Send for ThreadLists<B> where Pool<B>: Send {}

impl<B: PoolBackend> ThreadLists<B> {
    /// Creates an empty registry.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: null_mut() }
    }

    /// Adds a thread's record.
    ///
    /// # Safety
    ///
    /// The record must have been returned by [`ThreadRecord::new`] and must not be in any registry.
    /// The record's list must not move until [`remove`](Self::remove) returns.
    pub unsafe fn add(&mut self, record: NonNull<ThreadRecord<B>>) {
        // SAFETY: the record is live. Only the caller has access to the record.
        unsafe { (*record.as_ptr()).next = self.first };
        self.first = record.as_ptr();
    }

    /// Adds an entry to the record of the thread that created it.
    ///
    /// # Safety
    ///
    /// The record must be in this registry, and the entry must not be in any registry. The entry
    /// must never be put into any list except the record's list.
    pub unsafe fn add_entry(&mut self, record: NonNull<ThreadRecord<B>>, held: &HeldPool<B>) {
        // SAFETY: records in this registry are live and are used only while the registry is locked.
        let record = unsafe { &mut *record.as_ptr() };
        // SAFETY: an entry exists while a `HeldPool` holds it.
        unsafe { held.entry.as_ref() }.sibling.set(record.entries);
        record.entries = held.entry.as_ptr();
        record.count += 1;
    }

    /// Sets the configuration for the pools that [`release`](Self::release) creates in the thread's
    /// entries.
    ///
    /// # Safety
    ///
    /// The record must be in this registry.
    pub unsafe fn configure(&mut self, record: NonNull<ThreadRecord<B>>, config: PoolConfig) {
        // SAFETY: records in this registry are live and are used only while the registry is locked.
        unsafe { (*record.as_ptr()).config = config };
    }

    /// Removes a thread's record and entries.
    ///
    /// # Safety
    ///
    /// The record must be in this registry.
    pub unsafe fn remove(&mut self, record: NonNull<ThreadRecord<B>>) {
        let mut place = &raw mut self.first;
        loop {
            // SAFETY: `place` is the address of either the registry's first link or a link in a
            // live record.
            let at = unsafe { *place };
            if at.is_null() {
                return;
            }
            if at == record.as_ptr() {
                // SAFETY: records in this registry are live.
                let next = unsafe { (*at).next };
                // SAFETY: `place` is the address of either the registry's first link or a link in a
                // live record.
                unsafe { *place = next };
                return;
            }
            // SAFETY: `at` is a record in this registry and is therefore live.
            place = unsafe { &raw mut (*at).next };
        }
    }

    /// Returns an iterator over the records, which are live while the registry is locked.
    fn records(&self) -> impl Iterator<Item = &ThreadRecord<B>> {
        let mut next = self.first.cast_const();
        core::iter::from_fn(move || {
            // SAFETY: records in this registry are live. Only methods with `&mut self` change the
            // records.
            let record = unsafe { next.as_ref() }?;
            next = record.next.cast_const();
            Some(record)
        })
    }

    /// Returns the number of threads and the number of pools in the registry.
    #[must_use]
    pub fn len(&self) -> (usize, usize) {
        self.records().fold((0, 0), |(threads, pools), record| (threads + 1, pools + record.count))
    }

    /// Returns `true` if the registry contains no threads.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Returns the combined statistics of all pools, including those of idle pools. The sum starts
    /// with `none`, which must not include the statistics of any pool.
    #[must_use]
    pub fn stats(&self, none: PoolStats) -> PoolStats {
        let mut sum = none;
        for record in self.records() {
            let mut next = record.entries.cast_const();
            // SAFETY: the entries of a record are live.
            while let Some(entry) = unsafe { next.as_ref() } {
                // SAFETY: an entry always contains the root of a live pool. The pool is replaced
                // and dropped only while the registry is locked.
                let root: Root<B> =
                    unsafe { Root::<B>::from_raw(entry.pool.load(Ordering::Acquire)) };
                // SAFETY: an entry's pool is live while the registry is locked. `shared_numbers`
                // reads only atomics in the pool's state.
                let state = unsafe { root.state() };
                sum = sum.plus(&entry.past.with(state.shared_numbers(none)));
                next = entry.sibling.get().cast_const();
            }
        }
        sum
    }

    /// Returns the number of idle entries that have a retired pool or a pool that holds blocks.
    ///
    /// # Safety
    ///
    /// The requirements are the same as for [`release`](Self::release), except that no `barrier` is
    /// passed.
    #[must_use]
    pub unsafe fn count_idle(&self) -> usize {
        let mut count = 0;
        for record in self.records() {
            // SAFETY: the caller guarantees that the lists have not been moved.
            unsafe {
                record.for_each_idle(|entry| {
                    count += usize::from(holds_blocks(entry) || has_retired(entry));
                });
            };
        }
        count
    }

    /// Swaps each idle pool that holds blocks for a pool from `spares`, and moves the old pool to
    /// `released`. The pools in `spares` must be empty. Returns `true` if all idle pools that hold
    /// blocks were moved. A pool is not moved if `spares` is empty or `released` is full. A pool
    /// that a thread takes during the call is not moved. Drop the released pools after unlocking
    /// the registry.
    ///
    /// # Safety
    ///
    /// The lists of all records must not have been moved, and the caller must be allowed to access
    /// the lists. While `barrier` runs, each thread of the process must execute a full memory
    /// barrier, unless `barrier` returns `false`.
    pub unsafe fn release(
        &mut self,
        spares: &mut Vec<Pool<B>>,
        released: &mut Vec<Pool<B>>,
        barrier: impl FnOnce() -> bool,
    ) -> bool {
        let mut complete = true;
        for record in self.records() {
            let replace = |entry: &Entry<B>| {
                if !holds_blocks(entry) {
                    return;
                }
                if has_retired(entry) {
                    complete = false;
                    return;
                }
                let Some(mut spare) = spares.pop() else {
                    complete = false;
                    return;
                };
                // This call cannot fail, because the configuration of a record has already been
                // validated.
                _ = spare.configure(record.config);
                let old = entry.pool.swap(spare.into_root().into_raw(), Ordering::AcqRel);
                entry.retired.store(old, Ordering::Relaxed);
            };
            // SAFETY: the caller guarantees that the list has not been moved.
            unsafe { record.for_each_idle(replace) };
        }
        if !barrier() {
            return false;
        }
        for record in self.records() {
            let collect = |entry: &Entry<B>| {
                let retired = entry.retired.load(Ordering::Relaxed);
                if retired.is_null() {
                    return;
                }
                if released.len() == released.capacity() {
                    complete = false;
                    return;
                }
                entry.retired.store(null_mut(), Ordering::Relaxed);
                // SAFETY: the entry was in its list after the barrier. The pool that was replaced
                // earlier is therefore no longer in use, as the module's protocol explains.
                let pool: Pool<B> = unsafe { owned(retired) };
                entry.past.note(&pool.stats());
                released.push(pool);
            };
            // SAFETY: the caller guarantees that the list has not been moved.
            unsafe { record.for_each_idle(collect) };
        }
        complete
    }
}

/// Returns `true` if the entry's pool holds blocks.
fn holds_blocks<B: PoolBackend>(entry: &Entry<B>) -> bool {
    // SAFETY: an entry always contains the root of a live pool. The pool is replaced and dropped
    // only while the registry is locked.
    let root: Root<B> = unsafe { Root::<B>::from_raw(entry.pool.load(Ordering::Acquire)) };
    // SAFETY: an entry's pool is live while the registry is locked. `shared_numbers` reads only
    // atomics in the pool's state.
    let state = unsafe { root.state() };
    let none = PoolStats::none("", Device { kind: "", ordinal: None });
    state.shared_numbers(none).reserved_bytes > 0
}

/// Returns `true` if the entry stores a pool that has been replaced but not yet dropped.
fn has_retired<B: PoolBackend>(entry: &Entry<B>) -> bool {
    !entry.retired.load(Ordering::Relaxed).is_null()
}

impl<B: PoolBackend> Default for ThreadLists<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: PoolBackend> fmt::Debug for ThreadLists<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (threads, pools) = self.len();
        f.debug_struct("ThreadLists").field("threads", &threads).field("pools", &pools).finish()
    }
}

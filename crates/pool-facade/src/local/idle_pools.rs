//! The list of a thread's idle pools, and what closes it where the thread ends.

use std::cell::Cell;
use std::fmt;
use std::mem::needs_drop;
use std::ptr::NonNull;
use std::sync::MutexGuard;

use pool_core::reserve::NoHostMemory;
use pool_core::thread_list::{HeldPool, ThreadList, ThreadLists, ThreadRecord};
use pool_core::{
    Compaction, FreeList, Pool, PoolBackend, PoolConfig, PoolError, PoolStats, ReleaseReport,
};

use super::LocalPool;
use super::held::Held;
use super::requests::{OF_DEVICES, OF_HOST};
use crate::diagnostics;

/// The idle pools that a thread has of one backend, and the configuration of those that it makes.
///
/// It stands in a `const` thread-local, where [`local_pools!`](crate::local_pools) puts it, and has no
/// destructor, so that no access has to ask for one, and it can be used while the thread ends. Where
/// thread-locals are kept under keys, std frees it at some time then: who comes later finds a new list with
/// the default configuration, and pools that were still in the old one leak.
pub struct IdlePools<B: PoolBackend> {
    /// The pools of a backend whose access is shared.
    shared: ThreadList<B>,
    /// The pools of any other backend.
    list: FreeList<B>,
    config: Cell<PoolConfig>,
    /// The request to release idle pools that was served last.
    served: Cell<usize>,
}

impl<B: PoolBackend> IdlePools<B> {
    /// No pools, and the default configuration.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(!needs_drop::<Self>(), "a thread-local with a destructor is slower") };
        Self {
            shared: ThreadList::new(),
            list: FreeList::new(),
            config: Cell::new(PoolConfig::new()),
            served: Cell::new(0),
        }
    }
}

impl<B: PoolBackend> Default for IdlePools<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: PoolBackend> fmt::Debug for IdlePools<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdlePools")
            .field("shared", &self.shared)
            .field("list", &self.list)
            .finish_non_exhaustive()
    }
}

/// Closes the list of a thread's idle pools where the thread ends: from then on pools that come back are
/// dropped.
///
/// It stands in a thread-local beside [`IdlePools`], and does nothing before the thread has made a pool.
pub struct IdlePoolsCloser<B: LocalPool> {
    armed: Cell<bool>,
    /// What the registry of all threads knows of this thread; `None` before the first pool, and where access is not
    /// shared.
    record: Cell<Option<NonNull<ThreadRecord<B>>>>,
}

impl<B: LocalPool> IdlePoolsCloser<B> {
    /// A closer that has nothing to close yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { armed: Cell::new(false), record: Cell::new(None) }
    }
}

impl<B: LocalPool> Default for IdlePoolsCloser<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: LocalPool> fmt::Debug for IdlePoolsCloser<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdlePoolsCloser").field("armed", &self.armed).finish()
    }
}

impl<B: LocalPool> Drop for IdlePoolsCloser<B> {
    fn drop(&mut self) {
        if !self.armed.get() {
            return;
        }
        if let (Some(lists), Some(record)) = (B::ACCESS.lists, self.record.take()) {
            // SAFETY: `register` added the record to this registry.
            unsafe { lists().remove(record) };
            // SAFETY: it was just removed, and this was the last pointer to it.
            unsafe { ThreadRecord::free(record) };
        }
        B::with_idle_pools(|idle| {
            idle.list.close();
            // SAFETY: the record was removed above, or there was none.
            unsafe { idle.shared.close() };
        });
    }
}

/// Locks the registry of a backend.
type LockLists<B> = fn() -> MutexGuard<'static, ThreadLists<B>>;

/// How pools are taken from a thread's list and come back. Only this crate makes another than
/// [`CHECKED`](Self::CHECKED).
#[doc(hidden)]
pub struct ListAccess<B: PoolBackend> {
    lists: Option<LockLists<B>>,
}

impl<B: PoolBackend> ListAccess<B> {
    /// A pool is taken if [`LocalPool::is_for_thread`] agrees, and linked to the list when it comes back. Only its own
    /// thread releases its memory.
    pub const CHECKED: Self = Self { lists: None };

    /// Any pool is taken, and other threads can release the idle ones through this registry. A pool that comes back
    /// still links to the first one of the list where that is the one that was below it, and keeps that link.
    #[cfg(feature = "cpu")]
    pub(super) const fn shared(lists: LockLists<B>) -> Self {
        Self { lists: Some(lists) }
    }

    /// Returns `true` if other threads can release the idle pools.
    #[inline(always)]
    pub(super) const fn is_shared(&self) -> bool {
        self.lists.is_some()
    }

    /// Waits until no other thread is releasing idle pools.
    pub(super) fn wait_for_release(&self) {
        if let Some(lists) = self.lists {
            drop(lists());
        }
    }
}

impl<B: PoolBackend> fmt::Debug for ListAccess<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListAccess").field("shared", &self.is_shared()).finish()
    }
}

/// `true` if the system is one that has a barrier on all threads. It may still refuse it; then
/// requests are served where a pool comes back out of order, and if a method of a guard looks at
/// the idle pools.
const HAS_BARRIER: bool = cfg!(all(target_os = "linux", not(miri)));

/// Takes an idle pool of the calling thread.
#[inline]
pub(super) fn take<B: LocalPool>() -> Option<Held<B>> {
    if B::ACCESS.is_shared() {
        if !HAS_BARRIER {
            serve_requests::<B>();
        }
        let held = B::with_idle_pools(|idle| idle.shared.take())?;
        // SAFETY: access is shared.
        return Some(unsafe { Held::listed(held) });
    }
    serve_requests::<B>();
    let pool =
        B::with_idle_pools(|idle| idle.list.take_where(|pool| B::is_for_thread(pool.context())))?;
    // SAFETY: access is not shared.
    Some(unsafe { Held::alone(pool) })
}

/// Makes a pool, for when none is idle.
#[cold]
pub(super) fn make<B: LocalPool>() -> Result<Held<B>, PoolError<B::Error>> {
    diagnostics::set_up();
    #[cfg(debug_assertions)]
    diagnostics::print_warnings();
    let context = B::thread_context()
        .map_err(|source| PoolError::Backend { operation: "open the device", source })?;
    let config = B::with_idle_pools(|idle| idle.config.get());
    let pool = Pool::with_config(context, config)?;
    // The pool will be freed with its thread. If the closer has already run, the list is closed and
    // the pool is its guard's alone.
    if !B::ACCESS.is_shared() {
        B::with_closer(|closer| closer.armed.set(true));
        // SAFETY: access is not shared.
        return Ok(unsafe { Held::alone(pool) });
    }
    let no_memory = |lacking: NoHostMemory| PoolError::Bookkeeping { requested: lacking.requested };
    let held = HeldPool::new(pool).map_err(no_memory)?;
    let mut registered = Ok(());
    B::with_closer(|closer| {
        closer.armed.set(true);
        registered = register(closer, &held);
    });
    if let Err(lacking) = registered {
        // SAFETY: `register` failed, so the entry is in no registry.
        unsafe { held.free() };
        return Err(no_memory(lacking));
    }
    B::with_idle_pools(|idle| idle.shared.enter(&held));
    // SAFETY: access is shared.
    Ok(unsafe { Held::listed(held) })
}

/// Enters a new pool into the registry of all threads, with a record of its thread where there is none yet.
fn register<B: LocalPool>(
    closer: &IdlePoolsCloser<B>,
    held: &HeldPool<B>,
) -> Result<(), NoHostMemory> {
    let Some(lists) = B::ACCESS.lists else { return Ok(()) };
    let new = match closer.record.get() {
        Some(_) => None,
        // What the allocator calls back meanwhile may make a pool, and enter a record.
        None => {
            Some(B::with_idle_pools(|idle| ThreadRecord::new(&idle.shared, idle.config.get()))?)
        }
    };
    match (closer.record.get(), new) {
        // SAFETY: the record was just made, and is in no registry.
        (Some(_), Some(new)) => unsafe { ThreadRecord::free(new) },
        (None, Some(new)) => {
            closer.record.set(Some(new));
            // SAFETY: the record is new. The list is a thread-local, which stays where it is until
            // its thread has run its destructors, and the closer's removes the record. If the
            // system keeps thread-locals in another way there is no barrier on all threads, and the
            // list is not read.
            unsafe { lists().add(new) };
        }
        (_, None) => {}
    }
    if let Some(record) = closer.record.get() {
        // SAFETY: the record is in the registry, and the entry is new. Guards put it into the list of their own thread,
        // which is this one.
        unsafe { lists().add_entry(record, held) };
    }
    Ok(())
}

/// Gives a pool back to the calling thread.
#[inline]
pub(super) fn put<B: LocalPool>(held: Held<B>) {
    if !B::ACCESS.is_shared() {
        // SAFETY: access is not shared.
        let pool = unsafe { held.into_alone() };
        return B::with_idle_pools(|idle| idle.list.put(pool));
    }
    // SAFETY: access is shared.
    let held = unsafe { held.into_listed() };
    let not_next = B::with_idle_pools(|idle| idle.shared.put_back(held));
    if let Some(held) = not_next {
        put_out_of_order(held);
    }
}

/// Gives back a pool where the list has changed since the pool was taken. It finds the list by itself: if it were an
/// argument, the hot path would compute its address.
#[cold]
#[inline(never)]
fn put_out_of_order<B: LocalPool>(held: HeldPool<B>) {
    serve_requests::<B>();
    B::with_idle_pools(|idle| idle.shared.put(held));
}

/// Runs `f` on each idle entry of this thread.
fn for_each_shared<B: LocalPool>(idle: &IdlePools<B>, f: impl FnMut(&mut HeldPool<B>)) {
    // SAFETY: the callers, all below, call methods of what they are given and leave it in its place.
    unsafe { idle.shared.for_each(f) };
}

/// Releases the idle pools if another thread has asked for it since the last call.
#[inline]
pub(super) fn serve_requests<B: LocalPool>() {
    let requests = if B::ACCESS.is_shared() { &OF_HOST } else { &OF_DEVICES };
    if B::with_idle_pools(|idle| requests.is_new(&idle.served)) {
        trim::<B>();
    }
}

/// Frees every block of the idle pools of this thread.
#[cold]
pub(crate) fn trim<B: LocalPool>() -> ReleaseReport {
    let mut released = ReleaseReport::default();
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| released = released.plus(pool.trim()));
        for_each_shared(idle, |held| released = released.plus(held.trim()));
    });
    released
}

/// The numbers of the idle pools of this thread, added to `stats`.
pub(super) fn add_stats<B: LocalPool>(mut stats: PoolStats) -> PoolStats {
    serve_requests::<B>();
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| stats = stats.plus(&pool.stats()));
        for_each_shared(idle, |held| stats = stats.plus(&held.stats()));
    });
    stats
}

/// Swaps oversized blocks of the idle pools of this thread.
pub(super) fn compact<B: LocalPool>(compaction: &Compaction) -> ReleaseReport {
    let mut released = ReleaseReport::default();
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| released = released.plus(pool.compact(compaction)));
        for_each_shared(idle, |held| released = released.plus(held.compact(compaction)));
    });
    released
}

/// Frees every block of the idle pools of this thread and forgets their peaks. Drops pools that may hold more than memory:
/// a stream, a device.
pub(super) fn clear<B: LocalPool>() -> ReleaseReport {
    let mut released = ReleaseReport::default();
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| released = released.plus(pool.clear()));
        for_each_shared(idle, |held| released = released.plus(held.clear()));
        idle.list.clear();
    });
    released
}

/// Takes a configuration for the idle pools of this thread and for pools that it makes from now on.
pub(super) fn configure<B: LocalPool>(config: PoolConfig) -> Result<(), PoolError<B::Error>> {
    serve_requests::<B>();
    let mut result = Ok(());
    // First: what is called back meanwhile may make pools.
    B::with_idle_pools(|idle| idle.config.set(config));
    if let Some(lists) = B::ACCESS.lists {
        B::with_closer(|closer| {
            if let Some(record) = closer.record.get() {
                // SAFETY: the record is in this registry (`register`).
                unsafe { lists().configure(record, config) };
            }
        });
    }
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| result = pool.configure(config));
        for_each_shared(idle, |held| result = held.configure(config));
    });
    result
}

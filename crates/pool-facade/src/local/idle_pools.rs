//! Defines a thread's list of idle pools and the guard that closes that list when the thread exits.

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

/// A thread's idle pools for one backend, together with the configuration for the thread's new
/// pools.
///
/// The [`local_pools!`](crate::local_pools) macro stores an `IdlePools` in a `const` thread-local
/// variable. `IdlePools` has no destructor, so it can be used while the thread is ending. Code can
/// use the list without first checking whether the list still exists. On systems that use keys for
/// thread-local variables, the standard library frees the value at some point while the thread is
/// ending. If the thread then accesses its list again, a new list with the default configuration is
/// created. The pools in the old list are leaked.
pub struct IdlePools<B: PoolBackend> {
    /// The list of idle pools used if the backend's [`ACCESS`](LocalPool::ACCESS) is shared.
    shared: ThreadList<B>,
    /// The list of idle pools used if the backend's [`ACCESS`](LocalPool::ACCESS) is not shared.
    list: FreeList<B>,
    config: Cell<PoolConfig>,
    /// The sequence number of the last release request that this thread has handled.
    served: Cell<usize>,
}

impl<B: PoolBackend> IdlePools<B> {
    /// Creates an empty list with the default configuration.
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

/// Closes the list of a thread's idle pools when the thread ends. Pools returned to a closed list
/// are dropped.
///
/// The closer and the [`IdlePools`] are stored in separate thread-local variables. The closer does
/// nothing if the thread has never created a pool.
pub struct IdlePoolsCloser<B: LocalPool> {
    armed: Cell<bool>,
    /// This thread's record in the registry. The record is `None` if the backend's access is not
    /// shared, or if the thread has not created a pool yet.
    record: Cell<Option<NonNull<ThreadRecord<B>>>>,
}

impl<B: LocalPool> IdlePoolsCloser<B> {
    /// Creates a closer. Dropping the closer has an effect only if the thread has created a pool.
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
            // SAFETY: the record was just removed from the registry, and no other pointer to it
            // exists.
            unsafe { ThreadRecord::free(record) };
        }
        B::with_idle_pools(|idle| {
            idle.list.close();
            // SAFETY: the record was removed from the registry above, or never existed.
            unsafe { idle.shared.close() };
        });
    }
}

/// The type of a function that locks a backend's registry.
type LockLists<B> = fn() -> MutexGuard<'static, ThreadLists<B>>;

/// Determines how a thread removes pools from its list and returns them. Only this crate can
/// construct any value other than [`CHECKED`](Self::CHECKED).
#[doc(hidden)]
pub struct ListAccess<B: PoolBackend> {
    lists: Option<LockLists<B>>,
}

impl<B: PoolBackend> ListAccess<B> {
    /// The mode in which a thread uses an idle pool only if [`LocalPool::is_for_thread`] returns
    /// `true`. A pool returned to the list always receives a new link to the list's first pool. In
    /// this mode, only a pool's own thread can release the pool's memory.
    pub const CHECKED: Self = Self { lists: None };

    /// The mode in which a thread may use any of its idle pools. In this mode, other threads can
    /// release idle pools through the registry. A pool returned to the list retains its link if the
    /// link still refers to the list's first pool.
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

/// `true` if the system provides a barrier on all threads. The system may still refuse to execute
/// the barrier. If the system refuses the barrier, a thread handles requests when it returns a pool
/// out of order, or when a guard's method reads the idle pools.
const HAS_BARRIER: bool = cfg!(all(target_os = "linux", not(miri)));

/// Removes an idle pool from the calling thread's list and returns it.
#[inline]
pub(super) fn take<B: LocalPool>() -> Option<Held<B>> {
    if B::ACCESS.is_shared() {
        if !HAS_BARRIER {
            serve_requests::<B>();
        }
        let held = B::with_idle_pools(|idle| idle.shared.take())?;
        // SAFETY: `B::ACCESS` is shared.
        return Some(unsafe { Held::listed(held) });
    }
    serve_requests::<B>();
    let pool =
        B::with_idle_pools(|idle| idle.list.take_where(|pool| B::is_for_thread(pool.context())))?;
    // SAFETY: `B::ACCESS` is not shared.
    Some(unsafe { Held::alone(pool) })
}

/// Creates a new pool for a thread that has no idle pool.
#[cold]
pub(super) fn make<B: LocalPool>() -> Result<Held<B>, PoolError<B::Error>> {
    diagnostics::set_up();
    #[cfg(debug_assertions)]
    diagnostics::print_warnings();
    let context = B::thread_context()
        .map_err(|source| PoolError::Backend { operation: "open the device", source })?;
    let config = B::with_idle_pools(|idle| idle.config.get());
    let pool = Pool::with_config(context, config)?;
    // Setting `armed` makes the closer free the pool when the thread ends. If the closer has
    // already run, the list is closed, and the guard alone owns the pool.
    if !B::ACCESS.is_shared() {
        B::with_closer(|closer| closer.armed.set(true));
        // SAFETY: `B::ACCESS` is not shared.
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
        // SAFETY: `register` failed, so the entry is not in any registry.
        unsafe { held.free() };
        return Err(no_memory(lacking));
    }
    B::with_idle_pools(|idle| idle.shared.enter(&held));
    // SAFETY: `B::ACCESS` is shared.
    Ok(unsafe { Held::listed(held) })
}

/// Adds a new pool to the registry of all threads. The function also creates a record if the pool's
/// thread does not have one yet.
fn register<B: LocalPool>(
    closer: &IdlePoolsCloser<B>,
    held: &HeldPool<B>,
) -> Result<(), NoHostMemory> {
    let Some(lists) = B::ACCESS.lists else { return Ok(()) };
    let new = match closer.record.get() {
        Some(_) => None,
        // While the record is being created, the allocator might call user code that creates a pool
        // and adds a record of its own.
        None => {
            Some(B::with_idle_pools(|idle| ThreadRecord::new(&idle.shared, idle.config.get()))?)
        }
    };
    match (closer.record.get(), new) {
        // SAFETY: the record was just created and is not in any registry.
        (Some(_), Some(new)) => unsafe { ThreadRecord::free(new) },
        (None, Some(new)) => {
            closer.record.set(Some(new));
            // SAFETY: the record is new and not in any registry. The list is a thread-local
            // variable, whose address stays valid until its thread has run all destructors. One of
            // these destructors removes the record from the registry. On systems with another kind
            // of thread-local storage, no barrier on all threads is available, so no other thread
            // reads the list.
            unsafe { lists().add(new) };
        }
        (_, None) => {}
    }
    if let Some(record) = closer.record.get() {
        // SAFETY: the record is in the registry, and the entry is new. A guard returns the entry
        // only to the list of its own thread, which is the current thread.
        unsafe { lists().add_entry(record, held) };
    }
    Ok(())
}

/// Returns a pool to the calling thread's list.
#[inline]
pub(super) fn put<B: LocalPool>(held: Held<B>) {
    if !B::ACCESS.is_shared() {
        // SAFETY: `B::ACCESS` is not shared.
        let pool = unsafe { held.into_alone() };
        return B::with_idle_pools(|idle| idle.list.put(pool));
    }
    // SAFETY: `B::ACCESS` is shared.
    let held = unsafe { held.into_listed() };
    let not_next = B::with_idle_pools(|idle| idle.shared.put_back(held));
    if let Some(held) = not_next {
        put_out_of_order(held);
    }
}

/// Puts a pool back into a list that has changed since the pool was removed from it. The function
/// looks up the list itself, because passing the list as an argument would force the hot path to
/// compute its address.
#[cold]
#[inline(never)]
fn put_out_of_order<B: LocalPool>(held: HeldPool<B>) {
    serve_requests::<B>();
    B::with_idle_pools(|idle| idle.shared.put(held));
}

/// Calls `f` with the entry of each of this thread's idle pools.
fn for_each_shared<B: LocalPool>(idle: &IdlePools<B>, f: impl FnMut(&mut HeldPool<B>)) {
    // SAFETY: this function is called only from this module, and no caller replaces a pool.
    unsafe { idle.shared.for_each(f) };
}

/// Releases this thread's idle pools if another thread has sent a request since the last call.
#[inline]
pub(super) fn serve_requests<B: LocalPool>() {
    let requests = if B::ACCESS.is_shared() { &OF_HOST } else { &OF_DEVICES };
    if B::with_idle_pools(|idle| requests.is_new(&idle.served)) {
        trim::<B>();
    }
}

/// Frees every block of this thread's idle pools.
#[cold]
pub(crate) fn trim<B: LocalPool>() -> ReleaseReport {
    let mut released = ReleaseReport::default();
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| released = released.plus(pool.trim()));
        for_each_shared(idle, |held| released = released.plus(held.trim()));
    });
    released
}

/// Adds the statistics of this thread's idle pools to `stats`.
pub(super) fn add_stats<B: LocalPool>(mut stats: PoolStats) -> PoolStats {
    serve_requests::<B>();
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| stats = stats.plus(&pool.stats()));
        for_each_shared(idle, |held| stats = stats.plus(&held.stats()));
    });
    stats
}

/// Replaces oversized blocks of this thread's idle pools with smaller blocks.
pub(super) fn compact<B: LocalPool>(compaction: &Compaction) -> ReleaseReport {
    let mut released = ReleaseReport::default();
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| released = released.plus(pool.compact(compaction)));
        for_each_shared(idle, |held| released = released.plus(held.compact(compaction)));
    });
    released
}

/// Frees every block of this thread's idle pools and resets their peak values. The function also
/// drops pools that might own other resources, such as a stream or a device.
pub(super) fn clear<B: LocalPool>() -> ReleaseReport {
    let mut released = ReleaseReport::default();
    B::with_idle_pools(|idle| {
        idle.list.for_each(|pool| released = released.plus(pool.clear()));
        for_each_shared(idle, |held| released = released.plus(held.clear()));
        idle.list.clear();
    });
    released
}

/// Replaces the configuration of this thread's idle pools and of pools that the thread creates
/// later.
pub(super) fn configure<B: LocalPool>(config: PoolConfig) -> Result<(), PoolError<B::Error>> {
    serve_requests::<B>();
    let mut result = Ok(());
    // The configuration for new pools is set first, because user code might create pools during the
    // calls below.
    B::with_idle_pools(|idle| idle.config.set(config));
    if let Some(lists) = B::ACCESS.lists {
        B::with_closer(|closer| {
            if let Some(record) = closer.record.get() {
                // SAFETY: `register` added the record to this registry.
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

//! The list of a thread's idle pools, and what closes it where the thread ends.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::needs_drop;

use pool_core::{FreeList, Pool, PoolBackend, PoolConfig, PoolError};

use super::LocalPool;

/// The idle pools that a thread has of one backend, and the configuration of those that it makes.
///
/// It stands in a `const` thread-local, where [`local_pools!`](crate::local_pools) puts it, and has no
/// destructor, so that no access has to ask for one, and it can be used while the thread ends. Where
/// thread-locals are kept under keys, std frees it at some time then: who comes later finds a new list with
/// the default configuration, and pools that were still in the old one leak.
pub struct IdlePools<B: PoolBackend> {
    list: FreeList<B>,
    config: Cell<PoolConfig>,
}

impl<B: PoolBackend> IdlePools<B> {
    /// No pools, and the default configuration.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(!needs_drop::<Self>(), "a thread-local with a destructor is slower") };
        Self { list: FreeList::new(), config: Cell::new(PoolConfig::new()) }
    }
}

impl<B: PoolBackend> Default for IdlePools<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: PoolBackend> fmt::Debug for IdlePools<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdlePools").field("list", &self.list).finish_non_exhaustive()
    }
}

/// Closes the list of a thread's idle pools where the thread ends: from then on pools that come back are
/// dropped.
///
/// It stands in a thread-local beside [`IdlePools`], and does nothing before the thread has made a pool.
pub struct IdlePoolsCloser<B: LocalPool> {
    armed: Cell<bool>,
    backend: PhantomData<fn() -> B>,
}

impl<B: LocalPool> IdlePoolsCloser<B> {
    /// A closer that has nothing to close yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { armed: Cell::new(false), backend: PhantomData }
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
        if self.armed.get() {
            B::with_idle_pools(|idle| idle.list.close());
        }
    }
}

/// How pools are taken from a thread's list and come back. Only this crate makes another than
/// [`CHECKED`](Self::CHECKED).
#[doc(hidden)]
pub struct ListAccess<B> {
    direct: bool,
    backend: PhantomData<fn() -> B>,
}

impl<B> ListAccess<B> {
    /// A pool is taken if [`LocalPool::is_for_thread`] says so, and linked to the list when it comes back.
    pub const CHECKED: Self = Self { direct: false, backend: PhantomData };

    /// Any pool is taken. One that comes back still links to the first one of the list where that is the one
    /// that was below it, and keeps that link, which takes fewer instructions.
    ///
    /// # Safety
    ///
    /// [`LocalPool::with_idle_pools`] of `B` has one list for each thread.
    #[cfg(feature = "cpu")]
    pub(super) const unsafe fn direct() -> Self {
        Self { direct: true, backend: PhantomData }
    }
}

impl<B> fmt::Debug for ListAccess<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListAccess").field("direct", &self.direct).finish()
    }
}

/// Takes an idle pool of the calling thread.
#[inline]
pub(super) fn take<B: LocalPool>() -> Option<Pool<B>> {
    B::with_idle_pools(|idle| {
        if B::ACCESS.direct {
            idle.list.take()
        } else {
            idle.list.take_where(|pool| B::is_for_thread(pool.context()))
        }
    })
}

/// Makes a pool, for when none is idle.
#[cold]
pub(super) fn make<B: LocalPool>() -> Result<Pool<B>, PoolError<B::Error>> {
    let context = B::thread_context()
        .map_err(|source| PoolError::Backend { operation: "open the device", source })?;
    // The pool will be freed with its thread; where the closer has already run, the list is closed and the
    // pool is its guard's alone.
    B::with_closer(|closer| closer.armed.set(true));
    Pool::with_config(context, B::with_idle_pools(|idle| idle.config.get()))
}

/// Gives a pool back to the calling thread.
#[inline]
pub(super) fn put<B: LocalPool>(pool: Pool<B>) {
    if !B::ACCESS.direct {
        return B::with_idle_pools(|idle| idle.list.put(pool));
    }
    // SAFETY: the list is the only one of `B` on this thread (`ListAccess::direct`). Out of it, its
    // pools are in guards, which have taken or made them, on this thread, and drop none: they put it
    // back, or are forgotten; or in `for_each`, whose callers drop none either. `drop_holders` leaves
    // this list alone.
    let not_next = B::with_idle_pools(|idle| unsafe { idle.list.put_back(pool) });
    if let Some(pool) = not_next {
        put_out_of_order(pool);
    }
}

/// Gives back a pool where the list has changed since the pool was taken. It finds the list by itself: if it were an
/// argument, the hot path would compute its address.
#[cold]
#[inline(never)]
fn put_out_of_order<B: LocalPool>(pool: Pool<B>) {
    B::with_idle_pools(|idle| idle.list.put(pool));
}

/// Drops the idle pools, which may hold more than memory: a stream, a device. The pools of a list with direct
/// access stay, which that access relies on, and hold nothing else.
pub(super) fn drop_holders<B: LocalPool>() {
    if !B::ACCESS.direct {
        B::with_idle_pools(|idle| idle.list.clear());
    }
}

/// Runs `f` on each pool of this thread that is idle now. What `f` calls back, such as a `tracing`
/// subscriber, may make pools meanwhile: they are not among them. It takes no memory, of which there may
/// be none when it is called.
pub(super) fn for_each<B: LocalPool>(f: impl FnMut(&mut Pool<B>)) {
    B::with_idle_pools(|idle| idle.list.for_each(f));
}

/// Takes the configuration of pools that this thread makes from now on.
pub(super) fn set_config<B: LocalPool>(config: PoolConfig) {
    B::with_idle_pools(|idle| idle.config.set(config));
}

//! Defines a list of idle pools that can be stored in a thread-local variable. The list owns only
//! the pools that it contains.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::{null_mut, without_provenance_mut};

use crate::backend::{PoolBackend, PoolRoot, Root};
use crate::pool::Pool;

/// A list of pools that are not in use, in last-in, first-out order.
///
/// A free list can be stored in a thread-local variable that has a `const` initializer and no
/// destructor. Dropping a list does not free any memory, so call [`close`](Self::close) when the
/// list's thread ends. After [`take`](Self::take) has returned a pool, the caller owns that pool
/// independently of the list. Pools may be returned to the list in any order, even after the list
/// has been closed.
///
/// The following example stores a thread's idle pools, which use a custom backend, in a list:
///
/// ```
/// use pool_core::{FreeList, Pool};
/// # use pool_conformance::HeapBackend as Memory;
///
/// thread_local! {
///     static IDLE: FreeList<Memory> = const { FreeList::new() };
///     static CLOSER: Closer = const { Closer };
/// }
///
/// /// Closes the list when its thread ends: pools that come back later are dropped.
/// struct Closer;
///
/// impl Drop for Closer {
///     fn drop(&mut self) {
///         IDLE.with(FreeList::close);
///     }
/// }
///
/// let make = || {
///     CLOSER.with(|_| ());
///     Pool::new(Default::default())
/// };
/// let mut pool = IDLE.with(FreeList::take).unwrap_or_else(make);
/// pool.scope().acquire_zeroed::<u8, _>(100);
/// IDLE.with(|idle| idle.put(pool));
/// let again = IDLE.with(FreeList::take).expect("the pool that was put");
/// assert!(again.stats().reserved_bytes >= 100);
/// ```
///
/// A list can be used by only one thread:
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// static SHARED: pool_core::FreeList<Memory> = pool_core::FreeList::new(); // list_not_shared
/// ```
pub struct FreeList<B: PoolBackend> {
    /// The root of the most recently added idle pool. It is null if the list is empty and
    /// [`CLOSED`] if the list is closed.
    head: Cell<*mut ()>,
    owned: PhantomData<Pool<B>>,
}

/// The address that marks a list as closed. No table can be at address `CLOSED`, because this
/// address is not aligned for a table.
const CLOSED: usize = 1;

impl<B: PoolBackend> FreeList<B> {
    /// Creates an empty, open list.
    #[must_use]
    pub const fn new() -> Self {
        Self { head: Cell::new(null_mut()), owned: PhantomData }
    }

    /// Removes and returns the most recently added pool. Returns `None` if the list is empty or
    /// closed.
    #[inline]
    pub fn take(&self) -> Option<Pool<B>> {
        let head = self.head.get();
        if head.addr() <= CLOSED {
            return None;
        }
        // SAFETY: `put` stored this root in the list.
        let root = unsafe { Root::<B>::from_raw(head) };
        // SAFETY: the list owns the pools that it contains, so this pool is live.
        self.head.set(unsafe { root.next_idle() });
        // SAFETY: `put` obtained the root from `into_root`, and the root has just been removed from
        // the list.
        Some(unsafe { Pool::from_root(root) })
    }

    /// Adds an idle pool to the list. If the list is closed, the pool is dropped.
    #[inline]
    pub fn put(&self, pool: Pool<B>) {
        self.put_root(pool.into_root());
    }

    /// Returns a pool to its original list more cheaply than [`put`](Self::put) does. If the list
    /// has changed since the pool was taken, this method returns the pool to the caller instead of
    /// adding it to the list. The list has not changed if the pools taken after this one have all
    /// been returned in reverse order.
    ///
    /// # Safety
    ///
    /// If the pool has ever been in a list, this must be the list that contained it most recently.
    /// No pool that is or was in this list may have been dropped since the pool was taken, except
    /// by [`close`](Self::close). Calling [`clear`](Self::clear) counts as dropping the list's
    /// pools.
    #[inline]
    #[must_use]
    pub unsafe fn put_back(&self, pool: Pool<B>) -> Option<Pool<B>> {
        let root = pool.into_root();
        // SAFETY: the root is live, because `pool` owned it until the call to `into_root` above.
        if unsafe { root.next_idle() } != self.head.get() {
            // SAFETY: the pool has just given up ownership of the root, and the root is not in any
            // list.
            return Some(unsafe { Pool::from_root(root) });
        }
        // When the pool was taken, it linked to the next pool in the list, and this link has not
        // changed. The caller guarantees that the linked pool cannot have been dropped except by
        // closing the list. No pool ever links to the address `CLOSED`. The two addresses are
        // equal, so the pool's link is still valid.
        self.head.set(root.into_raw());
        None
    }

    #[inline]
    fn put_root(&self, root: Root<B>) {
        let head = self.head.get();
        if head.addr() == CLOSED {
            // SAFETY: the pool has just given up ownership of the root.
            drop(unsafe { Pool::<B>::from_root(root) });
            return;
        }
        // SAFETY: the root is live until the list drops it.
        unsafe { root.set_next_idle(head) };
        self.head.set(root.into_raw());
    }

    /// Calls `f` for each pool in the list. The order of the pools does not change. This method
    /// does not allocate memory. While `f` runs, the list does not contain the pools that were in
    /// it when the call started. A pool that `f` takes from the list is therefore never one of the
    /// original pools. Pools that `f` adds to the list are placed after the original pools. If `f`
    /// panics, the original pools are returned to the list. For the safety requirements of
    /// [`put_back`](Self::put_back), a call to this method counts as taking all pools from the
    /// list.
    pub fn for_each(&self, mut f: impl FnMut(&mut Pool<B>)) {
        let visit = Visit::begin(self);
        while let Some(mut visited) = visit.next() {
            f(&mut visited.pool);
        }
    }

    /// Removes and returns the most recently added pool that `wanted` accepts. All other pools
    /// remain in the list in the same order, even if `wanted` panics. `wanted` might be called
    /// twice for the most recently added pool. This method does not allocate memory.
    pub fn take_where(&self, mut wanted: impl FnMut(&Pool<B>) -> bool) -> Option<Pool<B>> {
        // The pool is returned to the list if `wanted` returns `false` or panics.
        let first = VisitedPool { pool: ManuallyDrop::new(self.take()?), visited: self };
        if wanted(&first.pool) {
            return Some(first.keep());
        }
        drop(first);
        let visit = Visit::begin(self);
        while let Some(visited) = visit.next() {
            if wanted(&visited.pool) {
                return Some(visited.keep());
            }
        }
        None
    }

    /// Drops all pools that are currently in the list. The list remains open after this call.
    pub fn clear(&self) {
        // All pools are detached before the first one is dropped, because a backend's `free` might
        // use the list.
        drop_pools(&self.detach());
    }

    /// Moves all pools into a new list. If this list is closed, the new list is also closed.
    fn detach(&self) -> Self {
        let head = self.head.get();
        if head.addr() > CLOSED {
            self.head.set(null_mut());
        }
        Self { head: Cell::new(head), owned: PhantomData }
    }

    /// Prepends another list's pools to this list. If this list is closed, the other list's pools
    /// are dropped.
    fn attach(&self, others: &Self) {
        let first = others.head.replace(null_mut());
        if first.addr() <= CLOSED {
            return;
        }
        if self.is_closed() {
            return drop_pools(&Self { head: Cell::new(first), owned: PhantomData });
        }
        // SAFETY: `put` stored this root in the list.
        let mut last: Root<B> = unsafe { Root::<B>::from_raw(first) };
        loop {
            // SAFETY: the other list owned the pool, so the pool is live.
            let next = unsafe { last.next_idle() };
            if next.is_null() {
                break;
            }
            // SAFETY: `put` stored this root in the list.
            last = unsafe { Root::<B>::from_raw(next) };
        }
        // SAFETY: the other list owned the pool, so the pool is live.
        unsafe { last.set_next_idle(self.head.get()) };
        self.head.set(first);
    }

    /// Returns `true` if the list has been closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.head.get().addr() == CLOSED
    }

    /// Drops all pools in the list and closes it so that pools added later are dropped immediately.
    pub fn close(&self) {
        // The list is closed before the first pool is dropped, because a backend's `free` might use
        // the list.
        let head = self.head.replace(without_provenance_mut(CLOSED));
        drop_pools(&Self { head: Cell::new(head), owned: PhantomData });
    }
}

/// Drops the pools in a list that no other code can access.
fn drop_pools<B: PoolBackend>(list: &FreeList<B>) {
    while let Some(pool) = list.take() {
        drop(pool);
    }
}

/// An iteration over a list's pools. During the iteration, the list does not contain these pools.
/// When the iteration ends, all pools that the caller did not take are returned to the list in
/// their original order.
struct Visit<'a, B: PoolBackend> {
    list: &'a FreeList<B>,
    ahead: FreeList<B>,
    /// The pools that have already been visited, starting with the most recently visited one.
    visited: FreeList<B>,
}

impl<'a, B: PoolBackend> Visit<'a, B> {
    fn begin(list: &'a FreeList<B>) -> Self {
        Self { list, ahead: list.detach(), visited: FreeList::new() }
    }

    fn next(&self) -> Option<VisitedPool<'_, B>> {
        let pool = ManuallyDrop::new(self.ahead.take()?);
        Some(VisitedPool { pool, visited: &self.visited })
    }
}

impl<B: PoolBackend> Drop for Visit<'_, B> {
    fn drop(&mut self) {
        while let Some(pool) = self.visited.take() {
            self.ahead.put(pool);
        }
        self.list.attach(&self.ahead);
    }
}

/// A pool that is being visited.
struct VisitedPool<'a, B: PoolBackend> {
    pool: ManuallyDrop<Pool<B>>,
    /// The list to which the pool is returned when its visit ends.
    visited: &'a FreeList<B>,
}

impl<B: PoolBackend> VisitedPool<'_, B> {
    /// Returns the pool to the caller and prevents it from being added to the list of visited
    /// pools.
    fn keep(self) -> Pool<B> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this.pool` is not used again, and `this` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.pool) }
    }
}

impl<B: PoolBackend> Drop for VisitedPool<'_, B> {
    fn drop(&mut self) {
        // SAFETY: this value is being dropped, so the pool cannot be used through it again.
        self.visited.put(unsafe { ManuallyDrop::take(&mut self.pool) });
    }
}

impl<B: PoolBackend> Default for FreeList<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: PoolBackend> fmt::Debug for FreeList<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeList").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

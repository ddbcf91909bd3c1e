//! A list of idle pools, for thread-local use. The list owns the pools in it, and nothing else.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::{null_mut, without_provenance_mut};

use crate::backend::{PoolBackend, PoolRoot, Root};
use crate::pool::Pool;

/// Pools that are not in use, last in first out.
///
/// Suited for a `const` thread-local without a destructor. Dropping a list frees nothing, so
/// [`close`](Self::close) the list when its thread ends. The caller of [`take`](Self::take) owns
/// the pool independently of the list. Pools may be returned in any order, even after the list has
/// been closed.
///
/// The pools of a thread, for a custom backend:
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
/// A list belongs to one thread:
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// static SHARED: pool_core::FreeList<Memory> = pool_core::FreeList::new(); // list_not_shared
/// ```
pub struct FreeList<B: PoolBackend> {
    /// The root of the newest idle pool: null if there is none, [`CLOSED`] after `close`.
    head: Cell<*mut ()>,
    owned: PhantomData<Pool<B>>,
}

/// The address that marks a closed list. It is not aligned for a table, so no table can have this
/// address.
const CLOSED: usize = 1;

impl<B: PoolBackend> FreeList<B> {
    /// Creates an open, empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { head: Cell::new(null_mut()), owned: PhantomData }
    }

    /// Takes the pool that was put last. Returns `None` if the list is empty or closed.
    #[inline]
    pub fn take(&self) -> Option<Pool<B>> {
        let head = self.head.get();
        if head.addr() <= CLOSED {
            return None;
        }
        // SAFETY: `put` stored this root in the list.
        let root = unsafe { Root::<B>::from_raw(head) };
        // SAFETY: the list owns the pools in it, so this pool is live.
        self.head.set(unsafe { root.next_idle() });
        // SAFETY: `put` got the root from `into_root`, and it was just taken out of the list.
        Some(unsafe { Pool::from_root(root) })
    }

    /// Puts an idle pool into the list. A closed list drops the pool.
    #[inline]
    pub fn put(&self, pool: Pool<B>) {
        self.put_root(pool.into_root());
    }

    /// Puts back a pool that was taken from this list, with less work than [`put`](Self::put). If
    /// the list has changed since, returns the pool instead. The list has not changed if pools are
    /// returned in the opposite order of being taken.
    ///
    /// # Safety
    ///
    /// The pool was last in this list, or was never in any list. Since the pool was taken, no pool
    /// that was or has been in this list has been dropped, except by [`close`](Self::close). A call
    /// of [`clear`](Self::clear) counts as a drop.
    #[inline]
    #[must_use]
    pub unsafe fn put_back(&self, pool: Pool<B>) -> Option<Pool<B>> {
        let root = pool.into_root();
        // SAFETY: the owner just gave up the root, so it is live.
        if unsafe { root.next_idle() } != self.head.get() {
            // SAFETY: as above.
            return Some(unsafe { Pool::from_root(root) });
        }
        // The pool still links to the pool that was the head when it was taken. That pool has not
        // been dropped (caller; a closed list drops pools, and no pool links to its marker). The
        // equal address is therefore not the address of another pool, and the link is valid.
        self.head.set(root.into_raw());
        None
    }

    #[inline]
    fn put_root(&self, root: Root<B>) {
        let head = self.head.get();
        if head.addr() == CLOSED {
            // SAFETY: the owner just gave up the root.
            drop(unsafe { Pool::<B>::from_root(root) });
            return;
        }
        // SAFETY: the root is live until the list drops it.
        unsafe { root.set_next_idle(head) };
        self.head.set(root.into_raw());
    }

    /// Runs `f` on each pool in the list. The pools keep their order. Allocates no memory.
    /// While `f` runs, these pools are not in the list. `take` then returns other pools, and pools
    /// that are put in the meantime come after these. If `f` panics, the pools are put back. For
    /// [`put_back`](Self::put_back), these pools count as taken.
    pub fn for_each(&self, mut f: impl FnMut(&mut Pool<B>)) {
        let visit = Visit::begin(self);
        while let Some(mut visited) = visit.next() {
            f(&mut visited.pool);
        }
    }

    /// Takes the newest pool for which `wanted` returns `true`. The other pools keep their order,
    /// even if `wanted` panics. `wanted` may be called twice for the newest pool. Allocates no
    /// memory.
    pub fn take_where(&self, mut wanted: impl FnMut(&Pool<B>) -> bool) -> Option<Pool<B>> {
        // The pool returns to the list if it is not wanted, or if `wanted` panics.
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

    /// Drops the pools that are in the list now. The list stays open.
    pub fn clear(&self) {
        // The pools are detached before any is dropped, because a backend's `free` may use the
        // list.
        drop_pools(&self.detach());
    }

    /// Moves all pools into a new list, which is closed if this list is closed.
    fn detach(&self) -> Self {
        let head = self.head.get();
        if head.addr() > CLOSED {
            self.head.set(null_mut());
        }
        Self { head: Cell::new(head), owned: PhantomData }
    }

    /// Puts the pools of another list before the pools of this one. A closed list drops them.
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
            // SAFETY: the other list owned the pool, so it is live.
            let next = unsafe { last.next_idle() };
            if next.is_null() {
                break;
            }
            // SAFETY: `put` stored this root in the list.
            last = unsafe { Root::<B>::from_raw(next) };
        }
        // SAFETY: as above.
        unsafe { last.set_next_idle(self.head.get()) };
        self.head.set(first);
    }

    /// Returns `true` if the list was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.head.get().addr() == CLOSED
    }

    /// Drops the pools in the list, and every pool that is put into it from now on.
    pub fn close(&self) {
        // The list is closed before any pool is dropped, because a backend's `free` may use it.
        let head = self.head.replace(without_provenance_mut(CLOSED));
        drop_pools(&Self { head: Cell::new(head), owned: PhantomData });
    }
}

/// Drops the pools of a list that no other code can reach.
fn drop_pools<B: PoolBackend>(list: &FreeList<B>) {
    while let Some(pool) = list.take() {
        drop(pool);
    }
}

/// A walk over the pools of a list, during which the pools are not in the list. When the walk ends,
/// all pools that were not kept are back in the list, in their old order.
struct Visit<'a, B: PoolBackend> {
    list: &'a FreeList<B>,
    ahead: FreeList<B>,
    /// The pools that have been visited, with the last one first.
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

/// A pool during its visit.
struct VisitedPool<'a, B: PoolBackend> {
    pool: ManuallyDrop<Pool<B>>,
    /// The list that receives the pool after its visit.
    visited: &'a FreeList<B>,
}

impl<B: PoolBackend> VisitedPool<'_, B> {
    /// Returns the pool, which then is not put back into the list.
    fn keep(self) -> Pool<B> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither used again nor dropped.
        unsafe { ManuallyDrop::take(&mut this.pool) }
    }
}

impl<B: PoolBackend> Drop for VisitedPool<'_, B> {
    fn drop(&mut self) {
        // SAFETY: this value is being dropped, so the pool is not used through it again.
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

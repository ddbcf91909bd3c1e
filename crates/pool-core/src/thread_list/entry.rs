//! Defines a list entry, which contains a pool's address and a link to the thread's next entry.
//! Another thread can replace the pool in an entry.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::{NonNull, null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::backend::{PoolBackend, PoolRoot, Root};
use crate::config::{Compaction, PoolConfig};
use crate::count::Count;
use crate::error::PoolError;
use crate::pool::Pool;
use crate::reserve::{NoHostMemory, list};
use crate::scope::Scope;
use crate::stats::{PoolStats, ReleaseReport};

/// An address that indicates the absence of a pool. The address is not aligned for a root, so no
/// root can be at this address.
const NEVER: usize = 1;

/// One entry of a list. An entry never moves, and it exists until its thread frees it.
pub(super) struct Entry<B: PoolBackend> {
    /// The next entry in the list. The field is written only while this entry is not in the list.
    pub(super) next: AtomicPtr<Self>,
    /// The root of the entry's pool.
    pub(super) pool: AtomicPtr<()>,
    /// The root of a pool that has been replaced but not yet dropped, or null if there is no such
    /// pool.
    pub(super) retired: AtomicPtr<()>,
    /// The root of the pool that most recently entered the chain, or [`NEVER`] if no pool has
    /// entered the chain. Only the thread that created the entry uses this field.
    entered: Cell<*mut ()>,
    /// The next entry that the same thread created. The field is used only while the registry is
    /// locked.
    pub(super) sibling: Cell<*mut Self>,
    /// The statistics of pools that were replaced.
    pub(super) past: Past,
}

impl<B: PoolBackend> Entry<B> {
    /// Drops an entry together with its pools.
    ///
    /// # Safety
    ///
    /// The entry must have been created by [`HeldPool::new`], and it must not be in any list or
    /// registry. The entry must not be used after the call.
    pub(super) unsafe fn free(entry: NonNull<Self>) {
        // SAFETY: `HeldPool::new` obtained the entry from a box. The caller does not use the entry
        // after this call.
        let entry = unsafe { Box::from_raw(entry.as_ptr()) };
        for root in [entry.pool.load(Ordering::Relaxed), entry.retired.load(Ordering::Relaxed)] {
            if !root.is_null() {
                // SAFETY: `root` is the root of a pool that the entry owns. The caller guarantees
                // that nothing else uses the pool.
                drop(unsafe { owned::<B>(root) });
            }
        }
    }
}

/// Converts a root's address back into a pool.
///
/// # Safety
///
/// `root` must be the address of a root returned by `Pool::into_root`, and the caller must own the
/// pool.
pub(super) unsafe fn owned<B: PoolBackend>(root: *mut ()) -> Pool<B> {
    // SAFETY: the caller upholds the safety contract of `Root::from_raw`.
    let root = unsafe { Root::<B>::from_raw(root) };
    // SAFETY: the caller upholds the safety contract of `Pool::from_root`.
    unsafe { Pool::from_root(root) }
}

/// The statistics of replaced pools. These statistics are retained so that a thread's counters
/// never decrease.
pub(super) struct Past {
    high_water: Count,
    peak: Count,
    leaked: Count,
    growths: Count,
    cold_acquires: Count,
    hits: Count,
    misses: Count,
}

impl Past {
    const fn new() -> Self {
        Self {
            high_water: Count::new(0),
            peak: Count::new(0),
            leaked: Count::new(0),
            growths: Count::new(0),
            cold_acquires: Count::new(0),
            hits: Count::new(0),
            misses: Count::new(0),
        }
    }

    /// Adds the statistics of a pool that is about to be dropped. The registry must be locked.
    pub(super) fn note(&self, stats: &PoolStats) {
        let add = |count: &Count, more: u64| {
            count.set(count.get().saturating_add(usize::try_from(more).unwrap_or(usize::MAX)));
        };
        self.high_water.set(self.high_water.get().max(stats.high_water_slots));
        self.peak.set(self.peak.get().max(stats.peak_reserved_bytes));
        self.leaked.set(self.leaked.get().saturating_add(stats.leaked_bytes));
        add(&self.growths, stats.growths);
        add(&self.cold_acquires, stats.cold_acquires);
        add(&self.hits, stats.shape_hits);
        add(&self.misses, stats.shape_misses);
    }

    /// Resets the peaks to 0.
    fn forget_peaks(&self) {
        self.high_water.set(0);
        self.peak.set(0);
    }

    /// Returns the combined statistics of the entry's pool and of the pools that preceded it.
    pub(super) fn with(&self, mut stats: PoolStats) -> PoolStats {
        let more = |count: &Count| u64::try_from(count.get()).unwrap_or(u64::MAX);
        stats.high_water_slots = stats.high_water_slots.max(self.high_water.get());
        stats.peak_reserved_bytes = stats.peak_reserved_bytes.max(self.peak.get());
        stats.leaked_bytes = stats.leaked_bytes.saturating_add(self.leaked.get());
        stats.growths = stats.growths.saturating_add(more(&self.growths));
        stats.cold_acquires = stats.cold_acquires.saturating_add(more(&self.cold_acquires));
        stats.shape_hits = stats.shape_hits.saturating_add(more(&self.hits));
        stats.shape_misses = stats.shape_misses.saturating_add(more(&self.misses));
        stats
    }
}

/// A pool that its thread has taken from the list or has just created.
///
/// Each method reloads the pool's address because a concurrent call to
/// [`ThreadLists::release`](super::ThreadLists::release) might have replaced the pool. Dropping a
/// `HeldPool` leaks the pool.
#[must_use = "dropping a held pool leaks it"]
pub struct HeldPool<B: PoolBackend> {
    pub(super) entry: NonNull<Entry<B>>,
}

impl<B: PoolBackend> HeldPool<B> {
    /// Creates an entry for a pool.
    ///
    /// # Errors
    ///
    /// Returns [`NoHostMemory`] and drops the pool if the host cannot allocate memory for the
    /// entry.
    pub fn new(pool: Pool<B>) -> Result<Self, NoHostMemory> {
        let mut memory: Vec<Entry<B>> = list(1)?;
        memory.push(Entry {
            next: AtomicPtr::new(null_mut()),
            pool: AtomicPtr::new(pool.into_root().into_raw()),
            retired: AtomicPtr::new(null_mut()),
            entered: Cell::new(without_provenance_mut(NEVER)),
            sibling: Cell::new(null_mut()),
            past: Past::new(),
        });
        // The vector contains exactly one element, so the conversion does not reallocate it.
        let boxed: Box<[Entry<B>]> = memory.into_boxed_slice();
        let entry = Box::into_raw(boxed).cast::<Entry<B>>();
        // SAFETY: a box's address is never null.
        Ok(Self { entry: unsafe { NonNull::new_unchecked(entry) } })
    }

    #[inline(always)]
    pub(super) fn of(entry: NonNull<Entry<B>>) -> Self {
        Self { entry }
    }

    #[inline(always)]
    fn entry(&self) -> &Entry<B> {
        // SAFETY: a taken entry is freed only by its holder. All existing references to the entry
        // are shared.
        unsafe { self.entry.as_ref() }
    }

    /// Returns the root of the pool. The load is executed after the store that removed the entry
    /// from its list, as the [protocol](super) requires. The load has acquire ordering, so this
    /// thread sees the writes made by the thread that stored this pool in the entry.
    #[inline(always)]
    fn root(&self) -> Root<B> {
        let root = self.entry().pool.load(Ordering::Acquire);
        // SAFETY: an entry always contains the root of a live pool.
        unsafe { Root::<B>::from_raw(root) }
    }

    /// Returns the pool, which still belongs to the entry.
    fn pool(&self) -> ManuallyDrop<Pool<B>> {
        // SAFETY: the entry owns the pool. The returned value never drops the pool. No other `Pool`
        // with this root exists, because the entry is held and each method creates at most one
        // `Pool`.
        ManuallyDrop::new(unsafe { Pool::from_root(self.root()) })
    }

    /// Returns `true` if the pool has entered the chain and has not left it. The result is valid
    /// for as long as the entry is held.
    pub(super) fn is_entered(&self) -> bool {
        self.entry().entered.get().addr() != NEVER
    }

    /// Adds the pool to its thread's chain of pools as the innermost pool. The method has no effect
    /// if the backend's pools are not nested. The pool must not be in the chain.
    #[inline(always)]
    pub(super) fn enter(&self, innermost: &Cell<*mut ()>) {
        if !Root::<B>::NESTS {
            return;
        }
        let root = self.root();
        self.entry().entered.set(root.into_raw());
        // SAFETY: the pool is live until it leaves the chain, because the entry is held or leaked.
        // No scope is open in the pool, because this handle was just created. Only `enter` and
        // `leave` write to the cell.
        unsafe { root.enter(innermost) };
    }

    /// Removes the pool that this entry added to the chain, even if another pool has since replaced
    /// that pool in the entry. Returns `false` if the pool is the innermost pool in another list's
    /// chain. If the method returns `false`, the pool remains in use, and the caller must leak the
    /// entry.
    #[inline(always)]
    #[must_use]
    pub(super) fn leave(&self, innermost: &Cell<*mut ()>) -> bool {
        if !Root::<B>::NESTS {
            return true;
        }
        let entered = self.entry().entered.get();
        if entered.addr() == NEVER {
            return true;
        }
        // SAFETY: `entered` is the address of a root because it is not `NEVER`.
        let root = unsafe { Root::<B>::from_raw(entered) };
        // SAFETY: this entry's pool has entered the chain. The pool is live because a replaced pool
        // is freed only once its entry has been put back into its list. All scopes that were opened
        // through the handle have ended.
        unsafe { root.leave(innermost) }
    }

    /// Records that the entry's pool has left the chain. This method must be called only while the
    /// entry is not in the list.
    pub(super) fn note_left(&self) {
        self.entry().entered.set(without_provenance_mut(NEVER));
    }

    /// Drops the entry together with its pools.
    ///
    /// # Safety
    ///
    /// The entry must not be in any registry, and must never have been passed to
    /// [`ThreadList::enter`](super::ThreadList::enter).
    pub unsafe fn free(self) {
        // SAFETY: `new` created the entry. The entry is not in any list because it is held. The
        // caller guarantees that the entry is not in any registry.
        unsafe { Entry::free(self.entry) };
    }

    /// Opens a scope in the pool.
    #[inline(always)]
    pub fn scope(&mut self) -> Scope<'_, B> {
        // SAFETY: `self` is borrowed exclusively for the lifetime of the scope and its views. No
        // other cursor of the pool can be used during that lifetime. If the pool is replaced before
        // the lifetime ends, the old pool remains live until a walk finds the entry in its list.
        let cursor = unsafe { self.root().nested_cursor() };
        // SAFETY: `self` is borrowed exclusively for the lifetime of the scope, so no other cursor
        // of the pool can be used during that lifetime.
        unsafe { Scope::from_cursor(cursor) }
    }

    /// Returns the combined statistics of the pool and of the pools that preceded it in the entry.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.entry().past.with(self.pool().stats())
    }

    /// Calls [`Pool::trim`] on the entry's pool.
    pub fn trim(&mut self) -> ReleaseReport {
        self.pool().trim()
    }

    /// Calls [`Pool::compact`] on the entry's pool.
    pub fn compact(&mut self, compaction: &Compaction) -> ReleaseReport {
        self.pool().compact(compaction)
    }

    /// Calls [`Pool::clear`] on the entry's pool.
    pub fn clear(&mut self) -> ReleaseReport {
        self.entry().past.forget_peaks();
        self.pool().clear()
    }

    /// Calls [`Pool::configure`] on the entry's pool.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Pool::configure`].
    pub fn configure(&mut self, config: PoolConfig) -> Result<(), PoolError<B::Error>> {
        self.pool().configure(config)
    }
}

impl<B: PoolBackend> fmt::Debug for HeldPool<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldPool").field("pool", &*self.pool()).finish()
    }
}

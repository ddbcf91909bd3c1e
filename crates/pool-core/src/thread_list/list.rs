//! The list itself: one word in thread-local memory, and the hot path that takes entries and puts
//! them back.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{NonNull, null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicPtr, Ordering, compiler_fence};

use super::entry::{Entry, HeldPool};
use crate::backend::PoolBackend;
use crate::pool::Pool;

/// The idle pools of one thread, last in first out.
///
/// Suited for a `const` thread-local without a destructor. Dropping a list frees nothing, so
/// [`close`](Self::close) the list when its thread ends. Only the thread that owns the list uses
/// it. Other threads read the list's head through a [`ThreadRecord`](super::ThreadRecord).
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// use pool_core::thread_list::ThreadList;
/// static SHARED: ThreadList<Memory> = ThreadList::new(); // thread_list_not_shared
/// ```
pub struct ThreadList<B: PoolBackend> {
    /// The newest idle entry: null if there is none, [`CLOSED`] after `close`. Only the list's
    /// thread writes it.
    pub(super) head: AtomicPtr<Entry<B>>,
    /// The root of the innermost pool in use, for backends whose pools are nested. Null if there is
    /// none.
    innermost: Cell<*mut ()>,
    /// The list owns pools, and is not shared.
    owned: PhantomData<Pool<B>>,
}

/// The address that marks a closed list. It is not aligned for an entry, so no entry can have this
/// address.
pub(super) const CLOSED: usize = 1;

impl<B: PoolBackend> ThreadList<B> {
    /// Creates an open, empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_head(null_mut())
    }

    const fn with_head(head: *mut Entry<B>) -> Self {
        let innermost = Cell::new(null_mut());
        Self { head: AtomicPtr::new(head), innermost, owned: PhantomData }
    }

    /// Returns the head, for the list's own thread. The read is not an atomic load, which the
    /// compiler would not merge into the comparison that uses it.
    #[inline(always)]
    fn head(&self) -> *mut Entry<B> {
        // SAFETY: this is the address of a live atomic. Only this thread writes to it, so no write
        // races with this read.
        unsafe { *self.head.as_ptr() }
    }

    /// Takes the entry that was put last. Returns `None` if the list is empty or closed.
    #[inline(always)]
    pub fn take(&self) -> Option<HeldPool<B>> {
        let head = self.head();
        if head.addr() <= CLOSED {
            return None;
        }
        // SAFETY: the address is not null, and the list's entries are live.
        let entry = unsafe { NonNull::new_unchecked(head) };
        // SAFETY: as above.
        let next = unsafe { &entry.as_ref().next }.load(Ordering::Relaxed);
        // A release store, because a walk that reads this head may release the pool of the next
        // entry, which was used earlier.
        self.head.store(next, Ordering::Release);
        // The address of the entry's pool may be loaded only after this store: see the protocol of
        // the module.
        compiler_fence(Ordering::SeqCst);
        let held = HeldPool::of(entry);
        held.enter(&self.innermost);
        Some(held)
    }

    /// Marks a new pool as in use, like a pool that was taken. The pool will be put into the list
    /// later.
    pub fn enter(&self, held: &HeldPool<B>) {
        if !held.is_entered() {
            held.enter(&self.innermost);
        }
    }

    /// Puts back an entry that was taken, if the list has not changed since. Otherwise, returns the
    /// entry.
    ///
    /// The entry's link is valid if it leads to the head: an entry of an open list is never freed,
    /// so an equal address refers to the same entry.
    #[inline(always)]
    #[must_use]
    pub fn put_back(&self, held: HeldPool<B>) -> Option<HeldPool<B>> {
        if !held.leave(&self.innermost) {
            return None;
        }
        // SAFETY: a held entry is live.
        let next = unsafe { &held.entry.as_ref().next }.load(Ordering::Relaxed);
        if next != self.head() {
            held.note_left();
            return Some(held);
        }
        self.head.store(held.entry.as_ptr(), Ordering::Release);
        None
    }

    /// Puts an entry into the list. A closed list frees the entry with its pool. An entry whose
    /// pool is still the innermost pool in the chain of another list is leaked.
    #[expect(clippy::needless_pass_by_value, reason = "an entry that was put is no longer held")]
    pub fn put(&self, held: HeldPool<B>) {
        if !held.leave(&self.innermost) {
            return;
        }
        let HeldPool { entry } = held;
        let head = self.head();
        if head.addr() == CLOSED {
            // SAFETY: the entry was created by `HeldPool::new`, and is not in the list. A list is
            // closed only after its record, with all of its entries, was removed from the registry
            // (`close`).
            return unsafe { Entry::free(entry) };
        }
        // SAFETY: a held entry is live, and is not in the list.
        unsafe { &entry.as_ref().next }.store(head, Ordering::Release);
        self.head.store(entry.as_ptr(), Ordering::Release);
    }

    /// Runs `f` on each entry in the list. The entries keep their order. Allocates no memory.
    ///
    /// While `f` runs, these entries are not in the list. `take` then returns other entries, and
    /// entries that are put in the meantime come after these. If `f` panics, the entries are put
    /// back.
    ///
    /// # Safety
    ///
    /// `f` must not move a [`HeldPool`] out of its reference, and must not swap it with another
    /// one.
    pub unsafe fn for_each(&self, mut f: impl FnMut(&mut HeldPool<B>)) {
        let first = self.head();
        if first.addr() <= CLOSED {
            return;
        }
        self.head.store(null_mut(), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let _detached = Detached { list: self, first };
        let mut next = NonNull::new(first);
        while let Some(entry) = next {
            f(&mut HeldPool::of(entry));
            // SAFETY: a detached entry is live, and its link is not written.
            next = NonNull::new(unsafe { &entry.as_ref().next }.load(Ordering::Relaxed));
        }
    }

    /// Returns `true` if the list was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.head().addr() == CLOSED
    }

    /// Frees the entries in the list with their pools, and every entry that is put into the list
    /// from now on.
    ///
    /// # Safety
    ///
    /// The list's record has been removed from the registry, or never existed.
    pub unsafe fn close(&self) {
        // The list is closed before any pool is dropped, because a backend's `free` may use it.
        let mut first = self.head();
        self.head.store(without_provenance_mut(CLOSED), Ordering::Relaxed);
        while first.addr() > CLOSED {
            // SAFETY: an entry of the list is live and its address is not null.
            let entry = unsafe { NonNull::new_unchecked(first) };
            // SAFETY: as above.
            first = unsafe { &entry.as_ref().next }.load(Ordering::Relaxed);
            // SAFETY: the entry was created by `HeldPool::new`, and was just taken out of the list.
            // The registry no longer contains it (caller).
            unsafe { Entry::free(entry) };
        }
    }
}

/// Entries that are not in their list while they are visited. They are put back in front of the
/// entries that were put in the meantime.
struct Detached<'a, B: PoolBackend> {
    list: &'a ThreadList<B>,
    first: *mut Entry<B>,
}

impl<B: PoolBackend> Drop for Detached<'_, B> {
    fn drop(&mut self) {
        let head = self.list.head();
        if head.addr() == CLOSED {
            // The list was closed while the entries were visited. The entries belong to this list,
            // and are closed with it.
            let closing = ThreadList::with_head(self.first);
            // SAFETY: the list was closed, so its record is in no registry.
            return unsafe { closing.close() };
        }
        let mut last = self.first;
        loop {
            // SAFETY: a detached entry is live.
            let next = unsafe { &(*last).next };
            let below = next.load(Ordering::Relaxed);
            if below.is_null() {
                next.store(head, Ordering::Release);
                break;
            }
            last = below;
        }
        self.list.head.store(self.first, Ordering::Release);
    }
}

impl<B: PoolBackend> Default for ThreadList<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: PoolBackend> fmt::Debug for ThreadList<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadList").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

//! Defines the list of a thread's idle pools. The list's hot path consists only of taking an entry
//! from a word in thread-local memory or putting one back.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{NonNull, null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicPtr, Ordering, compiler_fence};

use super::entry::{Entry, HeldPool};
use crate::backend::PoolBackend;
use crate::pool::Pool;

/// The idle pools of one thread. The pool that was put into the list most recently is taken first.
///
/// A `ThreadList` can be stored in a `const` thread-local that has no destructor. Dropping a list
/// frees nothing, so call [`close`](Self::close) when the list's thread ends. Only the thread that
/// owns the list may use it. Other threads read the list's head through a
/// [`ThreadRecord`](super::ThreadRecord).
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// use pool_core::thread_list::ThreadList;
/// static SHARED: ThreadList<Memory> = ThreadList::new(); // thread_list_not_shared
/// ```
pub struct ThreadList<B: PoolBackend> {
    /// The newest idle entry. The head is null if the list is empty, or [`CLOSED`] once `close` has
    /// been called. Only the list's thread writes to the head.
    pub(super) head: AtomicPtr<Entry<B>>,
    /// The root of the innermost pool that is in use, for backends whose pools are nested. The root
    /// is null if no pool is in use.
    innermost: Cell<*mut ()>,
    /// A marker for a list that owns pools and cannot be shared between threads.
    owned: PhantomData<Pool<B>>,
}

/// The address that marks a closed list. The address is not aligned for an entry, so no entry can
/// be at this address.
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

    /// Returns the head. Only the list's own thread may call this method. The method does not use
    /// an atomic load, because the compiler would not merge it into the comparison that uses the
    /// result.
    #[inline(always)]
    fn head(&self) -> *mut Entry<B> {
        // SAFETY: the pointer refers to a live atomic. Only this thread writes to the atomic, so no
        // write races with this read.
        unsafe { *self.head.as_ptr() }
    }

    /// Removes and returns the most recently added entry. Returns `None` if the list is empty or
    /// closed.
    #[inline(always)]
    pub fn take(&self) -> Option<HeldPool<B>> {
        let head = self.head();
        if head.addr() <= CLOSED {
            return None;
        }
        // SAFETY: `head` is above `CLOSED`, so `head` is the address of an entry.
        let entry = unsafe { NonNull::new_unchecked(head) };
        // SAFETY: the entries of a list are live.
        let next = unsafe { &entry.as_ref().next }.load(Ordering::Relaxed);
        // The store has release ordering, because this thread has used the next entry's pool.
        // Another thread that reads this head might release that pool.
        self.head.store(next, Ordering::Release);
        // The address of the entry's pool must be loaded after this store, as this module's
        // protocol requires.
        compiler_fence(Ordering::SeqCst);
        let held = HeldPool::of(entry);
        held.enter(&self.innermost);
        Some(held)
    }

    /// Marks a new pool as in use, as if it had been taken from the list. The caller will put the
    /// pool into the list later.
    pub fn enter(&self, held: &HeldPool<B>) {
        if !held.is_entered() {
            held.enter(&self.innermost);
        }
    }

    /// Puts a taken entry back into the list if the list has not changed since the entry was taken.
    /// If the list has changed, the method returns the entry.
    ///
    /// The entry's link is still valid if it refers to the current head. An entry in an open list
    /// is never freed, so equal addresses always refer to the same entry.
    #[inline(always)]
    #[must_use]
    pub fn put_back(&self, held: HeldPool<B>) -> Option<HeldPool<B>> {
        if !held.leave(&self.innermost) {
            return None;
        }
        // SAFETY: an entry exists while a `HeldPool` holds it.
        let next = unsafe { &held.entry.as_ref().next }.load(Ordering::Relaxed);
        if next != self.head() {
            held.note_left();
            return Some(held);
        }
        self.head.store(held.entry.as_ptr(), Ordering::Release);
        None
    }

    /// Puts an entry into the list. If the list is closed, the method frees the entry together with
    /// its pool. If the entry's pool is still the innermost pool in another list's chain, the
    /// method leaks the entry.
    #[expect(clippy::needless_pass_by_value, reason = "an entry that was put is no longer held")]
    pub fn put(&self, held: HeldPool<B>) {
        if !held.leave(&self.innermost) {
            return;
        }
        let HeldPool { entry } = held;
        let head = self.head();
        if head.addr() == CLOSED {
            // SAFETY: `HeldPool::new` created the entry. The entry is not in the list. A list is
            // closed only once its record and all of its entries have been removed from the
            // registry (see `close`).
            return unsafe { Entry::free(entry) };
        }
        // SAFETY: while a `HeldPool` holds an entry, the entry is live and is not in the list.
        unsafe { &entry.as_ref().next }.store(head, Ordering::Release);
        self.head.store(entry.as_ptr(), Ordering::Release);
    }

    /// Calls `f` with each entry in the list. The entries remain in the same order, and the method
    /// does not allocate memory.
    ///
    /// While `f` runs, the visited entries are not in the list. If `f` calls `take`, it receives
    /// other entries, and entries that it puts into the list are placed after the visited ones. If
    /// `f` panics, the visited entries are put back.
    ///
    /// # Safety
    ///
    /// `f` must not move the [`HeldPool`] out of the reference that it receives, and must not swap
    /// it with another `HeldPool`.
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
            // SAFETY: a detached entry is live. No other code writes to the entry's link.
            next = NonNull::new(unsafe { &entry.as_ref().next }.load(Ordering::Relaxed));
        }
    }

    /// Returns `true` if the list has been closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.head().addr() == CLOSED
    }

    /// Frees all entries in the list together with their pools. The list also frees every entry
    /// that is put into it after this call.
    ///
    /// # Safety
    ///
    /// The list must have no record, or its record must have been removed from the registry.
    pub unsafe fn close(&self) {
        // The list is closed before any pool is dropped, because a backend's `free` might use the
        // list.
        let mut first = self.head();
        self.head.store(without_provenance_mut(CLOSED), Ordering::Relaxed);
        while first.addr() > CLOSED {
            // SAFETY: `first` is above `CLOSED`, so `first` is the address of an entry.
            let entry = unsafe { NonNull::new_unchecked(first) };
            // SAFETY: the entries of a list are live.
            first = unsafe { &entry.as_ref().next }.load(Ordering::Relaxed);
            // SAFETY: `HeldPool::new` created the entry. The entry was just removed from the list.
            // The caller guarantees that the registry does not contain the entry.
            unsafe { Entry::free(entry) };
        }
    }
}

/// Entries that are removed from their list while they are being visited. When this value is
/// dropped, the entries are put back in front of all entries that were added during the visit.
struct Detached<'a, B: PoolBackend> {
    list: &'a ThreadList<B>,
    first: *mut Entry<B>,
}

impl<B: PoolBackend> Drop for Detached<'_, B> {
    fn drop(&mut self) {
        let head = self.list.head();
        if head.addr() == CLOSED {
            // The list was closed while the entries were being visited. The visited entries
            // belonged to the closed list, so they are freed like the list's other entries.
            let closing = ThreadList::with_head(self.first);
            // SAFETY: the list was closed, so its record is not in any registry.
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

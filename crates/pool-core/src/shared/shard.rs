//! Defines a shard, which stores some of a shared pool's idle blocks. Only one thread can access a
//! shard at a time.
//!
//! There are two kinds of shards. A **common** shard has a lock. A thread tries the locks of all
//! common shards in turn and acquires the first free lock. The thread that owns a **magazine**
//! accesses it without an atomic exchange instruction. A magazine holds only a few blocks.
//!
//! A thread might need another thread's magazine to trim or close the pool, or to acquire a block
//! when the pool has reached its limit. To access another thread's magazine, the thread locks that
//! magazine and executes a barrier on all threads. The thread then waits until the owner is no
//! longer using the magazine. Before each use, the owner records the magazine's address in its own
//! cell and then checks that the magazine is not locked. The barrier ensures that at least one of
//! the two threads sees the other thread's write.
//!
//! A thread that has locked a shard only moves values and swaps pointers. A thread that holds a
//! lock does not allocate memory, free memory, or run user code.
//!
//! # Invariants
//!
//! 1. Only two threads may access a shard's body. The first thread holds the shard's lock. The
//!    second thread is the shard's owner, but only while its cell contains the shard's address. The
//!    owner can change only while the lock is held.
//!
//! 2. A shard's atomic counters are written only by threads that may access its body. Other threads
//!    treat the counters as estimates.
//!
//! 3. **Releasing a shard is the last access to it**. A thread that closes a pool can free the pool
//!    as soon as it has locked each shard once. A shard is therefore released through a raw
//!    pointer. A reference to the shard would have to remain valid until the end of the function
//!    that received it.

use alloc::boxed::Box;
use core::array;
use core::cell::UnsafeCell;
use core::fmt;
use core::hint;
use core::marker::PhantomData;
use core::mem;
use core::ptr::NonNull;
#[cfg(feature = "std")]
use core::sync::atomic::compiler_fence;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::record::Record;
#[cfg(feature = "std")]
use super::thread_cell::ThreadCell;

/// The number of lists in a shard. Size classes that differ by a multiple of this number share a
/// list.
const LISTS: usize = usize::BITS as usize;

/// The value of a shard's lock while a thread holds it.
const LOCKED: usize = 1;

/// A set of idle blocks, with counters for the arrays that were acquired from this shard or
/// returned to it.
///
/// The type is aligned to two cache lines because processors fetch cache lines in pairs.
#[repr(align(128))]
pub(super) struct Shard<M> {
    lock: AtomicUsize,
    /// The owner's [`ThreadCell`] (which is never freed), or null if the magazine has no owner.
    #[cfg(feature = "std")]
    owner: core::sync::atomic::AtomicPtr<ThreadCell>,
    /// A word in which each bit represents one list. A bit is set if its list contains a block.
    occupied: AtomicUsize,
    /// The number of arrays acquired minus the number of arrays returned. The subtraction can wrap
    /// around because an array might be returned to another shard.
    arrays: AtomicUsize,
    /// The number of bytes acquired minus the number of bytes returned. The subtraction may wrap
    /// around.
    bytes: AtomicUsize,
    body: UnsafeCell<Body<M>>,
}

struct Body<M> {
    blocks: usize,
    /// The maximum number of idle blocks, or 0 if the pool has been closed.
    most: usize,
    lists: [Option<Box<Record<M>>>; LISTS],
}

// SAFETY: only one thread at a time accesses the body and its records (invariant 1). The bound
// allows any thread to access the body and its records.
unsafe impl<M: Send> Sync for Shard<M> {}

impl<M> Shard<M> {
    /// Creates an empty shard that holds at most `most` idle blocks.
    pub(super) fn new(most: usize) -> Self {
        let lists = array::from_fn(|_| None);
        Self {
            lock: AtomicUsize::new(0),
            #[cfg(feature = "std")]
            owner: core::sync::atomic::AtomicPtr::new(core::ptr::null_mut()),
            occupied: AtomicUsize::new(0),
            arrays: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            body: UnsafeCell::new(Body { blocks: 0, most, lists }),
        }
    }

    /// Returns the number of arrays acquired minus the number returned, and the same difference in
    /// bytes. Both differences may wrap around.
    pub(super) fn balance(&self) -> (usize, usize) {
        (self.arrays.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Returns `true` if the shard might contain an idle block whose class is in the given range.
    /// The result is an estimate.
    #[inline(always)]
    pub(super) fn may_have(&self, classes: Classes) -> bool {
        self.occupied.load(Ordering::Relaxed) & classes.lists() != 0
    }

    /// Returns `true` if a thread owns the magazine. The result is an estimate.
    #[cfg(feature = "std")]
    pub(super) fn has_owner(&self) -> bool {
        !self.owner.load(Ordering::Relaxed).is_null()
    }

    /// Returns `true` if the shard might contain an idle block. The result is an estimate.
    pub(super) fn may_have_any(&self) -> bool {
        self.occupied.load(Ordering::Relaxed) != 0
    }
}

/// An inclusive range of size classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Classes {
    /// Returns a word with one bit for each list. A bit is set if its list can contain blocks of
    /// these classes.
    #[inline(always)]
    fn lists(self) -> usize {
        let count = self.last + 1 - self.first;
        let bits = if count >= LISTS { usize::MAX } else { (1 << count) - 1 };
        let first = self.first % LISTS;
        // The expression rotates `bits` to the left. The right-hand operand of `|` is 0 if no bit
        // is rotated out of the word.
        bits << first | bits >> 1 >> (LISTS - 1 - first)
    }
}

/// A shard that only the calling thread can access.
pub(super) struct Locked<'a, M> {
    shard: NonNull<Shard<M>>,
    /// The word that is set to 0 to release the shard. The word is either the shard's lock or its
    /// owner's cell.
    word: NonNull<AtomicUsize>,
    borrowed: PhantomData<&'a Shard<M>>,
}

impl<M> Locked<'_, M> {
    /// Locks a shard that has no owner. Returns `None` if another thread holds the shard's lock.
    ///
    /// # Safety
    ///
    /// The shard must remain live until it is released.
    #[inline(always)]
    pub(super) unsafe fn try_new(shard: NonNull<Shard<M>>) -> Option<Self> {
        // SAFETY: the caller guarantees that the shard is live. The field is an atomic.
        let lock = unsafe { &(*shard.as_ptr()).lock };
        if lock.swap(LOCKED, Ordering::Acquire) != 0 {
            return None;
        }
        Some(Self { shard, word: NonNull::from(lock), borrowed: PhantomData })
    }

    /// Locks a shard that has no owner, and waits while another thread holds the lock.
    ///
    /// # Safety
    ///
    /// The requirements are the same as for [`try_new`](Self::try_new).
    pub(super) unsafe fn wait(shard: NonNull<Shard<M>>) -> Self {
        loop {
            // SAFETY: the caller upholds the safety contract of `try_new`.
            if let Some(locked) = unsafe { Self::try_new(shard) } {
                return locked;
            }
            // SAFETY: the caller guarantees that the shard is live.
            while unsafe { &(*shard.as_ptr()).lock }.load(Ordering::Relaxed) != 0 {
                hint::spin_loop();
            }
        }
    }

    #[inline(always)]
    fn shard(&self) -> &Shard<M> {
        // SAFETY: the shard is live until it is released, as `try_new` requires.
        unsafe { self.shard.as_ref() }
    }

    #[inline(always)]
    fn body(&mut self) -> &mut Body<M> {
        // SAFETY: only this thread has access to the shard (invariant 1). `self` is borrowed
        // exclusively.
        unsafe { &mut *self.shard().body.get() }
    }

    /// Counts an acquired array of `bytes` bytes.
    #[inline(always)]
    pub(super) fn note_taken(&mut self, bytes: usize) {
        step(&self.shard().arrays, 1);
        step(&self.shard().bytes, bytes);
    }

    /// Counts a returned array of `bytes` bytes.
    #[inline(always)]
    pub(super) fn note_returned(&mut self, bytes: usize) {
        step(&self.shard().arrays, 1_usize.wrapping_neg());
        step(&self.shard().bytes, bytes.wrapping_neg());
    }

    /// Returns `true` if the shard cannot hold another block. A shard of a closed pool holds no
    /// blocks.
    #[inline(always)]
    pub(super) fn is_full(&mut self) -> bool {
        let body = self.body();
        body.blocks >= body.most
    }

    /// Closes the shard, which accepts no returned blocks after this call.
    pub(super) fn close(&mut self) {
        self.body().most = 0;
    }

    /// Adds an idle block.
    #[inline(always)]
    pub(super) fn push(&mut self, mut record: Box<Record<M>>) {
        let list = record.class % LISTS;
        let body = self.body();
        let head = &mut body.lists[list];
        // The code below drops no record. A record outside a list has no next record, so the head
        // is empty after the swap, and `replace` returns `None`.
        mem::swap(&mut record.next, head);
        mem::forget(head.replace(record));
        body.blocks += 1;
        let occupied = &self.shard().occupied;
        occupied.store(occupied.load(Ordering::Relaxed) | 1 << list, Ordering::Relaxed);
    }

    /// Removes and returns the block that was most recently added to a class's list. Returns `None`
    /// if the newest block in the list has a different class.
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(super) fn pop_newest(&mut self, class: usize) -> Option<Box<Record<M>>> {
        let list = class % LISTS;
        let place = &mut self.body().lists[list];
        if place.as_ref()?.class != class {
            return None;
        }
        let record = unlink(place);
        self.note_unlinked(list);
        record
    }

    /// Removes and returns an idle block of the lowest possible class in `classes`.
    pub(super) fn pop(&mut self, classes: Classes) -> Option<Box<Record<M>>> {
        if !self.shard().may_have(classes) {
            return None;
        }
        (classes.first..=classes.last).find_map(|class| self.pop_class(class))
    }

    fn pop_class(&mut self, class: usize) -> Option<Box<Record<M>>> {
        let mut place = &mut self.body().lists[class % LISTS];
        while place.as_ref()?.class != class {
            place = &mut place.as_mut()?.next;
        }
        let record = unlink(place);
        self.note_unlinked(class % LISTS);
        record
    }

    /// Removes and returns an idle block of any class.
    pub(super) fn pop_any(&mut self) -> Option<Box<Record<M>>> {
        let list = self.shard().occupied.load(Ordering::Relaxed).trailing_zeros() as usize;
        let record = unlink(self.body().lists.get_mut(list)?);
        self.note_unlinked(list);
        record
    }

    #[inline(always)]
    fn note_unlinked(&mut self, list: usize) {
        let body = self.body();
        body.blocks -= 1;
        if body.lists[list].is_none() {
            let occupied = &self.shard().occupied;
            occupied.store(occupied.load(Ordering::Relaxed) & !(1 << list), Ordering::Relaxed);
        }
    }
}

/// Methods for magazines.
#[cfg(feature = "std")]
impl<M> Locked<'_, M> {
    /// Acquires access to a magazine that the calling thread owns. Returns `None` if another thread
    /// has locked the magazine or has become its owner.
    ///
    /// # Safety
    ///
    /// The magazine must remain live until it is released. `cell` must be the calling thread's
    /// cell, and that thread must not be using another magazine.
    #[inline(always)]
    pub(super) unsafe fn try_own(
        magazine: NonNull<Shard<M>>,
        cell: &'static ThreadCell,
    ) -> Option<Self> {
        cell.in_use.store(magazine.addr().get(), Ordering::Relaxed);
        // This fence pairs with the barrier that a thread executes when it locks the magazine.
        // Either this thread sees the lock, or the other thread sees the address in the cell.
        compiler_fence(Ordering::SeqCst);
        let locked =
            Self { shard: magazine, word: NonNull::from(&cell.in_use), borrowed: PhantomData };
        let shard = locked.shard();
        let is_free = shard.lock.load(Ordering::Acquire) == 0;
        // If the magazine is not available, dropping `locked` removes the address from the cell.
        (is_free && core::ptr::eq(shard.owner.load(Ordering::Relaxed), cell)).then_some(locked)
    }

    /// Locks a magazine and waits until its owner is no longer using it. Returns `None` if the
    /// barrier was not executed.
    ///
    /// # Safety
    ///
    /// The requirements are the same as for [`try_new`](Self::try_new). The calling thread must not
    /// be using any magazine. `barrier` must execute a full memory barrier on each thread of the
    /// process, or return `false`.
    pub(super) unsafe fn wait_for_magazine(
        magazine: NonNull<Shard<M>>,
        barrier: impl FnOnce() -> bool,
    ) -> Option<Self> {
        // SAFETY: the caller upholds the safety contract of `wait`.
        let locked = unsafe { Self::wait(magazine) };
        // SAFETY: cells are never freed. The owner can change only while the lock is held, and this
        // thread holds the lock.
        let Some(owner) = (unsafe { locked.shard().owner.load(Ordering::Relaxed).as_ref() }) else {
            return Some(locked);
        };
        if !barrier() {
            return None;
        }
        while owner.in_use.load(Ordering::Acquire) == magazine.addr().get() {
            hint::spin_loop();
        }
        Some(locked)
    }

    /// Makes the calling thread the owner of a magazine. Returns `false` if another thread owns the
    /// magazine.
    ///
    /// # Safety
    ///
    /// The requirements are the same as for [`try_new`](Self::try_new). `cell` must be the calling
    /// thread's cell.
    pub(super) unsafe fn claim(magazine: NonNull<Shard<M>>, cell: &'static ThreadCell) -> bool {
        // SAFETY: the caller guarantees that the shard is live. The function reads `owner` before
        // it acquires the lock so that it never locks another thread's magazine.
        let owner = unsafe { &(*magazine.as_ptr()).owner };
        let is_own = |owner: *mut ThreadCell| owner.is_null() || core::ptr::eq(owner, cell);
        if !is_own(owner.load(Ordering::Relaxed)) {
            return false;
        }
        // SAFETY: the caller upholds the safety contract of `try_new`.
        let Some(locked) = (unsafe { Self::try_new(magazine) }) else { return false };
        let owner = &locked.shard().owner;
        if !is_own(owner.load(Ordering::Relaxed)) {
            return false;
        }
        owner.store(core::ptr::from_ref(cell).cast_mut(), Ordering::Relaxed);
        true
    }
}

/// Releases the shard. The shard is not accessed after it has been released (invariant 3).
impl<M> Drop for Locked<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the word is either in a cell or in the shard. A cell is never freed, and the
        // shard is live until it is released. The reference covers only the atomic word.
        unsafe { self.word.as_ref() }.store(0, Ordering::Release);
    }
}

/// Removes a record from its list and returns the record.
#[inline(always)]
fn unlink<M>(place: &mut Option<Box<Record<M>>>) -> Option<Box<Record<M>>> {
    let mut record = place.take()?;
    mem::swap(place, &mut record.next);
    Some(record)
}

/// Adds `by` to a counter that only the calling thread modifies.
#[inline(always)]
fn step(counter: &AtomicUsize, by: usize) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

impl<M> fmt::Debug for Shard<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard").field("balance", &self.balance()).finish_non_exhaustive()
    }
}

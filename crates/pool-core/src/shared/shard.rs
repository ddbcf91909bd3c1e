//! A shard: idle blocks, which one thread accesses at a time.
//!
//! There are two kinds. A **common** shard has a lock. A thread tries the locks of all common shards, and takes the first
//! that is free. A **magazine** has an owner, a thread, which accesses it without an atomic exchange. It holds few blocks.
//!
//! Another thread that needs a magazine (to trim, to close, or at a limit) locks it, executes a barrier on all threads,
//! and waits until the owner does not use it. The owner first notes in its cell that it uses the magazine, and then
//! checks that it is not locked. By the barrier, one of the two sees the other.
//!
//! Only moves and pointer exchanges happen in a shard: no allocation, no free, no user code.
//!
//! # Invariants
//!
//! 1. Only the holder of its lock accesses the body of a shard, or the owner while its cell has the shard's address.
//!    The owner changes under the lock.
//! 2. Only such a thread writes the atomic counters. Others read them as estimates.
//! 3. **To release a shard is the last access to it.** The thread that closes a pool may free the pool as soon as it has
//!    had each shard once. So a shard is released through a raw pointer: a reference to the shard would have to stay
//!    valid until the end of the function that it was given to.

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

/// The lists of a shard. Classes that differ by a multiple of this share a list.
const LISTS: usize = usize::BITS as usize;

/// The value of a lock that is held.
const LOCKED: usize = 1;

/// Idle blocks, and the numbers of arrays that were taken and returned here.
///
/// Aligned to two cache lines, which processors fetch together.
#[repr(align(128))]
pub(super) struct Shard<M> {
    lock: AtomicUsize,
    /// The owner's [`ThreadCell`], which is never freed; 0 for none.
    #[cfg(feature = "std")]
    owner: core::sync::atomic::AtomicPtr<ThreadCell>,
    /// A bit for each list, set if the list has a block.
    occupied: AtomicUsize,
    /// Arrays taken less arrays returned, wrapping: an array may be returned to another shard.
    arrays: AtomicUsize,
    /// Bytes of arrays taken less bytes of arrays returned, wrapping.
    bytes: AtomicUsize,
    body: UnsafeCell<Body<M>>,
}

struct Body<M> {
    blocks: usize,
    /// The most idle blocks; 0 once the pool is closed.
    most: usize,
    lists: [Option<Box<Record<M>>>; LISTS],
}

// SAFETY: one thread accesses the body at a time (invariant 1), so each of its records; that may be any thread (the
// bound).
unsafe impl<M: Send> Sync for Shard<M> {}

impl<M> Shard<M> {
    /// Makes an empty shard, which keeps at most `most` idle blocks.
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

    /// Returns the arrays and bytes that were taken here, less those that were returned; wrapping.
    pub(super) fn balance(&self) -> (usize, usize) {
        (self.arrays.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Returns `true` if the shard may have an idle block of one of the classes. An estimate.
    #[inline(always)]
    pub(super) fn may_have(&self, classes: Classes) -> bool {
        self.occupied.load(Ordering::Relaxed) & classes.lists() != 0
    }

    /// Returns `true` if a thread owns the magazine. An estimate.
    #[cfg(feature = "std")]
    pub(super) fn has_owner(&self) -> bool {
        !self.owner.load(Ordering::Relaxed).is_null()
    }

    /// Returns `true` if the shard may have an idle block. An estimate.
    pub(super) fn may_have_any(&self) -> bool {
        self.occupied.load(Ordering::Relaxed) != 0
    }
}

/// A range of classes, both ends included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Classes {
    /// Returns a bit for each list that may have blocks of the classes.
    #[inline(always)]
    fn lists(self) -> usize {
        let count = self.last + 1 - self.first;
        let bits = if count >= LISTS { usize::MAX } else { (1 << count) - 1 };
        let first = self.first % LISTS;
        // A word rotated to the left: the second part is empty where nothing leaves the word.
        bits << first | bits >> 1 >> (LISTS - 1 - first)
    }
}

/// A shard that this thread alone accesses.
pub(super) struct Locked<'a, M> {
    shard: NonNull<Shard<M>>,
    /// The word that is set to 0 to release the shard: its lock, or the cell of its owner.
    word: NonNull<AtomicUsize>,
    borrowed: PhantomData<&'a Shard<M>>,
}

impl<M> Locked<'_, M> {
    /// Locks a shard that has no owner, unless another thread holds its lock.
    ///
    /// # Safety
    ///
    /// The shard is live until it is released.
    #[inline(always)]
    pub(super) unsafe fn try_new(shard: NonNull<Shard<M>>) -> Option<Self> {
        // SAFETY: the shard is live (caller), and the field is an atomic.
        let lock = unsafe { &(*shard.as_ptr()).lock };
        if lock.swap(LOCKED, Ordering::Acquire) != 0 {
            return None;
        }
        Some(Self { shard, word: NonNull::from(lock), borrowed: PhantomData })
    }

    /// Locks a shard that has no owner. Waits while another thread holds its lock.
    ///
    /// # Safety
    ///
    /// Same as for [`try_new`](Self::try_new).
    pub(super) unsafe fn wait(shard: NonNull<Shard<M>>) -> Self {
        loop {
            // SAFETY: the caller's promise.
            if let Some(locked) = unsafe { Self::try_new(shard) } {
                return locked;
            }
            // SAFETY: the shard is live (caller).
            while unsafe { &(*shard.as_ptr()).lock }.load(Ordering::Relaxed) != 0 {
                hint::spin_loop();
            }
        }
    }

    #[inline(always)]
    fn shard(&self) -> &Shard<M> {
        // SAFETY: live until it is released (`try_new`).
        unsafe { self.shard.as_ref() }
    }

    #[inline(always)]
    fn body(&mut self) -> &mut Body<M> {
        // SAFETY: this thread alone accesses the shard, and `self` is borrowed exclusively (invariant 1).
        unsafe { &mut *self.shard().body.get() }
    }

    /// Counts an array of `bytes` bytes as taken.
    #[inline(always)]
    pub(super) fn note_taken(&mut self, bytes: usize) {
        step(&self.shard().arrays, 1);
        step(&self.shard().bytes, bytes);
    }

    /// Counts an array of `bytes` bytes as returned.
    #[inline(always)]
    pub(super) fn note_returned(&mut self, bytes: usize) {
        step(&self.shard().arrays, 1_usize.wrapping_neg());
        step(&self.shard().bytes, bytes.wrapping_neg());
    }

    /// Returns `true` if the shard keeps no further block. A shard of a closed pool keeps none.
    #[inline(always)]
    pub(super) fn is_full(&mut self) -> bool {
        let body = self.body();
        body.blocks >= body.most
    }

    /// Closes the shard: blocks that are returned from now on are not kept.
    pub(super) fn close(&mut self) {
        self.body().most = 0;
    }

    /// Adds an idle block.
    #[inline(always)]
    pub(super) fn push(&mut self, mut record: Box<Record<M>>) {
        let list = record.class % LISTS;
        let body = self.body();
        let head = &mut body.lists[list];
        // Nothing is dropped here: a record in no list has no next one, and its place was emptied by the exchange.
        mem::swap(&mut record.next, head);
        mem::forget(head.replace(record));
        body.blocks += 1;
        let occupied = &self.shard().occupied;
        occupied.store(occupied.load(Ordering::Relaxed) | 1 << list, Ordering::Relaxed);
    }

    /// Takes the block that was last added to the list of a class, if it is of this class.
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

    /// Takes an idle block of the lowest of the classes that has one.
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

    /// Takes an idle block of any class.
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

/// Magazines.
#[cfg(feature = "std")]
impl<M> Locked<'_, M> {
    /// Uses a magazine of the calling thread, unless another thread has locked it or owns it by now.
    ///
    /// # Safety
    ///
    /// The magazine is live until it is released, the cell is the calling thread's own, and the thread uses no other
    /// magazine.
    #[inline(always)]
    pub(super) unsafe fn try_own(
        magazine: NonNull<Shard<M>>,
        cell: &'static ThreadCell,
    ) -> Option<Self> {
        cell.in_use.store(magazine.addr().get(), Ordering::Relaxed);
        // With the barrier of the thread that locks: either this thread sees the lock, or that one sees the address.
        compiler_fence(Ordering::SeqCst);
        let locked =
            Self { shard: magazine, word: NonNull::from(&cell.in_use), borrowed: PhantomData };
        let shard = locked.shard();
        let is_free = shard.lock.load(Ordering::Acquire) == 0;
        // If it is not, the drop of `locked` takes the address out of the cell.
        (is_free && core::ptr::eq(shard.owner.load(Ordering::Relaxed), cell)).then_some(locked)
    }

    /// Locks a magazine, and waits until its owner does not use it. Returns `None` if there is no barrier.
    ///
    /// # Safety
    ///
    /// Same as for [`try_new`](Self::try_new), and the calling thread uses no magazine. `barrier` executes a full
    /// memory barrier on each thread of the process, or returns `false`.
    pub(super) unsafe fn wait_for_magazine(
        magazine: NonNull<Shard<M>>,
        barrier: impl FnOnce() -> bool,
    ) -> Option<Self> {
        // SAFETY: the caller's promise.
        let locked = unsafe { Self::wait(magazine) };
        // SAFETY: cells are never freed; the owner changes under the lock, which this thread holds.
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

    /// Makes a thread the owner of a magazine that has none, or whose owner is that thread already.
    ///
    /// # Safety
    ///
    /// Same as for [`try_new`](Self::try_new); the cell is the calling thread's own.
    pub(super) unsafe fn claim(magazine: NonNull<Shard<M>>, cell: &'static ThreadCell) -> bool {
        // SAFETY: the shard is live (caller). This read does not lock another thread's magazine.
        let owner = unsafe { &(*magazine.as_ptr()).owner };
        let is_own = |owner: *mut ThreadCell| owner.is_null() || core::ptr::eq(owner, cell);
        if !is_own(owner.load(Ordering::Relaxed)) {
            return false;
        }
        // SAFETY: the caller's promise.
        let Some(locked) = (unsafe { Self::try_new(magazine) }) else { return false };
        let owner = &locked.shard().owner;
        if !is_own(owner.load(Ordering::Relaxed)) {
            return false;
        }
        owner.store(core::ptr::from_ref(cell).cast_mut(), Ordering::Relaxed);
        true
    }
}

/// Releases the shard, which is not accessed afterwards (invariant 3).
impl<M> Drop for Locked<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the word is in a cell, which is never freed, or in the shard, which is live until it is released. The
        // reference is to an atomic alone.
        unsafe { self.word.as_ref() }.store(0, Ordering::Release);
    }
}

/// Takes a record out of its list.
#[inline(always)]
fn unlink<M>(place: &mut Option<Box<Record<M>>>) -> Option<Box<Record<M>>> {
    let mut record = place.take()?;
    mem::swap(place, &mut record.next);
    Some(record)
}

/// Adds to a counter that only the caller writes.
#[inline(always)]
fn step(counter: &AtomicUsize, by: usize) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

impl<M> fmt::Debug for Shard<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard").field("balance", &self.balance()).finish_non_exhaustive()
    }
}

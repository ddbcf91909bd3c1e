//! A model of the shards of shared pools (`pool_core`, module `shared`). It covers the magazine of
//! an owner, which others lock by a barrier, and the end of a store whose arrays are returned while
//! its last handle is dropped.

use loom::cell::UnsafeCell;
use loom::hint;
use loom::sync::atomic::{AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// The steps of the protocol of magazines.
#[derive(Clone, Copy)]
struct Magazines {
    /// The two halves of the barrier on all threads: the owner's, which costs nothing in released
    /// code, and that of the thread that locks.
    owner_fence: bool,
    barrier: bool,
    /// The thread that locks waits until the owner does not use the magazine.
    waits_for_owner: bool,
    /// The owner releases the magazine by a store that releases.
    owner_releases: bool,
    /// The owner checks the lock after it has recorded the magazine in its cell.
    looks_after_note: bool,
}

const SHIPPED: Magazines = Magazines {
    owner_fence: true,
    barrier: true,
    waits_for_owner: true,
    owner_releases: true,
    looks_after_note: true,
};

/// A magazine, and the cell of its owner.
struct Magazine {
    lock: AtomicUsize,
    in_use: AtomicUsize,
    /// Each access of the magazine's body adds one.
    body: UnsafeCell<usize>,
}

impl Magazine {
    fn new() -> Self {
        Self { lock: AtomicUsize::new(0), in_use: AtomicUsize::new(0), body: UnsafeCell::new(0) }
    }

    /// `Locked::try_own`, an access, and the release.
    fn use_as_owner(&self, steps: Magazines) -> bool {
        let early = self.lock.load(Ordering::Acquire);
        self.in_use.store(1, Ordering::Relaxed);
        if steps.owner_fence {
            fence(Ordering::SeqCst);
        }
        let lock = if steps.looks_after_note { self.lock.load(Ordering::Acquire) } else { early };
        if lock == 0 {
            self.body.with_mut(|body| unsafe { *body += 1 });
        }
        let order = if steps.owner_releases { Ordering::Release } else { Ordering::Relaxed };
        self.in_use.store(0, order);
        lock == 0
    }

    /// `Locked::wait_for_magazine`, an access, and the release.
    fn use_as_other(&self, steps: Magazines) {
        while self.lock.swap(1, Ordering::Acquire) != 0 {
            thread::yield_now();
        }
        if steps.barrier {
            fence(Ordering::SeqCst);
        }
        while steps.waits_for_owner && self.in_use.load(Ordering::Acquire) != 0 {
            thread::yield_now();
            hint::spin_loop();
        }
        self.body.with_mut(|body| unsafe { *body += 1 });
        self.lock.store(0, Ordering::Release);
    }
}

fn magazines(steps: Magazines) {
    loom::model(move || {
        let magazine = Arc::new(Magazine::new());
        let owner = {
            let magazine = Arc::clone(&magazine);
            thread::spawn(move || (0..2).filter(|_| magazine.use_as_owner(steps)).count())
        };
        magazine.use_as_other(steps);
        let uses = owner.join().unwrap();
        magazine.body.with(|body| assert_eq!(unsafe { *body }, uses + 1));
    });
}

#[test]
fn a_magazine_is_used_by_one_thread_at_a_time() {
    magazines(SHIPPED);
}

#[test]
#[should_panic]
fn without_the_owners_fence_two_threads_use_a_magazine() {
    magazines(Magazines { owner_fence: false, ..SHIPPED });
}

#[test]
#[should_panic]
fn without_the_barrier_two_threads_use_a_magazine() {
    magazines(Magazines { barrier: false, ..SHIPPED });
}

#[test]
#[should_panic]
fn without_waiting_two_threads_use_a_magazine() {
    magazines(Magazines { waits_for_owner: false, ..SHIPPED });
}

#[test]
#[should_panic]
fn without_a_release_the_owners_writes_are_not_seen() {
    magazines(Magazines { owner_releases: false, ..SHIPPED });
}

#[test]
#[should_panic]
fn a_look_before_the_note_is_too_early() {
    magazines(Magazines { looks_after_note: false, ..SHIPPED });
}

/// The steps by which a store ends.
#[derive(Clone, Copy)]
struct Ending {
    /// The number of live arrays is stored before the locks are released.
    sum_under_locks: bool,
    /// All locks are held while the arrays are counted.
    all_locks: bool,
    /// The thread that closes counts, too.
    closer_counts: bool,
}

const ENDING: Ending = Ending { sum_under_locks: true, all_locks: true, closer_counts: true };

/// Two common shards, and a simplified store. Their locks are loom's, which wait without spinning.
struct Store {
    /// The number of live arrays, and `true` if the shard is closed.
    shards: [Mutex<(usize, bool)>; 2],
    remaining: AtomicUsize,
    /// Set when the store is freed; any access before is a read.
    memory: UnsafeCell<bool>,
    freed: AtomicUsize,
}

impl Store {
    fn leave(&self) {
        self.memory.with(|memory| assert!(!unsafe { *memory }, "used after it was freed"));
        if self.remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.memory.with_mut(|memory| unsafe { *memory = true });
            self.freed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns an array, to a shard that need not be the one that counted it.
    fn give_back(&self, shard: usize) {
        let mut locked = self.shards[shard].lock().unwrap();
        locked.0 = locked.0.wrapping_sub(1);
        let is_closed = locked.1;
        drop(locked);
        if is_closed {
            self.leave();
        }
    }

    fn close(&self, steps: Ending) {
        let (mut sum, mut held) = (usize::from(steps.closer_counts), Vec::new());
        for shard in &self.shards {
            let mut locked = shard.lock().unwrap();
            locked.1 = true;
            sum = sum.wrapping_add(locked.0);
            held.extend(steps.all_locks.then_some(locked));
        }
        if steps.sum_under_locks {
            self.remaining.store(sum, Ordering::Relaxed);
        }
        drop(held);
        if !steps.sum_under_locks {
            self.remaining.store(sum, Ordering::Relaxed);
        }
        if steps.closer_counts {
            self.leave();
        }
    }
}

fn ending(steps: Ending) {
    loom::model(move || {
        let store = Arc::new(Store {
            shards: [Mutex::new((2, false)), Mutex::new((0, false))],
            remaining: AtomicUsize::new(0),
            memory: UnsafeCell::new(false),
            freed: AtomicUsize::new(0),
        });
        let returned = [1, 0].map(|shard| {
            let store = Arc::clone(&store);
            thread::spawn(move || store.give_back(shard))
        });
        store.close(steps);
        returned.into_iter().for_each(|returned| returned.join().unwrap());
        assert_eq!(store.freed.load(Ordering::Relaxed), 1, "freed once");
    });
}

#[test]
fn the_last_array_or_handle_frees_the_store_once() {
    ending(ENDING);
}

#[test]
#[should_panic]
fn a_sum_that_is_stored_too_late_is_wrong() {
    ending(Ending { sum_under_locks: false, ..ENDING });
}

#[test]
#[should_panic]
fn a_sum_of_shards_that_are_not_all_locked_is_wrong() {
    ending(Ending { all_locks: false, sum_under_locks: false, ..ENDING });
}

#[test]
#[should_panic]
fn a_closer_that_does_not_count_forgets_the_store() {
    ending(Ending { closer_counts: false, ..ENDING });
}

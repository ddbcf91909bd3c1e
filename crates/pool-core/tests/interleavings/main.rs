//! A model of the protocol of `pool_core::thread_list`. Loom tries every order of two threads and
//! every value that a relaxed load may return: `RUSTFLAGS="--cfg loom" cargo test --release -p
//! pool-core --test interleavings`. Without that flag this file is empty.
//!
//! The barrier on all threads is modelled by a sequentially consistent fence on either side. The
//! owner has none in released code: there the barrier executes it for the owner, at some moment.
//! The model shows the requirements of the protocol, and that each of its steps is necessary.

#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests: a check that fails panics")]

mod shared_pools;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering, fence};
use loom::thread;

/// A head that leads to no entry.
const NONE: usize = usize::MAX;

/// The steps of the protocol.
#[derive(Clone, Copy)]
struct Protocol {
    /// The fence between the owner's store of the head and its load of the pool: the barrier.
    owner_fence: bool,
    /// The barrier of the thread that releases.
    barrier: bool,
    /// The pool is dropped only if the second walk finds the entry.
    second_walk: bool,
    /// The owner loads the pool after it has stored the head.
    pool_after_head: bool,
    /// The store that puts an entry back releases.
    put_releases: bool,
    /// The store that takes an entry releases.
    take_releases: bool,
}

const SHIPPED: Protocol = Protocol {
    owner_fence: true,
    barrier: true,
    second_walk: true,
    pool_after_head: true,
    put_releases: true,
    take_releases: true,
};

struct Entry {
    next: AtomicUsize,
    /// The number of the entry's pool.
    pool: AtomicUsize,
}

/// A list of two entries, with pools 0 and 1, which are replaced by 2 and 3.
struct World {
    head: AtomicUsize,
    entries: [Entry; 2],
    /// The contents of the pools: a use and a drop are exclusive accesses.
    pools: [UnsafeCell<u32>; 4],
}

impl World {
    fn new() -> Self {
        let entry =
            |next, pool| Entry { next: AtomicUsize::new(next), pool: AtomicUsize::new(pool) };
        Self {
            head: AtomicUsize::new(0),
            entries: [entry(1, 0), entry(NONE, 1)],
            pools: std::array::from_fn(|_| UnsafeCell::new(0)),
        }
    }

    /// Takes an entry and uses its pool.
    fn take(&self, protocol: Protocol) -> Option<usize> {
        let entry = self.head.load(Ordering::Relaxed);
        let Entry { next, pool } = self.entries.get(entry)?;
        let early = pool.load(Ordering::Acquire);
        let order = if protocol.take_releases { Ordering::Release } else { Ordering::Relaxed };
        self.head.store(next.load(Ordering::Relaxed), order);
        if protocol.owner_fence {
            fence(Ordering::SeqCst);
        }
        let pool = if protocol.pool_after_head { pool.load(Ordering::Acquire) } else { early };
        self.pools[pool].with_mut(|content| {
            // SAFETY: loom panics if another access is not ordered with this one.
            unsafe { *content += 1 };
        });
        Some(entry)
    }

    fn put(&self, protocol: Protocol, entry: usize) {
        let link = &self.entries[entry].next;
        let head = self.head.load(Ordering::Relaxed);
        if link.load(Ordering::Relaxed) != head {
            link.store(head, Ordering::Release);
        }
        let order = if protocol.put_releases { Ordering::Release } else { Ordering::Relaxed };
        self.head.store(entry, order);
    }

    /// The entries that a walk meets.
    fn walk(&self) -> Vec<usize> {
        let mut met = Vec::new();
        let mut next = self.head.load(Ordering::Acquire);
        while let Some(entry) = self.entries.get(next).filter(|_| met.len() < 2) {
            met.push(next);
            next = entry.next.load(Ordering::Acquire);
        }
        met
    }

    /// Releases idle pools, as another thread does. Returns the number of dropped pools.
    fn release(&self, protocol: Protocol) -> usize {
        let mut retired = [false; 2];
        for entry in self.walk() {
            if !std::mem::replace(&mut retired[entry], true) {
                assert_eq!(self.entries[entry].pool.swap(entry + 2, Ordering::AcqRel), entry);
            }
        }
        if protocol.barrier {
            fence(Ordering::SeqCst);
        }
        let met = if protocol.second_walk { self.walk() } else { vec![0, 1] };
        let mut dropped = 0;
        for entry in met {
            if std::mem::take(&mut retired[entry]) {
                self.pools[entry].with_mut(|content| {
                    // SAFETY: as in `take`.
                    unsafe { *content = u32::MAX };
                });
                dropped += 1;
            }
        }
        dropped
    }
}

/// The owner takes and returns a pool, then two of them, which return in the given order.
fn check(protocol: Protocol, out_of_order: bool) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(move || {
        let world = Arc::new(World::new());
        let owner = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                let first = world.take(protocol).unwrap();
                if out_of_order {
                    let second = world.take(protocol).unwrap();
                    world.put(protocol, first);
                    world.put(protocol, second);
                } else {
                    world.put(protocol, first);
                }
                let again = world.take(protocol).unwrap();
                world.put(protocol, again);
            })
        };
        world.release(protocol);
        owner.join().unwrap();
    });
}

#[test]
fn the_protocol_keeps_pools_apart() {
    check(SHIPPED, false);
    check(SHIPPED, true);
}

/// In some order, pools are really released.
#[test]
fn idle_pools_are_dropped() {
    loom::model(|| {
        let world = Arc::new(World::new());
        let owner = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                let entry = world.take(SHIPPED).unwrap();
                world.put(SHIPPED, entry);
            })
        };
        owner.join().unwrap();
        assert_eq!(world.release(SHIPPED), 2);
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn without_the_barrier_it_fails() {
    check(Protocol { barrier: false, ..SHIPPED }, false);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn without_the_barrier_at_the_owner_it_fails() {
    check(Protocol { owner_fence: false, ..SHIPPED }, false);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn without_the_second_walk_it_fails() {
    check(Protocol { second_walk: false, ..SHIPPED }, false);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn with_the_pool_loaded_before_the_head_is_stored_it_fails() {
    check(Protocol { pool_after_head: false, ..SHIPPED }, false);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn without_the_release_of_the_take_it_fails() {
    check(Protocol { take_releases: false, ..SHIPPED }, true);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn without_the_release_of_the_put_it_fails() {
    check(Protocol { put_releases: false, ..SHIPPED }, false);
}

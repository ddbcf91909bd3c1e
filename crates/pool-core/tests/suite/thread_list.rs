//! The list whose idle pools other threads release. The owner's steps run at the points where
//! another thread could interfere: in the barrier, between the replacement of a pool and the walk
//! that decides its owner.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

use pool_conformance::{HeapBackend, Ledger};
use pool_core::thread_list::{HeldPool, ThreadList, ThreadLists, ThreadRecord};
use pool_core::{Device, Pool, PoolConfig, PoolStats};

/// A thread with its list, and the registry.
struct Thread {
    ledger: Ledger,
    list: Rc<ThreadList<HeapBackend>>,
    record: NonNull<ThreadRecord<HeapBackend>>,
    registry: RefCell<ThreadLists<HeapBackend>>,
}

impl Thread {
    fn new() -> Self {
        let list = Rc::new(ThreadList::new());
        let record = ThreadRecord::new(&list, PoolConfig::new().name("thread")).unwrap();
        let mut registry = ThreadLists::new();
        // SAFETY: a new record, whose list is at its address until `drop` has removed the record.
        unsafe { registry.add(record) };
        Self { ledger: Ledger::new(), list, record, registry: RefCell::new(registry) }
    }

    /// A pool of the thread with a block of 100 numbers, held.
    fn make(&self) -> HeldPool<HeapBackend> {
        let config = PoolConfig::new().name("thread");
        let mut held =
            HeldPool::new(Pool::with_config(self.ledger.clone(), config).unwrap()).unwrap();
        // SAFETY: a new entry, which is put into this thread's list alone.
        unsafe { self.registry.borrow_mut().add_entry(self.record, &held) };
        fill(&mut held, 1);
        held
    }

    /// Acts as another thread's `trim_all`, with `barrier` as its barrier. Returns the number of
    /// released pools, and `true` if no idle pool was left.
    fn release(&self, barrier: impl FnOnce() -> bool) -> (usize, bool) {
        let mut spares: Vec<_> = (0..4).map(|_| Pool::new(self.ledger.clone())).collect();
        let mut released = Vec::with_capacity(4);
        let mut registry = self.registry.borrow_mut();
        // SAFETY: the list is at its address. There is one thread, so each of its steps is visible
        // to the next.
        let complete = unsafe { registry.release(&mut spares, &mut released, barrier) };
        (released.len(), complete)
    }

    fn for_each(&self, f: impl FnMut(&mut HeldPool<HeapBackend>)) {
        // SAFETY: no test replaces its argument.
        unsafe { self.list.for_each(f) };
    }

    fn stats(&self) -> PoolStats {
        let none = PoolStats::none("all", Device { kind: "heap", ordinal: None });
        self.registry.borrow().stats(none)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: the record is in the registry.
        unsafe { self.registry.get_mut().remove(self.record) };
        // SAFETY: it was just removed.
        unsafe { ThreadRecord::free(self.record) };
        // SAFETY: as above.
        unsafe { self.list.close() };
        assert!(self.ledger.live_blocks() == 0, "everything is freed where the thread ends");
    }
}

fn fill(held: &mut HeldPool<HeapBackend>, value: u64) {
    assert_eq!(held.scope().acquire_filled(100, value), [value; 100]);
}

#[test]
fn idle_pools_are_replaced_and_held_ones_stay() {
    let thread = Thread::new();
    let (idle, mut held) = (thread.make(), thread.make());
    thread.list.put(idle);
    let scope = held.scope();
    let view = scope.acquire_filled(100, 7_u64);
    assert_eq!(thread.release(|| true), (1, true));
    assert_eq!(view, [7; 100]);
    assert_eq!(thread.ledger.live_blocks(), 1, "the block of the view");
    thread.list.put(held);
    assert_eq!(thread.release(|| true), (1, true));
    assert_eq!(thread.ledger.live_blocks(), 0);
    assert_eq!(thread.release(|| true), (0, true), "there is nothing left");
    let again: Vec<_> = std::iter::from_fn(|| thread.list.take()).collect();
    assert_eq!(again.len(), 2);
    for mut held in again {
        fill(&mut held, 2);
        thread.list.put(held);
    }
}

/// The owner takes a pool after it was replaced and before the walk. It may use either pool, so
/// neither is dropped until a walk finds the entry in the list.
#[test]
fn taken_before_the_walk_is_not_released() {
    let thread = Thread::new();
    thread.list.put(thread.make());
    let taken = RefCell::new(None);
    let released = thread.release(|| {
        let mut held = thread.list.take().unwrap();
        fill(&mut held, 5);
        *taken.borrow_mut() = Some(held);
        true
    });
    assert_eq!(released, (0, true));
    assert_eq!(thread.ledger.live_blocks(), 2, "the old pool's block, and the new pool's");
    let mut held = taken.into_inner().unwrap();
    let scope = held.scope();
    let view = scope.acquire::<u64, _>(100);
    assert_eq!(thread.release(|| true), (0, true), "still held");
    assert_eq!(view, [5; 100]);
    thread.list.put(held);
    // The pool that was replaced before goes now, the one that has taken its place by the next call.
    assert_eq!(thread.release(|| true), (1, false));
    assert_eq!(thread.release(|| true), (1, true));
    assert_eq!(thread.ledger.live_blocks(), 0);
}

/// The same, but the owner has put the pool back before the walk.
#[test]
fn taken_and_returned_before_the_walk_is_released() {
    let thread = Thread::new();
    thread.list.put(thread.make());
    let released = thread.release(|| {
        let mut held = thread.list.take().unwrap();
        fill(&mut held, 5);
        assert!(thread.list.put_back(held).is_none());
        true
    });
    assert_eq!(released, (1, true));
    let mut held = thread.list.take().unwrap();
    // The new pool has the values that the owner wrote.
    assert_eq!(held.scope().acquire::<u64, _>(100), [5; 100]);
    thread.list.put(held);
}

/// Entries return in another order before the walk, which then reads other links than before.
#[test]
fn reordered_before_the_walk() {
    let thread = Thread::new();
    let held: Vec<_> = (0..3).map(|_| thread.make()).collect();
    held.into_iter().for_each(|held| thread.list.put(held));
    let released = thread.release(|| {
        let mut held: Vec<_> = (0..3).map(|_| thread.list.take().unwrap()).collect();
        for (number, held) in (1..).zip(&mut held) {
            fill(held, number);
        }
        held.rotate_left(1);
        held.into_iter().for_each(|held| thread.list.put(held));
        true
    });
    assert_eq!(released, (3, true));
    let mut contents = Vec::new();
    thread.for_each(|held| contents.push(held.scope().acquire::<u64, _>(100)[99]));
    assert_eq!(contents, [1, 3, 2]);
}

/// While the owner visits its idle pools, none of them is in the list.
#[test]
fn pools_that_are_visited_stay() {
    let thread = Thread::new();
    let (one, two) = (thread.make(), thread.make());
    thread.list.put(one);
    thread.list.put(two);
    let mut visited = 0;
    thread.for_each(|held| {
        visited += 1;
        let scope = held.scope();
        let view = scope.acquire_filled(100, 9_u64);
        assert_eq!(thread.release(|| true), (0, true));
        assert_eq!(view, [9; 100]);
    });
    assert_eq!(visited, 2);
    assert_eq!(thread.release(|| true), (2, true));
}

/// Pools put into the list during a visit follow those that are visited.
#[test]
fn pools_that_are_put_during_a_visit_come_after() {
    let thread = Thread::new();
    let (one, two) = (thread.make(), thread.make());
    let mut three = Some(thread.make());
    thread.list.put(one);
    thread.list.put(two);
    let mut number = 10;
    thread.for_each(|held| {
        number -= 1;
        fill(held, number);
        if let Some(three) = three.take() {
            assert!(thread.list.take().is_none(), "the visited pools are out of the list");
            thread.list.put(three);
        }
    });
    let mut contents = Vec::new();
    thread.for_each(|held| contents.push(held.scope().acquire::<u64, _>(100)[0]));
    assert_eq!(contents, [9, 8, 1]);
    assert_eq!(thread.release(|| true), (3, true));
}

/// A barrier that the system refuses after the replacement: nothing is released, and nothing is lost.
#[test]
fn refused_barrier_releases_nothing() {
    let thread = Thread::new();
    thread.list.put(thread.make());
    assert_eq!(thread.release(|| false), (0, false));
    assert_eq!(thread.ledger.live_blocks(), 1);
    assert_eq!(thread.release(|| true), (1, true), "the pool that was replaced then");
}

/// The thread ends with a pool that was replaced and not dropped, idle and held.
#[test]
fn replaced_pools_go_with_their_thread() {
    for put_first in [true, false] {
        let thread = Thread::new();
        thread.list.put(thread.make());
        let taken = RefCell::new(None);
        thread.release(|| {
            *taken.borrow_mut() = thread.list.take();
            true
        });
        let mut held = taken.into_inner().unwrap();
        fill(&mut held, 3);
        if put_first {
            thread.list.put(held);
            continue;
        }
        // SAFETY: the record is in the registry, and is added again below.
        unsafe { thread.registry.borrow_mut().remove(thread.record) };
        // SAFETY: just removed.
        unsafe { thread.list.close() };
        assert_eq!(held.scope().acquire::<u64, _>(100), [3; 100]);
        thread.list.put(held);
        assert!(thread.ledger.live_blocks() == 0);
        // SAFETY: as in `new`; the record's entries are freed, and `drop` removes it without
        // reading them.
        unsafe { thread.registry.borrow_mut().add(thread.record) };
    }
}

#[test]
fn numbers_go_on_when_a_pool_is_replaced() {
    let thread = Thread::new();
    thread.list.put(thread.make());
    let before = thread.stats();
    assert_eq!((before.pools, before.growths, before.high_water_slots), (1, 1, 1));
    assert!(before.reserved_bytes >= 800 && before.bookkeeping_bytes > 0);
    assert_eq!(thread.release(|| true), (1, true));
    let after = thread.stats();
    assert_eq!((after.pools, after.growths, after.reserved_bytes), (1, 1, 0));
    assert_eq!(after.peak_reserved_bytes, before.peak_reserved_bytes);
    let mut held = thread.list.take().unwrap();
    fill(&mut held, 1);
    assert_eq!((held.stats().growths, held.stats().high_water_slots), (2, 1));
    assert_eq!(held.stats().name, "thread", "the configuration of the thread");
    assert_eq!(thread.stats().growths, 2, "pools in use count, too");
    held.clear();
    assert_eq!(held.stats().peak_reserved_bytes, 0);
    thread.list.put(held);
}

/// Without enough new pools, or without a place for the old ones, some are left for the next call.
#[test]
fn too_few_spares_leave_pools_for_the_next_call() {
    let thread = Thread::new();
    let held: Vec<_> = (0..3).map(|_| thread.make()).collect();
    held.into_iter().for_each(|held| thread.list.put(held));
    let release = |spares: usize, places: usize| {
        let mut spares: Vec<_> = (0..spares).map(|_| Pool::new(thread.ledger.clone())).collect();
        let mut released = Vec::with_capacity(places);
        let mut registry = thread.registry.borrow_mut();
        // SAFETY: as in `Thread::release`.
        let complete = unsafe { registry.release(&mut spares, &mut released, || true) };
        (released.len(), complete)
    };
    // SAFETY: the list is at its address.
    let idle = || unsafe { thread.registry.borrow().count_idle() };
    assert_eq!((idle(), release(0, 4)), (3, (0, false)));
    assert_eq!((idle(), release(1, 4)), (3, (1, false)));
    assert_eq!((idle(), release(2, 1)), (2, (1, false)));
    assert_eq!((idle(), release(0, 1)), (1, (1, true)));
    assert_eq!(idle(), 0);
}

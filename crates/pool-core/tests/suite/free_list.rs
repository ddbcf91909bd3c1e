//! The list of idle pools: it owns exactly the pools in it, in any order of their return, and a
//! closed list drops them.

use std::rc::Rc;

use pool_conformance::{HeapBackend, Ledger};
use pool_core::{FreeList, Pool, PoolConfig};

use crate::backends::{Event, Logged, logged_pool, take_events};
use crate::counting::allocations_in;
use crate::support::{rounds, stamp};

fn named(ledger: &Ledger, name: &'static str) -> Pool<HeapBackend> {
    let mut pool = Pool::with_config(ledger.clone(), PoolConfig::new().name(name)).unwrap();
    stamp(pool.scope().acquire(10), 1);
    pool
}

fn taken_name(list: &FreeList<HeapBackend>) -> Option<&'static str> {
    let mut pool = list.take()?;
    // A pool from the list works.
    stamp(pool.scope().acquire(10), 2);
    Some(pool.stats().name)
}

#[test]
fn pools_returned_out_of_order() {
    let ledger = Ledger::new();
    let list = FreeList::<HeapBackend>::new();
    assert!(list.take().is_none());
    for name in ["a", "b", "c"] {
        list.put(named(&ledger, name));
    }
    let (c, b, a) = (list.take().unwrap(), list.take().unwrap(), list.take().unwrap());
    assert!(list.take().is_none());
    assert_eq!([&a, &b, &c].map(|pool| pool.stats().name), ["a", "b", "c"], "last in, first out");

    // The middle pool first, then the one that was taken last; one never returns.
    list.put(b);
    list.put(a);
    let taken = list.take().unwrap();
    list.put(c);
    list.put(taken);
    assert_eq!(ledger.live_blocks(), 3);
    assert_eq!(taken_name(&list), Some("a"));
    assert_eq!(ledger.live_blocks(), 2, "a taken pool is owned by who took it");
    assert_eq!(taken_name(&list), Some("c"));
    assert_eq!(taken_name(&list), Some("b"));
    assert_eq!(taken_name(&list), None);
    assert_eq!((ledger.live_blocks(), ledger.allocations()), (0, 3));
}

/// Pools are taken and put back in random orders, and compared with a list of their names. A pool that is put back at
/// its old place links to the same pool as before, after any operations in between.
#[test]
fn any_order_of_taking_and_putting_back_is_last_in_first_out() {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
    let ledger = Ledger::new();
    let list = FreeList::<HeapBackend>::new();
    let mut held: Vec<_> = NAMES.into_iter().map(|name| named(&ledger, name)).collect();
    let mut model: Vec<&str> = Vec::new();
    let mut random = fastrand::Rng::with_seed(1);
    let mut below = |end: usize| random.usize(..end);
    for step in 0..rounds(20_000, 120) {
        if below(2) == 0 || held.is_empty() {
            let taken = list.take();
            assert_eq!(taken.as_ref().map(|pool| pool.stats().name), model.pop(), "step {step}");
            held.extend(taken);
        } else {
            let pool = held.swap_remove(below(held.len()));
            model.push(pool.stats().name);
            if below(8) == 0 {
                list.put(pool);
            } else {
                // SAFETY: taken from this list or never in any; no pool is dropped in this loop.
                let not_next = unsafe { list.put_back(pool) };
                not_next.into_iter().for_each(|pool| list.put(pool));
            }
        }
        for pool in &mut held {
            pool.scope().acquire::<u64, _>(10)[step % 10] = 1;
        }
    }
    let out = held.len();
    list.close();
    assert_eq!((ledger.live_blocks(), out + model.len()), (out, NAMES.len()));
    // Pools outside the list link to dropped pools.
    for pool in held {
        // SAFETY: taken from this list; pools were dropped by the list alone.
        let not_next = unsafe { list.put_back(pool) };
        list.put(not_next.expect("a closed list takes no pool back"));
    }
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn closed_list_drops_what_is_in_it_and_what_comes_back() {
    let ledger = Ledger::new();
    let list = FreeList::<HeapBackend>::default();
    for name in ["a", "b", "c"] {
        list.put(named(&ledger, name));
    }
    let mut out = list.take().unwrap();
    assert!(!list.is_closed());
    list.close();
    assert!(list.is_closed());
    assert_eq!(ledger.live_blocks(), 1, "only the taken one is left, and it works");
    stamp(out.scope().acquire(20), 3);
    assert!(list.take().is_none());
    list.put(out);
    assert_eq!(ledger.live_blocks(), 0, "dropped on its return");
    assert!(list.take().is_none());
    list.close();
    list.put(named(&ledger, "late"));
    assert!(list.take().is_none());
    assert_eq!(ledger.live_blocks(), 0);
    assert_eq!(format!("{list:?}"), "FreeList { closed: true, .. }");
}

#[test]
fn taking_and_putting_allocates_nothing() {
    let ledger = Ledger::new();
    let list = FreeList::<HeapBackend>::new();
    list.put(named(&ledger, "a"));
    list.put(named(&ledger, "b"));
    let host = allocations_in(|| {
        for _ in 0..10 {
            let (mut outer, inner) = (list.take().unwrap(), list.take().unwrap());
            outer.scope().acquire::<u64, _>(10);
            list.put(outer);
            list.put(inner);
        }
    });
    assert_eq!(host, 0);
    list.close();
}

#[test]
fn dropping_an_open_list_drops_nothing() {
    let ledger = Ledger::new();
    let list = FreeList::<HeapBackend>::new();
    list.put(named(&ledger, "a"));
    let pool = list.take().unwrap();
    drop(list);
    assert_eq!(ledger.live_blocks(), 1);
    drop(pool);
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn a_free_that_comes_back_to_the_list_while_it_closes() {
    let list = Rc::new(FreeList::<Logged>::new());
    let (mut first, switches) = logged_pool(PoolConfig::new());
    first.scope().acquire::<u64, _>(10);
    let (mut second, _) = logged_pool(PoolConfig::new());
    second.scope().acquire::<u64, _>(10);
    list.put(second);
    list.put(first);
    let inside = Rc::clone(&list);
    *switches.in_free.borrow_mut() = Some(Rc::new(move || {
        assert!(inside.take().is_none(), "closed before anything is dropped");
        inside.put(logged_pool(PoolConfig::new()).0);
        inside.close();
    }));
    list.close();
    assert!(list.is_closed());
    let ended = take_events().iter().filter(|&&event| event == Event::ContextDropped).count();
    assert_eq!(ended, 3, "the two that were in it and the one that came meanwhile");
    *switches.in_free.borrow_mut() = None;
}

#[test]
fn a_choice_that_panics_loses_no_pool() {
    let list = FreeList::<HeapBackend>::new();
    for _ in 0..3 {
        list.put(named(&Ledger::new(), "one"));
    }
    for calls in 1..=4 {
        let left = std::cell::Cell::new(calls);
        let choose = || {
            list.take_where(|_| {
                left.set(left.get() - 1);
                assert!(left.get() > 0, "the choice panics");
                false
            })
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(choose)).is_err());
        let mut pools = 0;
        list.for_each(|_| pools += 1);
        assert_eq!(pools, 3);
    }
    assert!(list.take_where(|_| true).is_some());
    list.clear();
    assert!(list.take().is_none());
}

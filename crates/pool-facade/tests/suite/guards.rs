//! Guards as owners: for any order of their return, and even without it, no two of them ever have
//! the same pool.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pool_facade::prelude::*;

use crate::support::{blocks_in_order, first_block, forget, idle_pools, leak, on_fresh_thread};

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[test]
fn guards_returned_out_of_order() {
    on_fresh_thread(|| {
        for order in ORDERS {
            let mut guards = [0, 1, 2].map(|_| Some(local::<Cpu>()));
            let blocks = guards.each_mut().map(|guard| first_block(guard.as_mut().unwrap()));
            assert_eq!(blocks.iter().collect::<BTreeSet<_>>().len(), 3, "three pools");
            for i in order {
                guards[i] = None;
            }
            // Last in, first out.
            let expected: Vec<usize> = order.iter().rev().map(|&i| blocks[i]).collect();
            assert_eq!((idle_pools(), blocks_in_order()), (3, expected), "{order:?}");
        }
    });
}

/// Between the first return and the last, other guards take idle pools, and every scope keeps its
/// data.
#[test]
fn guards_returned_out_of_order_while_scopes_are_open() {
    on_fresh_thread(|| {
        for order in ORDERS {
            let mut guards = [0_u64, 1, 2].map(|value| (value, local::<Cpu>()));
            let views = guards.each_mut().map(|(value, guard)| {
                let mut scope = guard.scope();
                scope.scope().acquire_filled(100, u64::MAX);
                (*value, scope.acquire_filled(50, *value))
            });
            for (value, view) in views {
                assert!(view.iter().all(|element| element == &value));
            }
            let mut guards = guards.map(Some);
            for i in order {
                guards[i] = None;
                with_pool!(|scope| {
                    scope.acquire_filled(50, 99_u64);
                });
                for (value, guard) in guards.iter_mut().flatten() {
                    let kept = guard.scope();
                    assert_eq!(kept.acquire::<u64, _>(50), [*value; 50], "recycled by no one else");
                }
            }
            // The pools that came back hold 99 now: write them as the next round expects nothing.
            assert_eq!(idle_pools(), 3);
        }
    });
}

/// A guard is a value: in a box, a closure, a cell, returned from functions, dropped inside a scope
/// of another pool or inside a panic.
#[test]
fn guards_move_like_any_value() {
    fn pass(mut guard: pool_facade::LocalGuard<Cpu>) -> pool_facade::LocalGuard<Cpu> {
        guard.scope().acquire_filled(3, 1_u8);
        guard
    }
    on_fresh_thread(|| {
        let mut guard = pass(local());
        let block = first_block(&mut guard);
        let mut boxed = Box::new(guard);
        assert_eq!(first_block(&mut boxed), block);
        let cell = std::cell::RefCell::new(Some(*boxed));
        let in_closure = move || cell.take().map(pass);
        with_pool!(|scope| {
            let kept = scope.acquire_filled(10, 4_u8);
            let mut guard = in_closure().unwrap();
            assert_eq!(first_block(&mut guard), block);
            drop(guard);
            assert_eq!(first_block(&mut local()), block);
            assert_eq!(kept, [4; 10]);
        });
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _held = (local::<Cpu>(), local::<Cpu>());
            let _third = local::<Cpu>();
            resume_unwind(Box::new("on purpose"));
        }));
        assert!(panicked.is_err());
        assert_eq!(idle_pools(), 3);
    });
}

#[test]
fn guards_swap_their_pools() {
    on_fresh_thread(|| {
        let (mut left, mut right) = (local::<Cpu>(), local::<Cpu>());
        let blocks = (first_block(&mut left), first_block(&mut right));
        std::mem::swap(&mut left, &mut right);
        assert_eq!((first_block(&mut right), first_block(&mut left)), blocks);
        left = right;
        assert_eq!(first_block(&mut left), blocks.0);
        // The pool that `left` had is back, and it is the other one.
        assert_eq!(first_block(&mut local()), blocks.1);
    });
}

#[test]
fn guard_forgotten_leaks_only_its_pool() {
    on_fresh_thread(|| {
        let mut guards: Vec<_> = (0..3).map(|_| local::<Cpu>()).collect();
        let blocks: Vec<usize> = guards.iter_mut().map(first_block).collect();
        let forgotten = leak(guards.remove(1));
        let view = forgotten.scope().acquire_filled(1000, 3_u64);
        drop(guards);
        let left = blocks_in_order();
        assert_eq!(left.len(), 2);
        assert!(left.iter().all(|block| *block != blocks[1] && blocks.contains(block)));
        for _ in 0..10 {
            with_pool!(Cpu, Cpu, Cpu, |a, b, c| {
                a.acquire_filled(1000, 7_u64);
                b.acquire_filled(1000, 8_u64);
                c.acquire_filled(1000, 9_u64);
            });
        }
        assert_eq!(idle_pools(), 3, "the third was made anew");
        assert_eq!(view, [3; 1000]);
        local::<Cpu>().clear();
        assert_eq!(view, [3; 1000]);
    });
}

#[test]
#[expect(clippy::forget_non_drop, reason = "that there is nothing to forget is what is tested")]
fn scopes_forgotten_at_every_level() {
    on_fresh_thread(|| {
        for _ in 0..3 {
            with_pool!(|scope| {
                let kept = scope.acquire_filled(9, 1_u64);
                std::mem::forget(scope.scope());
                {
                    let mut inner = scope.scope();
                    inner.acquire_filled(9, 2_u64);
                    std::mem::forget(inner.scope());
                    std::mem::forget(inner);
                }
                let next = scope.acquire_filled(9, 3_u64);
                assert_eq!((kept[8], next[8], scope.active_slots()), (1, 3, 2));
                std::mem::forget(scope);
            });
        }
        let stats = local::<Cpu>().stats();
        assert_eq!((stats.pools, stats.growths, stats.high_water_slots), (1, 2, 2));
    });
}

/// Guards of pools that were made under another configuration return to the same list.
#[test]
fn a_forgotten_box_of_guards() {
    on_fresh_thread(|| {
        for count in 0..5 {
            let guards: Vec<_> = (0..count).map(|_| local::<Cpu>()).collect();
            forget(guards);
            with_pool!(|scope| {
                scope.acquire_filled(4, count);
            });
        }
        assert_eq!(idle_pools(), 1);
    });
}

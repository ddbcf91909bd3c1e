//! Values that repeat on every pass: the addresses, the number of slots, the number of pools.
//! Acceptance cases 9, 10 and 21.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pool_facade::prelude::*;

use crate::support::{blocks_in_order, idle_pools, on_fresh_thread};

/// A helper that needs no scope of its own.
fn normalised<'s>(scope: &Scope<'s, Cpu>, values: &[f64]) -> &'s mut [f64] {
    let sum: f64 = values.iter().sum();
    scope.acquire_with(values.len(), |i| values[i] / sum)
}

/// A helper that opens an inner scope.
fn largest(scope: &mut Scope<'_, Cpu>, values: &[f64]) -> f64 {
    let inner = scope.scope();
    let sorted = inner.acquire_from(values);
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() - 1]
}

/// A plain function between two scopes, generic over the backend.
fn spread<B: PoolBackend>(scope: &Scope<'_, B>, depth: usize) -> usize {
    let before = scope.active_slots();
    for length in 0..depth {
        scope.acquire_zeroed::<u8, _>(length);
    }
    scope.active_slots() - before
}

/// Acceptance case 9: scope, plain function, scope again; afterwards all is as before.
#[test]
fn scope_then_function_then_scope_restores_all() {
    on_fresh_thread(|| {
        with_pool!(|outer| {
            let values = outer.acquire_from(&[1.0, 3.0, 4.0]);
            for _ in 0..if cfg!(miri) { 5 } else { 100 } {
                let before = outer.active_slots();
                {
                    let mut middle = outer.scope();
                    let parts = normalised(&middle, values);
                    assert_eq!(parts, [0.125, 0.375, 0.5]);
                    assert_eq!(largest(&mut middle, parts), 0.5);
                    assert_eq!(spread(&middle, 5), 5);
                    assert_eq!(spread(&middle.scope(), 40), 40);
                    assert_eq!(middle.active_slots(), before + 6);
                }
                assert_eq!(outer.active_slots(), before);
                assert_eq!(values, [1.0, 3.0, 4.0]);
            }
        });
        let stats = local::<Cpu>().stats();
        assert_eq!((stats.active_slots, stats.pools, stats.high_water_slots), (0, 1, 47));
    });
}

/// Leaves the macro in one of five ways, from two levels inside.
fn leave(way: usize) -> Option<usize> {
    'leave: {
        with_pool!(|outer| {
            let kept = outer.acquire_filled(10, way);
            let mut inner = outer.scope();
            let value = with_pool!(|other| {
                let scratch = other.acquire_filled(10, usize::MAX);
                inner.scope().acquire_filled(5, 0_usize);
                match way {
                    0 => return Some(kept[9]),
                    1 => None?,
                    2 => break 'leave,
                    3 => resume_unwind(Box::new(way)),
                    _ => kept[0] + usize::from(scratch[0] == usize::MAX),
                }
            });
            return Some(value);
        });
    }
    Some(99)
}

/// Acceptance case 10: panic, early return, `?` and a break through two levels.
#[test]
fn every_way_out_restores_all() {
    on_fresh_thread(|| {
        assert_eq!(leave(4), Some(5));
        let blocks = blocks_in_order();
        for _ in 0..if cfg!(miri) { 3 } else { 10 } {
            for way in 0..5 {
                let left = catch_unwind(AssertUnwindSafe(|| leave(way)));
                let expected = [Some(0), None, Some(99), None, Some(5)][way];
                assert_eq!(left.is_err(), way == 3);
                assert_eq!(left.unwrap_or(None), expected, "way {way}");
                assert_eq!((idle_pools(), blocks_in_order()), (2, blocks.clone()), "way {way}");
            }
        }
    });
}

/// Acceptance case 21: one sequence, ten thousand times, with identical addresses.
#[test]
fn the_same_sequence_has_the_same_addresses() {
    fn sequence() -> Vec<usize> {
        let mut addresses = Vec::with_capacity(16);
        with_pool!(Cpu, Cpu, |left, right| {
            addresses.push(left.acquire::<f64, _>(100).as_ptr().addr());
            addresses.push(right.acquire::<f32, _>(33).as_ptr().addr());
            {
                let inner = left.scope();
                addresses.push(inner.acquire::<u8, _>([3, 5, 7]).as_slice().as_ptr().addr());
                addresses.push(inner.acquire::<u64, _>(&[2; 7][..]).as_slice().as_ptr().addr());
                addresses.push(inner.acquire::<u64, _>(0).as_ptr().addr());
            }
            addresses.push(left.acquire_zeroed::<bool, _>(1000).as_ptr().addr());
            with_pool!(|nested| {
                addresses.push(nested.acquire_filled(9, [1_u8; 3]).as_ptr().addr());
            });
            addresses.push(right.acquire_with(64, |i| i).as_ptr().addr());
        });
        addresses
    }
    on_fresh_thread(|| {
        sequence();
        let (first, before) = (sequence(), local::<Cpu>().stats());
        let passes = if cfg!(miri) { 10 } else { 10_000 };
        for pass in 0..passes {
            assert_eq!(sequence(), first, "pass {pass}");
        }
        let after = local::<Cpu>().stats();
        assert_eq!(after.growths, before.growths);
        assert_eq!((after.pools, after.reserved_bytes), (3, before.reserved_bytes));
    });
}

/// The same with guards instead of the macro, and with a `Pool` of your own.
#[test]
fn the_function_forms_repeat_as_well() {
    fn addresses(scope: &mut Scope<'_, Cpu>) -> [usize; 3] {
        let first = scope.acquire::<u32, _>(10).as_ptr().addr();
        let inner = scope.scope().acquire::<u32, _>(20).as_ptr().addr();
        [first, inner, scope.acquire::<u32, _>(15).as_ptr().addr()]
    }
    on_fresh_thread(|| {
        let mut own = Pool::<Cpu>::new(());
        let expected = (addresses(&mut own.scope()), addresses(&mut local::<Cpu>().scope()));
        assert_eq!(expected.0[1], expected.0[2], "the inner scope's slot is the outer's next");
        for _ in 0..if cfg!(miri) { 20 } else { 1000 } {
            let now = (addresses(&mut own.scope()), addresses(&mut local::<Cpu>().scope()));
            assert_eq!(now, expected);
        }
    });
}

/// Recursion through the macro takes a pool for each level, and each level keeps its data; a helper
/// that gets the scope takes none.
// It counts the pools of two threads.
#[test]
#[cfg(not(target_arch = "wasm32"))]
fn recursion_through_the_macro_costs_a_pool_a_level() {
    fn through_the_macro(depth: usize) -> usize {
        with_pool!(|scope| {
            let kept = scope.acquire_filled(8, depth);
            let below = if depth > 1 { through_the_macro(depth - 1) } else { 0 };
            assert_eq!(kept, [depth; 8]);
            below + kept[0]
        })
    }
    fn through_the_scope(scope: &mut Scope<'_, Cpu>, depth: usize) -> usize {
        let kept = scope.acquire_filled(8, depth);
        let below = if depth > 1 { through_the_scope(&mut scope.scope(), depth - 1) } else { 0 };
        assert_eq!(kept, [depth; 8]);
        below + kept[0]
    }
    let depth = if cfg!(miri) { 12 } else { 100 };
    on_fresh_thread(|| {
        for _ in 0..3 {
            assert_eq!(through_the_macro(depth), depth * (depth + 1) / 2);
            assert_eq!(idle_pools(), depth);
        }
    });
    on_fresh_thread(|| {
        for _ in 0..3 {
            with_pool!(|scope| {
                assert_eq!(through_the_scope(&mut scope, depth), depth * (depth + 1) / 2);
            });
        }
        let stats = local::<Cpu>().stats();
        assert_eq!(
            (stats.pools, stats.high_water_slots, usize::try_from(stats.growths).unwrap()),
            (1, depth, depth)
        );
    });
}

/// Several pools of one macro are closed in reverse order: the list then gives them out as before.
#[test]
fn several_pools_are_closed_in_reverse_order() {
    on_fresh_thread(|| {
        let mut passes = Vec::new();
        for pass in 0..6 {
            let blocks = with_pool!(Cpu, Cpu, Cpu, |first, second, third| {
                let views =
                    [first.acquire_filled(16, 1_u64), second.acquire(16), third.acquire(16)];
                views.map(|view| view.as_ptr().addr())
            });
            passes.push(blocks.to_vec());
            assert_eq!(blocks_in_order(), passes[0], "pass {pass}");
        }
        assert!(passes.iter().all(|blocks| *blocks == passes[0]));
        assert_eq!(idle_pools(), 3);
    });
}

//! The mistakes of the classic machine's counters: helpers that acquire a type of an outer scope,
//! panics that are caught half way, and every way to leave a scope early.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pool_conformance::HeapBackend;
use pool_core::Scope;

use crate::support::{address, assert_stamped, heap_pool, rounds, stamp};

#[test]
fn inner_helper_acquires_what_outer_holds_and_outer_again() {
    let (mut pool, _) = heap_pool();
    for _ in 0..3 {
        let mut outer = pool.scope();
        let held = outer.acquire::<u64, _>(10);
        stamp(held, 1);
        {
            // A scope that itself only uses `f32`, with a helper that acquires `u64`.
            let inner = outer.scope();
            inner.acquire_filled(10, 1.0_f32);
            stamp(inner.acquire(10), 2);
        }
        let again = outer.acquire::<u64, _>(10);
        stamp(again, 3);
        assert_ne!(address(held), address(again));
        assert_stamped(held, 1);
        assert_stamped(again, 3);
    }
}

#[test]
fn inner_panic_caught_in_middle_scope_leaves_outer_intact() {
    let (mut pool, _) = heap_pool();
    for _ in 0..3 {
        let mut outer = pool.scope();
        let held = outer.acquire::<u64, _>(10);
        stamp(held, 1);
        {
            let mut middle = outer.scope();
            let of_middle = middle.acquire::<u64, _>(4);
            stamp(of_middle, 2);
            // An inner scope moves by value into `catch_unwind`, without `AssertUnwindSafe`.
            let inner = middle.scope();
            let caught = catch_unwind(move || {
                inner.acquire_filled(10, 1.0_f32);
                stamp(inner.acquire(10), 3);
                assert_eq!(inner.active_slots(), 0, "there are four, so this panics");
            });
            assert!(caught.is_err());
            assert_eq!(middle.active_slots(), 2);
            assert_stamped(of_middle, 2);
        }
        assert_eq!(outer.active_slots(), 1);
        let again = outer.acquire::<u64, _>(10);
        stamp(again, 4);
        assert_stamped(held, 1);
        assert_stamped(again, 4);
    }
}

#[test]
fn counters_one_two_three_two_one_zero() {
    let (mut pool, _) = heap_pool();
    let mut first = pool.scope();
    first.acquire::<u8, _>(1);
    assert_eq!(first.active_slots(), 1);
    {
        let mut second = first.scope();
        second.acquire::<u16, _>(1);
        assert_eq!(second.active_slots(), 2);
        {
            let third = second.scope();
            third.acquire::<u32, _>(1);
            assert_eq!((third.active_slots(), third.stats().active_slots), (3, 3));
        }
        assert_eq!((second.active_slots(), second.stats().active_slots), (2, 2));
    }
    assert_eq!((first.active_slots(), first.stats().active_slots), (1, 1));
    assert_eq!(pool.stats().active_slots, 0);
    assert_eq!(pool.stats().high_water_slots, 3);
}

#[test]
fn value_written_before_a_scope_survives_any_acquire_in_it() {
    let (mut pool, _) = heap_pool();
    let mut outer = pool.scope();
    let value = outer.acquire::<u64, _>(16);
    stamp(value, 42);
    let flag = outer.acquire_filled(3, true);
    for size in [0, 1, 7, 8, 9, 100, rounds(5_000, 200)] {
        let inner = outer.scope();
        inner.acquire_filled::<u8, _>(size, 0xFF);
        inner.acquire_filled::<f32, _>(size, f32::NAN);
        inner.acquire_filled::<[u64; 3], _>(size, [u64::MAX; 3]);
        inner.acquire_filled([size, 2], -1.0_f64);
        inner.acquire_filled(&[size, 1, 2][..], u16::MAX);
        inner.trim();
        assert_stamped(value, 42);
        assert_eq!(flag, [true; 3]);
    }
}

/// The middle of a nest: uses the scope of its caller, without one of its own.
fn plain_function(scope: &mut Scope<'_, HeapBackend>) -> usize {
    scope.acquire_filled(6, 2_i64);
    scope.acquire_filled(6, 2.0_f32);
    {
        let third = scope.scope();
        third.acquire_filled(6, true);
        assert_eq!(third.active_slots(), 4);
    }
    scope.active_slots()
}

#[test]
fn scope_function_scope_restores_everything() {
    let (mut pool, ledger) = heap_pool();
    for _ in 0..3 {
        let mut first = pool.scope();
        let own = first.acquire::<u64, _>(6);
        stamp(own, 1);
        assert_eq!(plain_function(&mut first), 3, "the function's own acquires stay");
        assert_eq!(first.active_slots(), 3);
        assert_stamped(own, 1);
        drop(first);
        assert_eq!(pool.stats().active_slots, 0);
    }
    assert_eq!(ledger.allocations(), 4);
}

fn early_return(scope: &mut Scope<'_, HeapBackend>, at: usize) -> usize {
    let inner = scope.scope();
    for step in 0..10 {
        inner.acquire::<u64, _>(4);
        if step == at {
            return inner.active_slots();
        }
    }
    inner.active_slots()
}

fn question_mark(
    scope: &mut Scope<'_, HeapBackend>,
    text: &str,
) -> Result<usize, std::num::ParseIntError> {
    let mut inner = scope.scope();
    inner.acquire::<u64, _>(4);
    let innermost = inner.scope();
    innermost.acquire::<u64, usize>(text.parse()?);
    Ok(innermost.active_slots())
}

fn break_through_two_levels(scope: &mut Scope<'_, HeapBackend>) -> usize {
    let mut passes = 0;
    'outer: loop {
        let mut middle = scope.scope();
        middle.acquire::<u64, _>(4);
        loop {
            let inner = middle.scope();
            inner.acquire::<u64, _>(4);
            passes += 1;
            match passes {
                1 => continue,
                2 => continue 'outer,
                _ => break 'outer inner.active_slots(),
            }
        }
    }
}

#[test]
fn panic_return_question_mark_and_break_through_two_levels() {
    let (mut pool, ledger) = heap_pool();
    let mut scope = pool.scope();
    let own = scope.acquire::<u64, _>(4);
    stamp(own, 1);
    let first_free = {
        let probe = scope.scope();
        address(probe.acquire::<u64, _>(4))
    };
    for _ in 0..3 {
        assert_eq!(early_return(&mut scope, 2), 4);
        assert!(question_mark(&mut scope, "no number").is_err());
        assert_eq!(question_mark(&mut scope, "12"), Ok(3));
        assert_eq!(break_through_two_levels(&mut scope), 3);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let mut middle = scope.scope();
            middle.acquire::<u64, _>(4);
            let inner = middle.scope();
            inner.acquire::<u64, _>(4);
            assert_eq!(inner.active_slots(), 0, "there are three, so this panics");
        }));
        assert!(caught.is_err());
        assert_eq!(scope.active_slots(), 1);
        assert_stamped(own, 1);
    }
    assert_eq!(address(scope.acquire::<u64, _>(4)), first_free);
    let after_warm_up = ledger.allocations();
    assert_eq!(early_return(&mut scope, 1), 4);
    assert_eq!(ledger.allocations(), after_warm_up);
}

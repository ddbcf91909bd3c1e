//! Operations that fail or panic half way: memory in use stays, the slot is valid, and the next
//! acquire works.

use pool_conformance::{Refusal, RefusalError};
use pool_core::{PoolConfig, PoolError, PoolView, error_chain};

use crate::backends::{Event, logged_pool, take_events};
use crate::support::{
    address, assert_stamped, heap_pool, heap_pool_with, panic_text, slots_per_table, stamp, take,
};

#[test]
fn fail_nth_allocation() {
    let (mut pool, ledger) = heap_pool();
    let mut outer = pool.scope();
    let first = outer.acquire::<u64, _>(127);
    stamp(first, 1);
    ledger.refuse(Refusal::From(1));
    let inner = outer.scope();
    let second = inner.acquire::<u64, _>(127);
    stamp(second, 2);

    let error = inner.try_acquire::<u64, _>(50).unwrap_err();
    let source = RefusalError { bytes: 448 };
    let largest = [1024, 1024, 0];
    assert_eq!(error, PoolError::OutOfMemory { requested: 448, reserved: 2048, largest, source });
    assert_eq!(panic_text(|| inner.acquire::<u64, _>(50)), error_chain(&error).to_string());
    assert_eq!(inner.active_slots(), 2, "nothing was taken");
    assert_eq!(inner.acquire::<u64, _>(0).len(), 0, "what needs no memory works");

    ledger.refuse(Refusal::Never);
    let third = inner.acquire::<u64, _>(50);
    stamp(third, 3);
    assert_stamped(first, 1);
    assert_stamped(second, 2);
    assert_stamped(third, 3);
}

#[test]
fn refused_block_is_had_after_the_idle_ones_are_freed() {
    let (mut pool, ledger) = heap_pool();
    {
        let scope = pool.scope();
        take(&scope, 5, 127);
    }
    let scope = pool.scope();
    let held = scope.acquire::<u64, _>(127);
    stamp(held, 1);
    // Five KiB are live; two more are available only after the idle four are freed.
    ledger.refuse(Refusal::Above(5 * 1024));
    let larger = scope.acquire::<u64, _>(255);
    stamp(larger, 2);
    assert_eq!((ledger.live_blocks(), ledger.live_bytes()), (2, 3 * 1024));
    assert_eq!(ledger.refused(), 1);
    assert_stamped(held, 1);
    assert_stamped(larger, 2);
}

#[test]
fn failed_growth_leaves_an_empty_slot_that_works_again() {
    let (mut pool, ledger) = heap_pool();
    pool.scope().acquire::<u64, _>(127);
    ledger.refuse(Refusal::From(0));
    let scope = pool.scope();
    let error = scope.try_acquire::<u64, _>(128).unwrap_err();
    let source = RefusalError { bytes: 1088 };
    let largest = [0; 3];
    assert_eq!(error, PoolError::OutOfMemory { requested: 1088, reserved: 0, largest, source });
    assert_eq!((ledger.live_blocks(), scope.stats().reserved_bytes), (0, 0));
    assert!(scope.try_acquire::<u64, _>(1).is_err(), "the old block is gone and not used");
    ledger.refuse(Refusal::Never);
    let view = scope.acquire::<u64, _>(1);
    stamp(view, 1);
    assert_eq!((scope.active_slots(), ledger.live_blocks()), (1, 1));
}

#[test]
fn allocate_panics_state_valid() {
    let (mut pool, ledger) = heap_pool();
    let mut outer = pool.scope();
    let held = outer.acquire::<u64, _>(10);
    stamp(held, 1);
    let warm = {
        let inner = outer.scope();
        address(inner.acquire::<u64, _>(127))
    };
    let inner = outer.scope();
    ledger.refuse(Refusal::PanicOnce(0));
    let text = panic_text(|| inner.try_acquire::<u64, _>(10_000));
    assert!(text.contains("instead of allocating"), "{text}");
    assert_eq!((inner.active_slots(), ledger.live_blocks()), (1, 2));
    assert_eq!(inner.stats().reserved_bytes, ledger.live_bytes());
    assert_eq!(address(inner.acquire::<u64, _>(127)), warm, "the old block is still there");
    let next = inner.acquire::<u64, _>(10_000);
    stamp(next, 2);
    assert_stamped(held, 1);
    assert_eq!(inner.stats().reserved_bytes, ledger.live_bytes());
    assert_eq!(pool.trim().slots, 3);
    assert_eq!(ledger.live_blocks(), 0);
}

#[test]
fn allocate_panics_in_the_retry_state_valid() {
    let (mut pool, ledger) = heap_pool_with(PoolConfig::new().byte_limit(4096));
    let mut outer = pool.scope();
    let held = outer.acquire::<u64, _>(127);
    stamp(held, 1);
    {
        let inner = outer.scope();
        take(&inner, 3, 127);
    }
    // Without room the pool asks only after it has freed its idle blocks.
    ledger.refuse(Refusal::PanicOnce(0));
    let inner = outer.scope();
    panic_text(|| inner.try_acquire::<u64, _>(300));
    assert_eq!((inner.active_slots(), ledger.live_blocks()), (1, 1));
    assert_eq!(inner.stats().reserved_bytes, 1024);
    let next = inner.acquire::<u64, _>(300);
    stamp(next, 2);
    assert_stamped(held, 1);
    assert_stamped(next, 2);
}

#[test]
fn allocate_panics_on_the_sentinel_state_valid() {
    let per_table = slots_per_table();
    let (mut pool, ledger) = heap_pool();
    let scope = pool.scope();
    take(&scope, per_table, 0);
    ledger.refuse(Refusal::PanicOnce(0));
    panic_text(|| scope.acquire::<u64, _>(1));
    assert_eq!(scope.active_slots(), per_table);
    stamp(scope.acquire(3), 1);
    assert_eq!((scope.active_slots(), ledger.live_blocks()), (per_table + 1, 1));
}

/// The frees among the events, as addresses.
fn frees(events: &[Event]) -> Vec<usize> {
    let address = |event: &Event| match *event {
        Event::FreeCalled { address, .. } => Some(address),
        _ => None,
    };
    events.iter().filter_map(address).collect()
}

/// A `free` that unwinds breaks the contract of `PoolBackend`. Even then, the order of operations
/// guarantees this: the slot was emptied before `free` was called, so the block is in no slot any
/// more. It is never freed a second time and never reused.
#[test]
fn free_panics_no_double_free() {
    let (mut pool, switches) = logged_pool(PoolConfig::new());
    let lost;
    {
        let scope = pool.scope();
        lost = address(scope.acquire::<u64, _>(10));
        scope.acquire::<u64, _>(10);
        scope.acquire::<u64, _>(&[5, 2][..]);
    }
    take_events();
    switches.panic_in_free.set(true);
    assert_eq!(panic_text(|| pool.trim()), "free was told to panic");
    assert_eq!(frees(&take_events()), [lost], "trim stopped at the first slot");

    let scope = pool.scope();
    let first = scope.acquire::<u64, _>(10);
    assert_ne!(address(first), lost, "the slot was empty, so it got another block");
    let (second, third) = (scope.acquire::<u64, _>(10), scope.acquire::<u64, _>(10));
    let mut views = [first, second, third];
    views.iter_mut().zip(1..).for_each(|(view, owner)| stamp(view, owner));
    views.iter().zip(1..).for_each(|(view, owner)| assert_stamped(view, owner));
    take_events();
    drop(pool);
    let freed = frees(&take_events());
    assert_eq!(freed.len(), 3);
    assert!(!freed.contains(&lost), "freed a second time");
}

#[test]
fn free_panics_during_growth_no_double_free() {
    let (mut pool, switches) = logged_pool(PoolConfig::new());
    let lost = address(pool.scope().acquire::<u64, _>(10));
    let other = {
        let scope = pool.scope();
        scope.acquire::<u64, _>(0);
        address(scope.acquire::<u64, _>(10))
    };
    take_events();
    switches.panic_in_free.set(true);
    {
        let scope = pool.scope();
        panic_text(|| scope.try_acquire::<u64, _>(1000));
        assert_eq!(scope.active_slots(), 0);
        assert_eq!(frees(&take_events()), [lost]);
        let view = scope.acquire::<u64, _>(1000);
        stamp(view, 1);
        let unharmed = scope.acquire::<u64, _>(10);
        stamp(unharmed, 2);
        assert_eq!(address(unharmed), other);
        assert_stamped(view, 1);
    }
    drop(pool);
    assert_eq!(frees(&take_events()).iter().filter(|&&freed| freed == lost).count(), 0);
}

#[test]
fn failing_writes_take_no_slot() {
    let (mut pool, switches) = logged_pool(PoolConfig::new());
    let scope = pool.scope();
    let held = scope.acquire::<u64, _>(4);
    stamp(held, 1);
    switches.fail_writes.set(true);
    let source = RefusalError { bytes: 32 };
    let failed = |operation| PoolError::Backend { operation, source };
    assert_eq!(scope.try_acquire_zeroed::<u64, _>(4).unwrap_err(), failed("zero a block"));
    assert_eq!(scope.try_acquire_filled(4, 1_u64).unwrap_err(), failed("fill a block"));
    assert_eq!(scope.try_acquire_from(&[1_u64; 4]).unwrap_err(), failed("copy from the host"));
    assert_eq!(scope.try_acquire_zeroed::<u64, _>([2, 2]).unwrap_err(), failed("zero a block"));
    assert_eq!(scope.try_acquire_filled(&[2, 2][..], 1_u64).unwrap_err(), failed("fill a block"));
    assert_eq!(
        panic_text(|| scope.acquire_from(&[1_u64; 4])),
        error_chain(&failed("copy from the host")).to_string()
    );
    assert_eq!(scope.active_slots(), 1);
    assert_eq!(scope.try_acquire_zeroed::<u64, _>(0).unwrap().len(), 0, "nothing to write");
    assert_eq!(scope.acquire::<u64, _>(4).len(), 4, "nothing is written");
    switches.fail_writes.set(false);
    assert_eq!(scope.acquire_filled(4, 5_u64), [5; 4]);
    assert_stamped(held, 1);
}

#[test]
fn failing_poison_is_a_typed_error_and_never_hands_out_old_contents() {
    let (mut pool, switches) = logged_pool(PoolConfig::new().poison(true));
    pool.scope().acquire::<u64, _>(4).fill(77);
    switches.fail_writes.set(true);
    {
        let scope = pool.scope();
        let source = RefusalError { bytes: 32 };
        for _ in 0..2 {
            let error = scope.try_acquire::<u64, _>(4).unwrap_err();
            assert_eq!(error, PoolError::Backend { operation: "poison a block", source });
        }
        assert_eq!(scope.active_slots(), 0);
        switches.fail_writes.set(false);
        assert_eq!(scope.acquire::<u64, _>(4), [u64::MAX; 4]);
    }
    assert_eq!(pool.scope().acquire_zeroed::<u64, _>(4), [0; 4]);
}

#[test]
fn a_copy_of_another_number_of_elements_does_not_get_the_shape() {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    for dims in [[2, 3], [0, 3], [7, 1]] {
        let error = scope.acquire_from(&[1_u64; 5]).try_reshape(dims).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "a shape of {} elements does not match a view of 5 elements: the product of the \
                 axis lengths must be 5",
                dims[0] * dims[1]
            )
        );
    }
    assert_eq!(scope.acquire_from(&[1_u64; 5]).reshape([5, 1]).as_slice(), [1; 5]);
}

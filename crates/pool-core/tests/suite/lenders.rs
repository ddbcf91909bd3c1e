//! Pools that may lend memory record the position of the cursor at each acquire, in every way to
//! acquire. Other pools record nothing, and compare with ends of their own. Two pools become pools
//! that may lend when one is first used inside the other.

use pool_core::{Pool, PoolConfig};

use crate::nested_support::{Heap, Stacks};
use crate::support::{address, assert_initialised, assert_stamped, rounds, stamp};

/// Makes the thread's first pool settled, with more than enough memory.
fn settle(stacks: &Stacks) {
    for _ in 0..3 {
        stacks.guard().scope().acquire::<u64, _>(rounds(10_000, 3_000));
    }
}

/// A pair with padding.
type Padded = (u64, u8);

/// Acquires an array in an outer scope, lets an inner guard fill its own array, and checks the
/// first one.
macro_rules! lends_above {
    ($stacks:ident, |$scope:ident| $acquire:expr) => {{
        let mut outer = $stacks.guard();
        let $scope = outer.scope();
        let array: &mut [u64] = $acquire;
        stamp(array, 1);
        {
            let mut inner = $stacks.guard();
            let scope = inner.scope();
            let lent = scope.acquire_zeroed::<u64, _>(200);
            assert!(
                address(lent) >= address(array) + size_of_val(array),
                "{}",
                stringify!($acquire)
            );
            stamp(lent, 2);
            assert_stamped(lent, 2);
        }
        assert_stamped(array, 1);
        assert_eq!($stacks.ledger.live_blocks(), 1, "{}", stringify!($acquire));
    }};
}

/// Lends above each kind of array, in pools with a configuration.
fn lend_above_each_kind(config: PoolConfig) {
    let stacks = Stacks::new();
    stacks.set_config(config);
    stacks.nest(2);
    settle(&stacks);
    lends_above!(stacks, |scope| scope.acquire::<u64, _>(90));
    lends_above!(stacks, |scope| scope.try_acquire::<u64, _>(91).unwrap());
    lends_above!(stacks, |scope| scope.acquire_zeroed::<u64, _>(92));
    lends_above!(stacks, |scope| scope.acquire_filled(93, 7_u64));
    lends_above!(stacks, |scope| scope.acquire_with(94, |index| index as u64));
    lends_above!(stacks, |scope| scope.acquire_from(&[5_u64; 95]));
    lends_above!(stacks, |scope| scope.acquire::<u64, _>([8, 12]).into_view());
    lends_above!(stacks, |scope| scope.try_acquire::<u64, _>([8, 13]).unwrap().into_view());
    for _ in 0..2 {
        // The first time the shape is new, and the second time it is cached.
        lends_above!(stacks, |scope| scope.acquire::<u64, _>(&[8, 14][..]).into_view());
    }
    lends_above!(stacks, |scope| {
        let mut vector = scope.acquire_vec(1);
        vector.extend_from_slice(&[3_u64; 96]);
        vector.into_slice()
    });
    lends_above!(stacks, |scope| {
        let mut scope = scope;
        scope.keep(|inner| {
            inner.acquire::<u64, _>(50);
            inner.acquire::<u64, _>(98)
        })
    });
    // An array of no bytes does not lower the position.
    lends_above!(stacks, |scope| {
        let array = scope.acquire::<u64, _>(97);
        scope.acquire::<u64, _>(0);
        array
    });
    // The padding of the pairs lies below the array, and makes `end` lower than the array.
    lends_above!(stacks, |scope| {
        let pairs = scope.acquire_with(10, |index| -> Padded { (index as u64, 1) });
        assert_eq!(pairs[9].0, 9);
        scope.acquire::<u64, _>(99)
    });
    // The padding of the scope before is zeroed.
    lends_above!(stacks, |scope| {
        let array = scope.acquire::<u64, _>(99);
        assert_initialised(bytemuck::cast_slice(array));
        array
    });
}

#[test]
fn a_pool_lends_above_each_kind_of_array() {
    lend_above_each_kind(PoolConfig::new());
}

/// The cold function hands out every array of a pool that is poisoned.
#[test]
fn a_pool_lends_above_each_kind_of_array_of_the_cold_function() {
    lend_above_each_kind(PoolConfig::new().poison(true));
}

/// A settled pool records nothing before an inner guard first needs it. That guard borrows nothing,
/// because the position of the outer cursor is unknown.
#[test]
fn a_pool_without_inner_guards_lends_nothing_at_first() {
    let stacks = Stacks::new();
    settle(&stacks);
    {
        let mut outer = stacks.guard();
        let scope = outer.scope();
        let array = scope.acquire::<u64, _>(100);
        stamp(array, 1);
        let mut inner = stacks.guard();
        let inner = inner.scope();
        let own = inner.acquire_zeroed::<u64, _>(100);
        stamp(own, 2);
        // From now on the outer pool records, so the next inner guard borrows above both arrays.
        let above = scope.acquire::<u64, _>(100);
        stamp(above, 3);
        assert_stamped(own, 2);
        assert_stamped(array, 1);
        assert_stamped(above, 3);
        assert_eq!(stacks.ledger.live_blocks(), 2);
    }
    for _ in 0..2 {
        nested_pass(&stacks);
    }
    let allocations = stacks.ledger.allocations();
    nested_pass(&stacks);
    assert_eq!((stacks.ledger.allocations(), stacks.ledger.live_blocks()), (allocations, 1));
}

/// A pass with an array in an outer scope and one in an inner guard.
fn nested_pass(stacks: &Stacks) {
    let mut outer = stacks.guard();
    let scope = outer.scope();
    let array = scope.acquire::<u64, _>(100);
    stamp(array, 1);
    let mut inner = stacks.guard();
    let inner = inner.scope();
    stamp(inner.acquire_zeroed::<u64, _>(100), 2);
    assert_stamped(array, 1);
}

/// An inner guard comes while the outer scope is open and settled, goes, and comes again. Each
/// array stays as it was written.
#[test]
fn a_scope_that_becomes_a_lender_keeps_its_arrays() {
    let stacks = Stacks::new();
    settle(&stacks);
    let mut outer = stacks.guard();
    let mut scope = outer.scope();
    let first = scope.acquire::<u64, _>(100);
    stamp(first, 1);
    let inner_scope = scope.scope();
    let second = inner_scope.acquire::<u64, _>(100);
    stamp(second, 2);
    for owner in 3..6 {
        let mut guard = stacks.guard();
        let borrowed = guard.scope();
        let lent = borrowed.acquire_zeroed::<u64, _>(300);
        stamp(lent, owner);
        assert_stamped(first, 1);
        assert_stamped(second, 2);
        assert_stamped(lent, owner);
    }
    let third = inner_scope.acquire::<u64, _>(100);
    stamp(third, 6);
    let mut guard = stacks.guard();
    let borrowed = guard.scope();
    stamp(borrowed.acquire_zeroed::<u64, _>(300), 7);
    assert_stamped(third, 6);
    assert_stamped(second, 2);
    assert_stamped(first, 1);
}

/// The pool of a caller comes into the list while it is settled.
#[test]
fn a_pool_that_was_used_by_a_caller_lends_nothing_in_use() {
    let stacks = Stacks::new();
    let mut pool = Pool::<Heap>::new(stacks.ledger.clone());
    for _ in 0..3 {
        pool.scope().acquire::<u64, _>(rounds(10_000, 3_000));
    }
    let mut outer = stacks.guard_of(pool);
    let scope = outer.scope();
    let array = scope.acquire::<u64, _>(100);
    stamp(array, 1);
    stacks.nest(2);
    let mut inner = stacks.guard();
    let inner = inner.scope();
    stamp(inner.acquire_zeroed::<u64, _>(100), 2);
    assert_stamped(array, 1);
}

/// A trim sets all ends of the borrower. When the borrower returns its memory, all of them are null
/// again, so that its next loan may end at a lower address.
#[test]
fn a_borrower_that_returns_its_memory_has_no_end() {
    let stacks = Stacks::new();
    stacks.nest(2);
    settle(&stacks);
    for round in 0..4 {
        let mut outer = stacks.guard();
        let scope = outer.scope();
        let array = scope.acquire::<u64, _>(100 + round);
        stamp(array, 1);
        let mut inner = stacks.guard();
        let inner = inner.scope();
        stamp(inner.acquire::<u64, _>(100), 2);
        inner.trim();
        stamp(inner.acquire::<u64, _>(100), 3);
        assert_stamped(array, 1);
    }
    assert_eq!(stacks.ledger.live_blocks(), 1);
}

/// The end of a pool that never lends is below the lowest dirty byte.
#[test]
fn a_pool_that_never_lends_zeroes_padding() {
    let stacks = Stacks::new();
    let mut pool = Pool::<Heap>::new(stacks.ledger.clone());
    for _ in 0..3 {
        pool.scope().acquire::<u64, _>(rounds(10_000, 3_000));
    }
    let mut scope = pool.scope();
    let first = scope.acquire::<u64, _>(100);
    stamp(first, 1);
    // The padding lowers `end` below the next array of each inner scope.
    for round in 0..3 {
        let inner = scope.scope();
        let pairs = inner.acquire_with(10, |index| -> Padded { (index as u64, round) });
        let array = inner.acquire::<u64, _>(100);
        stamp(array, 2);
        assert_eq!((pairs[9].0, pairs[9].1), (9, round));
        assert_stamped(array, 2);
    }
    let read = scope.acquire::<u64, _>(200);
    assert_initialised(bytemuck::cast_slice(read));
    assert_stamped(first, 1);
    assert_eq!(stacks.ledger.live_blocks(), 1);
}

//! The user's own code while the pool runs it: closures that acquire, panic or trim, shapes and
//! models that return different values or acquire themselves. Over slots and over stacks.

use pool_core::ShapeError;

use super::Heap;
use crate::support::{
    HasSlots, assert_active, assert_stamped, panic_text, pool_of, slots_per_table, stamp, take,
};

#[test]
fn acquire_with_reenters_same_scope() {
    let (mut pool, _) = pool_of::<Heap>();
    for _ in 0..2 {
        let scope = pool.scope();
        let mut inside = Vec::new();
        let filled = scope.acquire_with(4, |index| {
            let view = scope.acquire::<u64, _>(4);
            stamp(view, 10 + index as u64);
            inside.push(view);
            index as u64
        });
        assert_eq!(filled, [0, 1, 2, 3]);
        assert_active::<Heap>(scope.active_slots(), 5);
        let after = scope.acquire::<u64, _>(4);
        stamp(after, 20);
        filled.fill(u64::MAX);
        inside.iter().zip(10..).for_each(|(view, owner)| assert_stamped(view, owner));
        assert_stamped(after, 20);
    }
}

#[test]
fn acquire_with_reenters_over_the_end_of_the_table_and_grows() {
    let per_table = slots_per_table();
    let (mut pool, _) = pool_of::<Heap>();
    for rest in 0..3 {
        let scope = pool.scope();
        for _ in 0..per_table - rest {
            scope.acquire::<u64, _>(1);
        }
        let mut inside = Vec::new();
        let filled = scope.acquire_with([2, 3], |[row, column]| {
            inside.push(scope.acquire_filled(50 * (row + 1), column as u64));
            (10 * row + column) as u64
        });
        assert_eq!(filled.as_slice(), [0, 1, 2, 10, 11, 12]);
        for (index, view) in inside.iter().enumerate() {
            assert!(view.iter().all(|&element| element == index as u64 % 3));
        }
        assert_active::<Heap>(scope.active_slots(), per_table - rest + 7);
    }
}

#[test]
fn acquire_with_trims_its_own_scope() {
    let (mut pool, ledger) = pool_of::<Heap>();
    {
        let scope = pool.scope();
        take(&scope, 6, 100);
    }
    let scope = pool.scope();
    let filled = scope.acquire_with(3, |index| {
        let released = scope.trim();
        let idle = if index == 0 && Heap::HAS_SLOTS { 5 } else { 0 };
        assert_eq!(released.slots, idle, "never the one being filled");
        stamp(scope.acquire(100), 1);
        index as u64
    });
    assert_eq!(filled, [0, 1, 2]);
    assert_eq!(ledger.live_blocks(), if Heap::HAS_SLOTS { 4 } else { 1 });
}

#[test]
fn acquire_with_panics_midway_bool() {
    let (mut pool, _) = pool_of::<Heap>();
    let mut outer = pool.scope();
    {
        // Leaves bytes that are not valid `bool`s.
        let inner = outer.scope();
        inner.acquire_filled(64, 0xAB_u8);
        inner.acquire_filled(64, 0xAB_u8);
    }
    let own = outer.acquire_filled(64, true);
    {
        let inner = outer.scope();
        let text = panic_text(|| {
            inner.acquire_with(64, |index| {
                assert!(index < 10, "stopped at {index}");
                index % 2 == 0
            })
        });
        assert_eq!(text, "stopped at 10");
        assert_active::<Heap>(inner.active_slots(), 2);
        let next = inner.acquire_zeroed::<bool, _>(64);
        assert!(next.iter().all(|flag| !flag));
    }
    let again = outer.acquire_with(64, |index| index % 3 == 0);
    assert_eq!(again.iter().filter(|&&flag| flag).count(), 22);
    assert!(own.iter().all(|&flag| flag));
}

#[test]
fn a_shape_that_is_refused_takes_nothing() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    let error = scope.try_acquire::<u64, _>([usize::MAX, 2]).unwrap_err();
    assert_eq!(error, ShapeError::Overflow { rank: 2, element_size: 8 }.into());
    assert_active::<Heap>(scope.active_slots(), 0);
    assert_eq!(ledger.allocations(), 0);
}

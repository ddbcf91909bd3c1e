//! What the user's own code may do while the pool runs it: closures that acquire, panic or trim,
//! shapes and models that answer twice differently or acquire themselves.

use std::cell::Cell;

use pool_conformance::HeapBackend;
use pool_core::{Extent, PoolError, Scope, Shape, ShapeError};

use crate::support::{
    address, assert_stamped, dynamic_heap_pool, heap_pool, panic_text, slots_per_table, stamp, take,
};

#[test]
fn acquire_with_reenters_same_scope() {
    let (mut pool, _) = heap_pool();
    for _ in 0..2 {
        let scope = pool.scope();
        let mut inside = Vec::new();
        let filled = scope.acquire_with(4, |index| {
            let view = scope.acquire::<u64>(4);
            stamp(view, 10 + index as u64);
            inside.push(view);
            index as u64
        });
        assert_eq!(filled, [0, 1, 2, 3]);
        assert_eq!(scope.active_slots(), 5);
        let after = scope.acquire::<u64>(4);
        stamp(after, 20);
        filled.fill(u64::MAX);
        inside.iter().zip(10..).for_each(|(view, owner)| assert_stamped(view, owner));
        assert_stamped(after, 20);
    }
}

#[test]
fn acquire_with_reenters_over_the_end_of_the_table_and_grows() {
    let per_table = slots_per_table();
    let (mut pool, _) = heap_pool();
    for rest in 0..3 {
        let scope = pool.scope();
        for _ in 0..per_table - rest {
            scope.acquire::<u64>(1);
        }
        let mut inside = Vec::new();
        let filled = scope.acquire_nd_with([2, 3], |[row, column]| {
            inside.push(scope.acquire_filled(50 * (row + 1), column as u64));
            (10 * row + column) as u64
        });
        assert_eq!(filled.as_slice(), [0, 1, 2, 10, 11, 12]);
        for (index, view) in inside.iter().enumerate() {
            assert!(view.iter().all(|&element| element == index as u64 % 3));
        }
        assert_eq!(scope.active_slots(), per_table - rest + 7);
    }
}

#[test]
fn acquire_with_trims_its_own_scope() {
    let (mut pool, ledger) = heap_pool();
    {
        let scope = pool.scope();
        take(&scope, 6, 100);
    }
    let scope = pool.scope();
    let filled = scope.acquire_with(3, |index| {
        let released = scope.trim();
        assert_eq!(released.slots, if index == 0 { 5 } else { 0 }, "never the one being filled");
        stamp(scope.acquire(100), 1);
        index as u64
    });
    assert_eq!(filled, [0, 1, 2]);
    assert_eq!(ledger.live_blocks(), 4);
}

#[test]
fn acquire_with_panics_midway_bool() {
    let (mut pool, _) = heap_pool();
    let mut outer = pool.scope();
    {
        // Leaves bytes behind that are no `bool`s.
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
        assert_eq!(inner.active_slots(), 2, "the slot stays taken until its scope ends");
        let next = inner.acquire_zeroed::<bool>(64);
        assert!(next.iter().all(|flag| !flag));
    }
    let again = outer.acquire_with(64, |index| index % 3 == 0);
    assert_eq!(again.iter().filter(|&&flag| flag).count(), 22);
    assert!(own.iter().all(|&flag| flag));
}

#[test]
fn acquire_with_panics_midway_in_a_dynamic_pool() {
    let (mut pool, _) = dynamic_heap_pool();
    let dirty = pool.acquire_filled(64, 0xAB_u8);
    pool.reset();
    let text = panic_text(|| pool.acquire_with(64, |index| index < 10 || panic!("at {index}")));
    assert_eq!(text, "at 10");
    assert_eq!(pool.active_slots(), 1, "the slot stays taken, and nobody has a handle of it");
    assert!(matches!(pool.get(dirty), Err(PoolError::StaleHandle { slot: 0, active: 1 })));
    let next = pool.acquire_with(3, |index| index == 1);
    assert_eq!(pool.get(next).unwrap(), [false, true, false]);
    pool.reset();
    assert_eq!(pool.active_slots(), 0);
}

/// Answers larger every time it is asked.
struct Growing<'a>(&'a Cell<usize>);

impl Growing<'_> {
    fn next(&self) -> usize {
        self.0.set(self.0.get() * 1_000);
        self.0.get()
    }
}

impl Shape for &Growing<'_> {
    type Dims = [usize; 2];

    fn into_dims(self) -> [usize; 2] {
        [self.next() / 1_000, 2]
    }
}

impl Extent for Growing<'_> {
    fn extent(&self) -> usize {
        self.next() / 1_000
    }
}

#[test]
fn shape_answers_twice_differently() {
    let (mut pool, ledger) = heap_pool();
    let scope = pool.scope();
    let answer = Cell::new(3);
    let mut array = scope.acquire_nd::<u64, _>(&Growing(&answer));
    assert_eq!((array.shape(), array.len(), answer.get()), (&[3, 2][..], 6, 3_000));
    array.as_mut_slice().fill(1);
    assert_eq!(ledger.block_of(address(array.as_slice())).map(|(_, bytes)| bytes), Some(64));

    answer.set(5);
    let view = scope.acquire_like::<u64>(&Growing(&answer));
    assert_eq!((view.len(), answer.get()), (5, 5_000), "asked exactly once");
    view.fill(2);

    answer.set(4);
    let zeroed = scope.try_acquire_nd_zeroed::<u64, _>(&Growing(&answer)).unwrap();
    assert_eq!((zeroed.len(), answer.get()), (8, 4_000));
    let (dynamic, _) = (scope.acquire_like::<u8>(zeroed.as_slice()), zeroed);
    assert_eq!(dynamic.len(), 8);
    assert!(array.as_slice().iter().all(|&element| element == 1));
}

/// Acquires from the very scope that it is given to.
struct Acquiring<'a, 's>(&'a Scope<'s, HeapBackend>, &'a Cell<Option<&'s mut [u64]>>);

impl Acquiring<'_, '_> {
    fn acquire(&self) -> [usize; 2] {
        let view = self.0.acquire(6);
        stamp(view, 7);
        self.1.set(Some(view));
        [2, 3]
    }
}

impl Shape for &Acquiring<'_, '_> {
    type Dims = [usize; 2];

    fn into_dims(self) -> [usize; 2] {
        self.acquire()
    }
}

impl Extent for Acquiring<'_, '_> {
    fn extent(&self) -> usize {
        self.acquire().iter().product()
    }
}

#[test]
fn shape_trait_acquires_from_scope() {
    let (mut pool, _) = heap_pool();
    for _ in 0..2 {
        let scope = pool.scope();
        let taken = Cell::new(None);
        let shape = Acquiring(&scope, &taken);
        let mut array = scope.acquire_nd::<u64, _>(&shape);
        assert_eq!(scope.active_slots(), 2);
        let inside = taken.take().unwrap();
        array.as_mut_slice().fill(1);
        assert_stamped(inside, 7);

        let like = scope.acquire_like::<u64>(&shape);
        like.fill(2);
        assert_eq!(scope.active_slots(), 4);
        assert_stamped(taken.take().unwrap(), 7);
        assert_stamped(inside, 7);
        assert_eq!(array.as_slice(), [1; 6]);
    }
}

#[test]
fn shape_that_panics_takes_nothing() {
    struct Refusing;
    impl Shape for Refusing {
        type Dims = [usize; 1];

        fn into_dims(self) -> [usize; 1] {
            panic!("no shape")
        }
    }
    let (mut pool, ledger) = heap_pool();
    let scope = pool.scope();
    assert_eq!(panic_text(|| scope.acquire_nd::<u64, _>(Refusing)), "no shape");
    assert_eq!((scope.active_slots(), ledger.allocations()), (0, 0));
    let error = scope.try_acquire_nd::<u64, _>([usize::MAX, 2]).unwrap_err();
    assert_eq!(error, ShapeError::Overflow { rank: 2, element_size: 8 }.into());
    assert_eq!((scope.active_slots(), ledger.allocations()), (0, 0));
}

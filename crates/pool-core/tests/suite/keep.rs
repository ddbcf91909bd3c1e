//! An array of an inner scope that is kept when the scope ends: its address, its cost, and the
//! other values that a body may return.

use std::ptr;

use pool_conformance::panics::catch_quietly;
use pool_conformance::{Ledger, Refusal};
use pool_core::{Compaction, NdView, Pool, PoolConfig, PoolError, PoolView, Scope};

use super::Heap;
use crate::support::{
    HasSlots, address, assert_active, assert_initialised, assert_stamped, panic_text, pool_of,
    pool_with, rounds, slots_per_table, stamp, take,
};

type HeapError = PoolError<pool_conformance::RefusalError>;

#[test]
fn the_array_stays_where_it_is_and_the_temporaries_go() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let mut allocations = Vec::new();
    for _ in 0..4 {
        let mut scope = pool.scope();
        let before = scope.acquire::<u64, _>(4);
        stamp(before, 1);
        let mut inside = 0;
        let kept = scope.keep(|inner| {
            inner.acquire::<u64, _>(3).fill(9);
            inner.acquire::<u64, _>(500).fill(9);
            let result = inner.acquire::<u64, _>(50);
            inner.acquire::<u64, _>(7).fill(9);
            stamp(result, 2);
            inside = address(result);
            result
        });
        assert_active::<Heap>(scope.active_slots(), 2);
        // In a stack it moves down to the end of the outer scope's arrays.
        let place = if Heap::HAS_SLOTS { inside } else { address(before) + 64 };
        assert!(allocations.len() < 2 || address(kept) == place, "moved, and not copied");
        assert!(!Heap::HAS_SLOTS || address(kept) == inside, "moved, and not copied");
        for length in [3, 500, 50, 7] {
            scope.acquire::<u64, _>(length).fill(u64::MAX);
        }
        assert_stamped(before, 1);
        assert_stamped(kept, 2);
        allocations.push(ledger.allocations());
    }
    assert_eq!(allocations[2], allocations[3], "{allocations:?}");
}

#[test]
fn a_destination_that_would_have_to_grow_takes_no_memory() {
    // The outer scope's next slot has a block of a few bytes, and no other block is available. A
    // copy would allocate one, and would free its own source.
    let (mut pool, ledger) = pool_of::<Heap>();
    let mut scope = pool.scope();
    let kept = scope.keep(|inner| {
        inner.acquire::<u8, _>(1);
        let result = inner.acquire::<u64, _>(1_000);
        stamp(result, 5);
        ledger.refuse(Refusal::From(0));
        result
    });
    assert_stamped(kept, 5);
    assert!(scope.try_acquire::<u64, _>(10_000).is_err(), "which frees every idle block");
    assert_stamped(kept, 5);
    assert!(!Heap::HAS_SLOTS || ledger.live_blocks() == 1);
}

#[test]
fn a_body_answers_with_part_of_a_view() {
    let (mut pool, _) = pool_of::<Heap>();
    for (from, to) in [(0, 3), (2, 5), (9, 10), (4, 4)] {
        let mut scope = pool.scope();
        let kept = scope.keep(|inner| {
            inner.acquire::<u8, _>(10);
            let all = inner.acquire_with(10, |i| (i, Some(i)));
            &mut all[from..to]
        });
        assert!(kept.iter().copied().eq((from..to).map(|i| (i, Some(i)))));
        let taken = usize::from(from < to);
        assert_active::<Heap>(scope.active_slots(), taken);
        assert_eq!(scope.acquire::<u8, _>(160), [0; 160], "what came before it is recycled");
        scope.acquire_filled(10, u64::MAX);
        assert!(kept.iter().copied().eq((from..to).map(|i| (i, Some(i)))));
    }
}

/// A value with a `'static` borrow, freed with this one.
struct Leaked<T>(*mut T);

impl<T> Leaked<T> {
    fn new(value: T) -> Self {
        Self(Box::into_raw(Box::new(value)))
    }

    /// Called once, in a test that does not use the result after this value is dropped.
    fn get(&self) -> &'static mut T {
        // SAFETY: made by `new`, and borrowed once.
        unsafe { &mut *self.0 }
    }
}

impl<T> Drop for Leaked<T> {
    fn drop(&mut self) {
        // SAFETY: made by `new`; the result of `get` is not used any more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

#[test]
fn a_body_answers_with_what_is_none_of_the_inner_scopes() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let (numbers, long) = (Leaked::new([1_u16, 2, 3]), Leaked::new([1_u64; 900]));
    let (other_pool, own_pool) =
        (Leaked::new(pool_of::<Heap>().0), Leaked::new(pool_of::<Heap>().0));
    let leaked: &'static mut [u16] = numbers.get();
    let view: &'static mut [char] = other_pool.get().scope().acquire_filled(3, 'x');
    let addresses = [address(leaked), address(view)];
    {
        let mut scope = pool.scope();
        let numbers = scope.keep(|inner| {
            inner.acquire::<u8, _>(1);
            leaked
        });
        let letters = scope.keep(|_| view);
        assert_eq!((&*numbers, &*letters), (&[1, 2, 3][..], &['x'; 3][..]));
        assert!(!addresses.contains(&address(numbers)) && !addresses.contains(&address(letters)));
        assert_active::<Heap>(scope.active_slots(), 2);
        ledger.refuse(Refusal::From(0));
        let refused = scope.try_keep(|_| Ok::<_, HeapError>(long.get()));
        assert!(matches!(refused, Err(PoolError::OutOfMemory { .. })));
        assert_active::<Heap>(scope.active_slots(), 2);
        ledger.refuse(Refusal::Never);
        assert_eq!(scope.keep(|_| Box::leak(Box::new([(); 9]))).len(), 9);
        assert!(scope.keep::<u64>(|_| &mut []).is_empty());
        assert_active::<Heap>(scope.active_slots(), 2);
    }
    // A view of the outer scope itself can be returned if the pool was leaked: it stays in place.
    let mut scope: Scope<'static, Heap> = own_pool.get().scope();
    let first = scope.acquire_filled(4, 7_u8);
    let start = address(first);
    let kept = scope.keep(|inner| {
        inner.acquire_filled(4, 8_u8);
        first
    });
    assert_eq!((&*kept, address(kept) == start), (&[7; 4][..], false));
    assert_active::<Heap>(scope.active_slots(), 2);
}

#[test]
fn what_is_kept_keeps_its_mark_and_the_other_slot_its_own() {
    let (mut pool, _) = pool_of::<Heap>();
    for _ in 0..3 {
        {
            let mut scope = pool.scope();
            let kept = scope.keep(|inner| {
                inner.acquire_with(30, |_| (0xAA_u8, 0xBBBB_u32));
                inner.acquire_filled(100, 0xCC_u8);
                inner.acquire_with(20, |_| (0xDD_u8, 0xEEEE_u64))
            });
            assert_eq!(kept, [(0xDD, 0xEEEE); 20]);
            // The block with pairs of eight bytes is now in the third slot, and its mark with it.
            scope.acquire::<u8, _>(100);
            assert_eq!(scope.acquire::<u8, _>(240), [0; 240]);
        }
        assert_eq!(pool.scope().acquire::<u8, _>(320), [0; 320]);
    }
}

#[test]
fn cached_shapes_go_with_their_blocks() {
    let (mut pool, _) = pool_of::<Heap>();
    let dims: [&[usize]; 3] = [&[20, 30, 1], &[2, 3, 1], &[1, 2, 1, 2]];
    for round in 0..6 {
        let mut scope = pool.scope();
        let kept = scope.keep(|inner| {
            for dims in dims {
                let mut array = inner.acquire::<u32, _>(dims);
                assert_eq!(array.shape(), dims);
                array.as_mut_slice().fill(round);
            }
            inner.acquire_filled(5, round)
        });
        for dims in dims.into_iter().rev() {
            let mut array = scope.acquire::<u32, _>(dims);
            array.as_mut_slice().fill(u32::MAX);
            assert_eq!((array.shape(), array.len()), (dims, dims.iter().product()));
        }
        assert_eq!(kept, [round; 5]);
    }
}

#[test]
fn compaction_leaves_what_is_kept_its_block() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let pass = |pool: &mut Pool<Heap>| {
        let mut scope = pool.scope();
        scope.keep(|inner| {
            inner.acquire::<u8, _>(1);
            // All of the block up to the end of the part is in use.
            &mut inner.acquire::<u8, _>(8_000)[7_950..]
        });
    };
    (0..4).for_each(|_| pass(&mut pool));
    pool.sample_lengths();
    pass(&mut pool);
    let before = ledger.allocations();
    pool.compact(&Compaction { minimum_bytes: 1, ..Compaction::default() });
    (0..3).for_each(|_| pass(&mut pool));
    assert_eq!(ledger.allocations(), before);
}

#[test]
fn arrays_are_kept_with_their_shapes() {
    let (mut pool, _) = pool_of::<Heap>();
    let mut scope = pool.scope();
    let kept = scope.keep(|inner| {
        inner.acquire::<u8, _>(1);
        inner.acquire_with([2, 3], |[row, column]| (row, column)).into_view()
    });
    let kept = kept.reshape([2, 3]);
    assert_eq!((kept.shape(), kept[[1, 2]]), (&[2, 3][..], (1, 2)));
    let none = scope.try_keep::<u8, HeapError>(|inner| {
        inner.try_acquire([usize::MAX, 2]).map(NdView::into_view)
    });
    assert!(matches!(none, Err(PoolError::Shape(_))));
    assert_active::<Heap>(scope.active_slots(), 1);
}

#[test]
fn over_the_end_of_tables_and_through_several_levels() {
    let (mut pool, _) = pool_of::<Heap>();
    let per_table = slots_per_table();
    for taken in [per_table, per_table - 1, 2 * per_table].into_iter().take(rounds(3, 1)) {
        let mut scope = pool.scope();
        take(&scope, taken, rounds(1, 0));
        let kept = scope.keep(|mut inner| {
            take(&inner, per_table, rounds(2, 0));
            let middle = inner.keep(|innermost| {
                take(&innermost, 3, 5);
                let result = innermost.acquire::<u64, _>(30);
                stamp(result, 4);
                &mut result[10..]
            });
            inner.acquire::<u64, _>(30).fill(0);
            middle
        });
        let after = per_table + rounds(per_table, 1);
        take(&scope, after, rounds(30, 1));
        assert!(kept.iter().zip(10..).all(|(&element, index)| element == 4 << 32 | index));
        assert_active::<Heap>(scope.active_slots(), taken + 1 + after);
    }
}

#[test]
fn errors_and_panics_of_the_body_keep_nothing() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let mut scope = pool.scope();
    let refused: Result<&mut [u8], HeapError> = scope.try_keep(|inner| {
        inner.acquire::<u8, _>(100);
        ledger.refuse(Refusal::From(0));
        inner.try_acquire(10_000)
    });
    assert!(matches!(refused, Err(PoolError::OutOfMemory { .. })));
    ledger.refuse(Refusal::Never);
    let text = panic_text(|| {
        scope.keep::<u8>(|inner| {
            inner.acquire::<u8, _>(100);
            panic!("in the body")
        })
    });
    assert_eq!(text, "in the body");
    assert_active::<Heap>(scope.active_slots(), 0);
    let kept = scope.keep(|inner| {
        let result = inner.acquire_filled(3, 1_u8);
        std::mem::forget(inner);
        result
    });
    assert_eq!(kept, [1; 3]);
    assert_active::<Heap>(scope.active_slots(), 1);
}

/// A tree of kept results beside stamped views, with refusals: kept arrays have the values written.
fn grow_and_keep<'s>(
    mut scope: Scope<'s, Heap>,
    depth: usize,
    ledger: &Ledger,
    below: &mut impl FnMut(usize) -> usize,
) -> &'s mut [(u8, u64)] {
    let mut kept: Vec<&mut [(u8, u64)]> = Vec::new();
    let mut views = Vec::new();
    for number in 0..2 + below(3) {
        if below(8) == 0 {
            ledger.refuse([Refusal::Once(0), Refusal::From(0), Refusal::Never][below(3)]);
        }
        if let Ok(view) = scope.try_acquire::<u64, _>(below(40)) {
            stamp(view, number as u64);
            views.push((view, number as u64));
        }
        if depth > 0 && below(3) > 0 {
            kept.push(scope.keep(|inner| grow_and_keep(inner, depth - 1, ledger, below)));
        }
        if below(4) == 0 {
            scope.trim();
        }
        views.iter().for_each(|(view, owner)| assert_stamped(view, *owner));
        for kept in &kept {
            assert!(kept.iter().all(|&pair| pair == (7, kept.len() as u64)));
        }
    }
    let length = below(30);
    let written = scope.try_acquire_with(length, |_| (0, 0)).unwrap_or_default();
    let from = below(4).min(written.len());
    let part = &mut written[from..];
    part.fill((7, part.len() as u64));
    part
}

#[test]
fn whatever_is_kept_is_what_was_written() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut below = |end: usize| if end == 0 { 0 } else { random.usize(..end) };
    for round in 0..rounds(300, 1) {
        let config = PoolConfig::new().poison(round % 5 == 4).fresh(round % 7 == 6);
        let (mut pool, ledger) = pool_with::<Heap>(config);
        for _ in 0..rounds(10, 1) {
            let mut scope = pool.scope();
            let kept = scope.keep(|inner| grow_and_keep(inner, rounds(3, 2), &ledger, &mut below));
            assert!(kept.iter().all(|&pair| pair == (7, kept.len() as u64)));
            ledger.refuse(Refusal::Never);
            let all = scope.scope();
            for _ in 0..6 {
                assert_initialised(all.acquire::<u8, _>(1 + below(500)));
            }
        }
        drop(pool);
        assert_eq!(ledger.live_blocks(), 0);
    }
}

#[test]
fn an_allocator_that_panics_in_the_body_keeps_nothing() {
    let (mut pool, ledger): (Pool<Heap>, _) = pool_of::<Heap>();
    let mut scope = pool.scope();
    let below = scope.acquire_filled(3, 1_u8);
    // The first array of the body takes a block of its own in slots alone.
    ledger.refuse(Refusal::PanicOnce(usize::from(Heap::HAS_SLOTS)));
    let ended = catch_quietly(|| {
        let kept = scope.keep(|inner| {
            inner.acquire::<u8, _>(1);
            inner.acquire::<u8, _>(10_000)
        });
        ptr::from_ref(kept).addr()
    });
    assert!(ended.is_err());
    assert_active::<Heap>(scope.active_slots(), 1);
    assert_eq!(below, [1; 3]);
}

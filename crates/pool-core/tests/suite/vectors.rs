//! Vectors in a scope, fixed and growing, and slices collected from iterators: against `Vec`, beside other
//! acquires of the same scope, with allocations that fail.

use std::cell::Cell;
use std::iter;

use pool_conformance::panics::catch_quietly;
use pool_conformance::{Ledger, Refusal};
use pool_core::{CapacityError, Compaction, Pool, PoolConfig, PoolError, PoolVec, Scope};

use super::Heap;
use crate::support::{
    address, assert_active, assert_initialised, assert_stamped, panic_text, pool_of, pool_with,
    rounds, slots_per_table, stamp,
};

/// Sixteen bytes, seven of them padding.
type Pair = (u8, u64);

fn pair(number: usize) -> Pair {
    (u8::try_from(number % 251).unwrap(), number as u64)
}

#[test]
fn a_fixed_vector_holds_what_it_was_acquired_for() {
    let (mut pool, _) = pool_of::<Heap>();
    let mut scope = pool.scope();
    let mut vector = scope.acquire_fixed_vec::<(char, &str)>(3);
    assert!(vector.is_empty() && !vector.is_full() && vector.pop().is_none());
    vector.push(('a', "first")).unwrap();
    {
        let inner = scope.scope();
        inner.acquire_with(100, |_| 0xFF_u8);
        vector.try_extend([('b', "second"), ('c', "third")]).unwrap();
    }
    let full = vector.push(('d', "fourth")).unwrap_err();
    assert_eq!(full.element, ('d', "fourth"));
    assert_eq!(
        full.to_string(),
        "the vector is full: all 3 elements of its capacity are in use; acquire a larger vector"
    );
    assert!(vector.is_full());
    assert_eq!(vector.swap_remove(0), Some(('a', "first")));
    assert_eq!(vector.swap_remove(2), None);
    assert_eq!(vector[..], [('c', "third"), ('b', "second")]);
    let CapacityError { element, capacity, .. } =
        vector.extend_from_slice(&[('x', ""), ('y', "")]).unwrap_err();
    assert_eq!((element, capacity, vector.len()), (('y', ""), 3, 2));
    vector.extend_from_slice(&[('x', "")]).unwrap();
    vector.retain(|&(letter, _)| letter != 'b');
    vector.iter_mut().for_each(|(letter, _)| letter.make_ascii_uppercase());
    assert_eq!(vector.into_slice(), [('C', "third"), ('X', "")]);
    let mut empty = scope.acquire_fixed_vec::<u8>(0);
    assert_eq!(empty.push(1).unwrap_err().element, 1);
    let mut units = scope.acquire_fixed_vec::<()>(2);
    assert_eq!(units.try_extend(iter::repeat(())).unwrap_err().capacity, 2);
    assert_eq!(units.into_slice().len(), 2);
}

#[test]
fn a_growing_vector_takes_one_slot_and_needs_no_growth_the_second_time() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let mut allocations = Vec::new();
    for _ in 0..4 {
        let scope = pool.scope();
        let before = scope.acquire::<u64, _>(5);
        stamp(before, 1);
        let mut vector = scope.acquire_vec(0);
        assert_active::<Heap>(scope.active_slots(), 2);
        for number in 0..300 {
            vector.push(pair(number));
        }
        assert_active::<Heap>(scope.active_slots(), 2);
        let after = scope.acquire::<u64, _>(5);
        stamp(after, 2);
        vector.push(pair(300));
        assert!(vector.iter().copied().eq((0..=300).map(pair)));
        assert_stamped(before, 1);
        assert_stamped(after, 2);
        let slice = vector.into_slice();
        slice.reverse();
        assert_eq!(slice[0], pair(300));
        allocations.push(ledger.allocations());
    }
    assert_eq!(allocations[1], allocations[3], "{allocations:?}");
}

#[test]
fn a_vector_grows_beside_what_is_acquired_between() {
    let (mut pool, _) = pool_of::<Heap>();
    for rest in 0..3 {
        let scope = pool.scope();
        let taken = slots_per_table() - rest;
        for _ in 0..taken {
            scope.acquire::<u64, _>(1);
        }
        let mut vectors: Vec<PoolVec<'_, '_, Heap, u64>> = Vec::new();
        let mut views = Vec::new();
        for number in 0..rounds(200, 40) {
            if number % 20 == 0 {
                vectors.push(scope.acquire_vec(number % 3));
                let view = scope.acquire::<u64, _>(number % 7 + 1);
                stamp(view, number as u64);
                views.push((view, number as u64));
            }
            for (which, vector) in vectors.iter_mut().enumerate() {
                vector.push((1_000 * which + vector.len()) as u64);
            }
        }
        for (which, vector) in vectors.iter().enumerate() {
            assert!(
                vector.iter().copied().eq((0..vector.len()).map(|i| (1_000 * which + i) as u64))
            );
        }
        views.iter().for_each(|(view, owner)| assert_stamped(view, *owner));
    }
}

/// One step of a vector and of its model.
fn step(
    vector: &mut PoolVec<'_, '_, Heap, Pair>,
    model: &mut Vec<Pair>,
    below: &mut impl FnMut(usize) -> usize,
) {
    let number = below(1_000);
    match below(14) {
        8 => {
            let index = below(model.len() + 1);
            if vector.try_insert(index, pair(number)).is_ok() {
                model.insert(index, pair(number));
            }
        }
        9 => {
            let removed = vector.remove(number % 50);
            assert_eq!(removed, (number % 50 < model.len()).then(|| model.remove(number % 50)));
        }
        10 => {
            let end = below(model.len() + 1);
            let start = below(end + 1);
            let drained = vector.drain(start..end);
            assert!(drained.eq(model.drain(start..end)));
            assert!(vector.drain(..model.len().min(1)).rev().eq(model.drain(..model.len().min(1))));
        }
        11 => {
            let length = below(60);
            if vector.try_resize(length, pair(number)).is_ok() {
                model.resize(length, pair(number));
            }
        }
        12 => {
            vector.dedup();
            model.dedup();
        }
        0..=2 => {
            if vector.try_push(pair(number)).is_ok() {
                model.push(pair(number));
            }
        }
        3 => {
            let elements: Vec<_> = (0..below(40)).map(pair).collect();
            if vector.try_extend_from_slice(&elements).is_ok() {
                model.extend_from_slice(&elements);
            }
        }
        4 => {
            let count = below(40);
            if vector.try_extend((0..count).map(pair)).is_ok() {
                model.extend((0..count).map(pair));
            } else {
                // Elements before the refusal stay.
                let kept = vector.len() - model.len();
                assert!(kept < count);
                model.extend((0..kept).map(pair));
            }
        }
        5 => assert_eq!(vector.pop(), model.pop()),
        6 => {
            vector.retain(|&(_, word)| word % 3 != 0);
            model.retain(|&(_, word)| word % 3 != 0);
        }
        7 => {
            let removed = vector.swap_remove(number % 50);
            let expected = (number % 50 < model.len()).then(|| model.swap_remove(number % 50));
            assert_eq!(removed, expected);
        }
        _ => {
            let length = below(60);
            if below(2) == 0 {
                vector.truncate(length);
                model.truncate(length);
            } else if vector.try_reserve(length).is_ok() {
                assert!(vector.capacity() >= vector.len() + length);
            }
        }
    }
    assert_eq!(vector[..], model[..]);
    assert!(vector.capacity() >= vector.len());
}

fn refuse(ledger: &Ledger, below: &mut impl FnMut(usize) -> usize) {
    ledger.refuse(match below(5) {
        0 => Refusal::Once(below(3)),
        1 => Refusal::From(below(3)),
        2 => Refusal::PanicOnce(below(3)),
        _ => Refusal::Never,
    });
}

/// Several vectors of one scope beside stamped views, trims and refusals; then recycled uses of their slots.
fn program(pool: &mut Pool<Heap>, ledger: &Ledger, below: &mut impl FnMut(usize) -> usize) {
    refuse(ledger, below);
    let scope = pool.scope();
    let mut vectors = Vec::new();
    let mut views = Vec::new();
    for number in 0..2 + below(2) {
        if let Ok(vector) = scope.try_acquire_vec::<Pair>(below(20)) {
            vectors.push((vector, Vec::new()));
        }
        if let Ok(view) = scope.try_acquire::<u64, _>(below(30)) {
            stamp(view, number as u64);
            views.push((view, number as u64));
        }
    }
    for _ in 0..rounds(60, 12) {
        match below(12) {
            0 => drop(scope.trim()),
            1 => scope.sample_lengths(),
            2 => drop(scope.compact(&Compaction { minimum_bytes: 1, ..Compaction::default() })),
            _ => {}
        }
        for (vector, model) in &mut vectors {
            // A panic of the allocator leaves a vector as it was.
            let before = model.clone();
            if catch_quietly(|| step(vector, model, below)).is_err() {
                *model = before;
                vector.truncate(model.len());
                assert_eq!(vector[..], model[..]);
            }
        }
        views.iter().for_each(|(view, owner)| assert_stamped(view, *owner));
    }
    ledger.refuse(Refusal::Never);
    for (vector, model) in vectors {
        assert_eq!(vector.into_slice(), model);
    }
    let scope = pool.scope();
    for _ in 0..8 {
        assert_initialised(scope.acquire::<u8, _>(1 + below(900)));
    }
}

#[test]
fn vectors_agree_with_vectors_of_the_heap() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut below = |end: usize| if end == 0 { 0 } else { random.usize(..end) };
    for round in 0..rounds(300, 1) {
        let config = PoolConfig::new().poison(round % 5 == 4).fresh(round % 7 == 6);
        let (mut pool, ledger) = pool_with::<Heap>(config.byte_limit(40_000));
        for _ in 0..rounds(10, 2) {
            // An uncaught panic of the allocator ends only the program.
            _ = catch_quietly(|| program(&mut pool, &ledger, &mut below)).map_err(|panic| {
                let text = pool_conformance::panics::text(panic.as_ref());
                assert!(text.starts_with("the test panics instead"), "{text}");
            });
        }
        drop(pool);
        assert_eq!(ledger.live_blocks(), 0);
    }
}

/// Miri protects the references in an argument until the function returns. Meanwhile the vector
/// itself writes its old block, and so do later acquires from its former block.
#[test]
fn a_vector_that_is_passed_by_value_may_grow() {
    fn fill<'s>(scope: &Scope<'s, Heap>, mut vector: HeapVec<'_, 's>) -> &'s mut [u64] {
        let taken = vector.capacity() as u64;
        for number in 0..40 {
            vector.push(number);
            scope.acquire_with(vector.len() + 2, |_| u64::MAX);
        }
        assert_eq!(vector[..3], [0, 1, 2], "from a capacity of {taken}");
        vector.into_slice()
    }

    type HeapVec<'a, 's> = PoolVec<'a, 's, Heap, u64>;
    let (mut pool, _) = pool_of::<Heap>();
    for capacity in [0, 1, 3, 16, 0] {
        // In the second pass, the vector grows in the block that it was acquired in.
        for _ in 0..2 {
            let scope = pool.scope();
            let filled = fill(&scope, scope.acquire_vec(capacity));
            assert!(filled.iter().copied().eq(0..40), "from a capacity of {capacity}");
        }
    }
}

#[test]
fn a_growth_that_fails_leaves_the_vector_as_it_was() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    let mut vector = scope.acquire_vec(4);
    vector.extend((0..4).map(pair));
    while vector.len() < vector.capacity() {
        vector.push(pair(vector.len()));
    }
    ledger.refuse(Refusal::From(0));
    let length = vector.len();
    let error = vector.try_extend_from_slice(&[pair(0); 500]).unwrap_err();
    assert!(matches!(error, PoolError::OutOfMemory { .. }), "{error}");
    assert!(vector.try_reserve(usize::MAX).is_err() && vector.try_reserve(usize::MAX / 2).is_err());
    assert!(vector.iter().copied().eq((0..length).map(pair)));
    assert!(panic_text(|| vector.reserve(500)).contains("cannot allocate a block of"));
    ledger.refuse(Refusal::Once(0));
    vector.extend_from_slice(&[pair(0); 500]);
    ledger.refuse(Refusal::PanicOnce(0));
    assert!(catch_quietly(|| vector.reserve(50_000)).is_err());
    assert!(vector[..length].iter().copied().eq((0..length).map(pair)));
    assert_eq!(vector.len(), length + 500);
    assert_active::<Heap>(scope.active_slots(), 1);
}

#[test]
fn a_vector_has_the_methods_of_a_vector_of_the_heap() {
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let (mut first, mut second) = (scope.acquire_vec(0), scope.acquire_vec(1));
    first.extend(&[pair(1), pair(2)]);
    second.extend([pair(5), pair(5), pair(3)]);
    first.append(&mut second);
    assert!(second.is_empty() && second.capacity() >= 3);
    first.dedup();
    assert_eq!(first[..], [1, 2, 5, 3].map(pair));
    assert!(first.drain(1..=1).eq([pair(2)]) && first.drain(3..).len() == 0);
    let mut fixed = scope.acquire_fixed_vec(4);
    fixed.resize(2, pair(7)).unwrap();
    assert_eq!(fixed.resize(5, pair(8)).unwrap_err().capacity, 4);
    let mut other = scope.acquire_fixed_vec(3);
    other.try_extend([1, 2, 3].map(pair)).unwrap();
    assert_eq!(fixed.append(&mut other).unwrap_err().element, pair(3));
    assert_eq!((fixed.len(), other.len()), (2, 3));
    assert_eq!(other.drain(..2).len(), 2);
    fixed.append(&mut other).unwrap();
    fixed.insert(1, pair(9)).unwrap();
    assert_eq!(fixed.insert(0, pair(9)).unwrap_err().element, pair(9));
    assert_eq!((fixed.remove(0), fixed.remove(3)), (Some(pair(7)), None));
    assert!(fixed.into_iter().eq([9, 7, 3].map(pair)));
    assert!(first.into_iter().rev().eq([3, 5, 1].map(pair)));
    assert!(
        panic_text(|| second.insert(1, pair(1)))
            .contains("cannot insert at index 1: the length is only 0")
    );
    assert!(panic_text(|| second.drain(1..).len()).contains("range start index 1"));
}

#[test]
fn a_vector_of_no_size_never_grows() {
    let count = rounds(1_000, 10);
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    let mut units = scope.acquire_vec(0);
    units.extend(iter::repeat_n((), count));
    assert_eq!((units.len(), units.capacity(), ledger.allocations()), (count, usize::MAX, 0));
    units.retain(|()| false);
    assert!(units.try_reserve(usize::MAX).is_ok() && units.into_slice().is_empty());
}

#[test]
fn compaction_leaves_a_vector_the_block_that_it_grew_to() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let fill = |pool: &mut Pool<Heap>| {
        let scope = pool.scope();
        let mut vector = scope.acquire_vec(1);
        vector.extend(0..rounds(1_000, 200) as u64);
    };
    (0..3).for_each(|_| fill(&mut pool));
    pool.sample_lengths();
    fill(&mut pool);
    let before = ledger.allocations();
    pool.compact(&Compaction { minimum_bytes: 1, ..Compaction::default() });
    (0..3).for_each(|_| fill(&mut pool));
    assert_eq!(ledger.allocations(), before);
}

#[test]
fn a_vector_marks_as_far_as_it_was_filled() {
    let (mut pool, _) = pool_of::<Heap>();
    for round in 0..4 {
        let mut bytes = 0;
        {
            let scope = pool.scope();
            let mut vector = scope.acquire_vec(3);
            // The first time in one block after the other, then in the existing block.
            vector.extend((1..=200).map(pair));
            bytes += size_of_val(&vector[..]);
        }
        assert_eq!(pool.scope().acquire::<u8, _>(bytes), vec![0; bytes], "round {round}");
        pool.scope().acquire_fixed_vec(100).try_extend((1..=90).map(pair)).unwrap();
        assert_eq!(pool.scope().acquire::<u8, _>(bytes), vec![0; bytes], "round {round}");
        pool.scope().acquire_vec(0).extend((1..=50).map(f64::from));
        assert_ne!(pool.scope().acquire::<u8, _>(8), [0; 8], "numbers mark nothing");
    }
}

#[test]
fn iterators_are_collected_whatever_they_say() {
    /// An iterator with a false size hint.
    struct FalseHint(usize, (usize, Option<usize>));
    impl Iterator for FalseHint {
        type Item = usize;
        fn next(&mut self) -> Option<usize> {
            self.0 = self.0.checked_sub(1)?;
            Some(self.0)
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            self.1
        }
    }
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let expected: Vec<_> = (0..100).rev().collect();
    for hint in [(0, None), (0, Some(0)), (usize::MAX, None), (1_000, Some(1)), (100, Some(100))] {
        assert_eq!(scope.acquire_from_iter(FalseHint(100, hint)), expected, "{hint:?}");
        assert_eq!(scope.acquire_from_iter(FalseHint(0, hint)), [0; 0], "{hint:?}");
    }
    assert_active::<Heap>(scope.active_slots(), 10);
    let text = String::from("some words of text");
    let words: &mut [&str] = scope.acquire_from_iter(text.split(' '));
    assert_eq!(words, ["some", "words", "of", "text"]);
}

#[test]
fn an_iterator_may_acquire_collect_panic_and_fail() {
    let (mut pool, ledger) = pool_of::<Heap>();
    for _ in 0..2 {
        let scope = pool.scope();
        let outer = scope.acquire_from_iter((0..8_usize).map(|number| {
            let inner = scope.acquire_from_iter((0..number).map(pair));
            (scope.acquire_with(inner.len(), |i| inner[i])[..].len(), address(inner))
        }));
        assert!(outer.iter().enumerate().all(|(number, &(length, _))| length == number));
        assert_active::<Heap>(scope.active_slots(), 17);
    }
    let made = Cell::new(0);
    let endless = || {
        iter::from_fn(|| {
            made.set(made.get() + 1);
            if made.get() == 50 { panic!("at 50") } else { Some(pair(made.get())) }
        })
    };
    let scope = pool.scope();
    assert_eq!(panic_text(|| scope.acquire_from_iter(endless())), "at 50");
    assert_active::<Heap>(scope.active_slots(), 1);
    pool.trim();
    ledger.refuse(Refusal::From(2));
    let scope = pool.scope();
    let error = scope.try_acquire_from_iter(iter::from_fn(|| Some(pair(1)))).unwrap_err();
    assert!(matches!(error, PoolError::OutOfMemory { .. }), "{error}");
    assert_active::<Heap>(scope.active_slots(), 0);
    ledger.refuse(Refusal::Never);
    assert_eq!(scope.acquire::<u8, _>(4_000), [0; 4_000], "and zeroed");
}

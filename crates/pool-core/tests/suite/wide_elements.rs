//! Elements with a larger alignment than blocks: they begin at a multiple of their alignment, stay
//! within one block, and behave as all others do. The module is compiled for both layouts
//! (`super::Heap`).

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use pool_conformance::{Ledger, Refusal};
use pool_core::{DynamicPool, Pool, PoolConfig, PoolError, Scope};

use super::Heap;
use crate::support::{address, assert_initialised, pool_of, pool_with, rounds};

/// Plain data of one vector register, two cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(128))]
struct Wide([u64; 16]);

/// A page with padding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(4096))]
struct Page {
    first: u8,
    last: u64,
}

/// No bytes, and an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(1024))]
struct Nothing;

fn wide(owner: usize, index: usize) -> Wide {
    Wide([(owner << 32 | index) as u64; 16])
}

fn page(owner: usize, index: usize) -> Page {
    Page { first: owner.to_le_bytes()[0], last: (owner << 32 | index) as u64 }
}

/// Checks that a view is aligned and within one live block; returns its addresses.
#[track_caller]
fn assert_placed<T>(ledger: &Ledger, view: &[T]) -> Range<usize> {
    let start = address(view);
    assert_eq!(start % align_of::<T>(), 0, "{} elements", view.len());
    if size_of_val(view) > 0 {
        let (block, bytes) = ledger.block_of(start).expect("a view of a live block");
        assert!(start + size_of_val(view) <= block + bytes, "{} elements end outside", view.len());
    }
    start..start + size_of_val(view)
}

/// A live array, and its expected contents.
enum Live<'s> {
    Wide(usize, &'s mut [Wide]),
    Page(usize, &'s mut [Page]),
    Word(usize, &'s mut [u64]),
}

impl Live<'_> {
    #[track_caller]
    fn check(&self) {
        match self {
            Self::Wide(owner, view) => {
                assert!(
                    view.iter().enumerate().all(|(index, found)| *found == wide(*owner, index))
                );
            }
            Self::Page(owner, view) => {
                assert!(
                    view.iter().enumerate().all(|(index, found)| *found == page(*owner, index))
                );
            }
            Self::Word(owner, view) => assert!(view.iter().all(|&word| word == *owner as u64)),
        }
    }
}

/// Acquires an array of a random kind, checks its address, and writes it.
fn acquire<'s>(
    scope: &Scope<'s, Heap>,
    ledger: &Ledger,
    random: &mut fastrand::Rng,
    owner: usize,
) -> (Live<'s>, Range<usize>) {
    let length = random.usize(0..9);
    match random.u8(0..9) {
        0 => {
            let view = scope.acquire::<Wide, _>(length);
            assert_initialised(bytemuck::cast_slice(view));
            let place = assert_placed(ledger, view);
            view.iter_mut().enumerate().for_each(|(index, element)| *element = wide(owner, index));
            (Live::Wide(owner, view), place)
        }
        1 => {
            let view = scope.acquire_zeroed::<Wide, _>(length);
            assert!(view.iter().all(|element| *element == Wide([0; 16])));
            let place = assert_placed(ledger, view);
            view.iter_mut().enumerate().for_each(|(index, element)| *element = wide(owner, index));
            (Live::Wide(owner, view), place)
        }
        2 => {
            let source: Vec<_> = (0..length).map(|index| wide(owner, index)).collect();
            let view = scope.acquire_from(&source);
            let place = assert_placed(ledger, view);
            (Live::Wide(owner, view), place)
        }
        3 => {
            let view = scope.acquire_filled(length.min(1), wide(owner, 0));
            let place = assert_placed(ledger, view);
            (Live::Wide(owner, view), place)
        }
        4 => {
            let view = scope.acquire_with(length, |index| page(owner, index));
            let place = assert_placed(ledger, view);
            (Live::Page(owner, view), place)
        }
        5 => {
            let mut vector = scope.acquire_vec::<Page>(random.usize(0..3));
            (0..length).for_each(|index| vector.push(page(owner, index)));
            let view = vector.into_slice();
            let place = assert_placed(ledger, view);
            (Live::Page(owner, view), place)
        }
        6 => {
            let mut vector = scope.acquire_fixed_vec::<Page>(length);
            (0..length).for_each(|index| vector.push(page(owner, index)).unwrap());
            let view = vector.into_slice();
            let place = assert_placed(ledger, view);
            (Live::Page(owner, view), place)
        }
        7 => {
            let dims: &[usize] = &[length, 1, 2];
            let mut view = scope.acquire_zeroed::<Wide, _>(dims);
            assert_eq!(view.len(), 2 * length);
            let elements = view.as_mut_slice();
            let place = assert_placed(ledger, elements);
            elements.fill(wide(owner, 0));
            assert!(elements.iter().all(|element| *element == wide(owner, 0)));
            // Only its address is checked again.
            (Live::Word(owner, &mut []), place)
        }
        _ => {
            let view = scope.acquire::<u64, _>(20 * length);
            assert_initialised(bytemuck::cast_slice(view));
            let place = assert_placed(ledger, view);
            view.fill(owner as u64);
            (Live::Word(owner, view), place)
        }
    }
}

/// Runs nested scopes of random arrays. No two live ones overlap, and each keeps its contents.
fn run(
    scope: &mut Scope<'_, Heap>,
    ledger: &Ledger,
    random: &mut fastrand::Rng,
    outer: &[Range<usize>],
    depth: usize,
) {
    let mut places = outer.to_vec();
    let mut live = Vec::new();
    for _ in 0..random.usize(1..4) {
        let (array, place) = acquire(scope, ledger, random, places.len());
        for other in &places {
            assert!(
                place.is_empty()
                    || other.is_empty()
                    || place.end <= other.start
                    || other.end <= place.start,
                "{place:x?} overlaps {other:x?}"
            );
        }
        places.push(place);
        live.push(array);
    }
    if depth > 0 {
        run(&mut scope.scope(), ledger, random, &places, depth - 1);
    }
    live.iter().for_each(Live::check);
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn wide_elements_of_random_programs_are_aligned_and_apart() {
    for config in [
        PoolConfig::new(),
        PoolConfig::new().growth_factor(1.0),
        PoolConfig::new().poison(true),
        PoolConfig::new().fresh(true),
        PoolConfig::new().measure_live_bytes(true),
    ] {
        for seed in 0..rounds(60, 1) as u64 {
            let (mut pool, ledger) = pool_with::<Heap>(config);
            let mut random = fastrand::Rng::with_seed(seed);
            for _ in 0..rounds(20, 2) {
                run(&mut pool.scope(), &ledger, &mut random, &[], 3);
                if random.u8(0..8) == 0 {
                    pool.trim();
                }
            }
        }
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn a_length_of_wide_elements_that_fitted_once_is_never_cold_again() {
    for length in [1, 2, 7, 100] {
        let (mut pool, ledger) = pool_of::<Heap>();
        for pass in 0..6 {
            let before = (pool.stats().cold_acquires, ledger.allocations());
            let scope = pool.scope();
            assert_placed(&ledger, scope.acquire::<Wide, _>(length));
            assert_placed(&ledger, scope.acquire_zeroed::<Wide, _>([length, 2]).as_slice());
            drop(scope);
            if pass > 2 && <Heap as crate::support::HasSlots>::HAS_SLOTS {
                assert_eq!((pool.stats().cold_acquires, ledger.allocations()), before);
            }
            assert!(pass < 3 || ledger.allocations() == before.1, "{length} in pass {pass}");
        }
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn padding_of_wide_elements_is_zeroed_to_its_last_byte() {
    let (mut pool, ledger) = pool_of::<Heap>();
    for pass in 0..4 {
        let scope = pool.scope();
        let pages = scope.acquire_uninit::<Page, _>(3);
        let place = assert_placed(&ledger, pages);
        let bytes = pages.as_mut_ptr().cast::<u8>();
        // SAFETY: three pages of memory that need not be initialised, and nothing else views them.
        unsafe { bytes.write_bytes(0xAB, 3 * size_of::<Page>()) };
        drop(scope);
        let scope = pool.scope();
        // From the start of the same memory to the end of the pages.
        let read = scope.acquire::<u8, _>(4 * size_of::<Page>());
        let found = assert_placed(&ledger, read);
        if pass > 2 {
            assert!(found.start <= place.start && place.end <= found.end, "the same memory");
        }
        assert!(read.iter().all(|&byte| byte == 0), "pass {pass}");
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn poison_reaches_the_last_byte_of_wide_elements() {
    let (mut pool, ledger) = pool_with::<Heap>(PoolConfig::new().poison(true));
    for _ in 0..3 {
        let scope = pool.scope();
        let view = scope.acquire::<Wide, _>(5);
        assert_placed(&ledger, view);
        assert!(view.iter().all(|element| *element == Wide([u64::MAX; 16])));
        view.fill(Wide([0; 16]));
    }
}

#[test]
fn wide_elements_without_bytes_are_aligned() {
    let (mut pool, _) = pool_of::<Heap>();
    for _ in 0..3 {
        let scope = pool.scope();
        scope.acquire::<u8, _>(1);
        assert_eq!(address(scope.acquire::<Nothing, _>(5)) % 1024, 0);
        assert_eq!(address(scope.acquire::<Wide, _>(0)) % 128, 0);
        assert_eq!(address(scope.acquire_with(0, |_| page(0, 0))) % 4096, 0);
        let mut vector = scope.acquire_vec::<Nothing>(0);
        vector.extend([Nothing; 3]);
        assert_eq!((vector.len(), address(&vector) % 1024), (3, 0));
    }
}

#[test]
fn lengths_of_wide_elements_that_overflow_are_reported_as_asked() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    for elements in [usize::MAX, usize::MAX - 1, isize::MAX as usize / 128, isize::MAX as usize] {
        let error = scope.try_acquire::<Wide, _>(elements).unwrap_err();
        assert!(
            matches!(error, PoolError::SizeOverflow { elements: reported, element_size: 128 } if reported == elements),
            "{error}"
        );
        let error = scope.try_acquire_vec::<Page>(elements).unwrap_err();
        assert!(
            matches!(error, PoolError::SizeOverflow { elements: reported, element_size: 4096 } if reported == elements),
            "{error}"
        );
        let mut vector = scope.try_acquire_vec::<Page>(0).unwrap();
        let error = vector.try_reserve(elements).unwrap_err();
        assert!(
            matches!(error, PoolError::SizeOverflow { elements: reported, element_size: 4096 } if reported == elements),
            "{error}"
        );
    }
    assert_eq!(ledger.allocations(), 0);
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn a_refused_vector_of_wide_elements_keeps_what_it_has() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    let mut vector = scope.acquire_vec::<Page>(2);
    vector.push(page(1, 0));
    vector.push(page(1, 1));
    ledger.refuse(Refusal::From(0));
    let full = (vector.capacity()..100).find_map(|index| vector.try_push(page(1, index)).err());
    assert!(full.is_some(), "no memory is left at some length");
    ledger.refuse(Refusal::Never);
    let length = vector.len();
    vector.push(page(1, length));
    assert!(vector.iter().enumerate().all(|(index, found)| *found == page(1, index)));
    assert_placed(&ledger, &vector);
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn kept_wide_elements_stay_aligned() {
    let (mut pool, ledger) = pool_of::<Heap>();
    for _ in 0..4 {
        let mut scope = pool.scope();
        let first = scope.acquire_with(1, |index| page(1, index));
        let kept = scope.keep(|inner| {
            inner.acquire::<u64, _>(700);
            inner.acquire_with(3, |index| page(2, index))
        });
        let last = scope.acquire_with(2, |index| wide(3, index));
        assert_placed(&ledger, kept);
        assert!(kept.iter().enumerate().all(|(index, found)| *found == page(2, index)));
        assert_eq!((first[0], last[1]), (page(1, 0), wide(3, 1)));
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: for Miri's symbolic check, memory has the alignment of its block"
)]
fn handles_name_wide_elements() {
    let mut pool = DynamicPool::<Heap>::new(Ledger::new());
    for round in 0..3 {
        let narrow = pool.acquire_filled(3, 7_u64);
        let handle = pool.acquire_filled(5, wide(round, 0));
        let after = pool.acquire_filled(3, 8_u64);
        pool.get_mut(handle).unwrap()[4] = wide(round, 9);
        let view = pool.get(handle).unwrap();
        assert_eq!((address(view) % 128, view[0], view[4]), (0, wide(round, 0), wide(round, 9)));
        assert_eq!(
            (pool.get(narrow).unwrap(), pool.get(after).unwrap()),
            (&[7; 3][..], &[8; 3][..])
        );
        pool.reset();
    }
}

/// The error of a wide element beyond the limit has the requested bytes.
#[test]
fn a_wide_element_beyond_the_limit_is_refused_with_numbers() {
    let mut pool =
        Pool::<Heap>::with_config(Ledger::new(), PoolConfig::new().byte_limit(4096)).unwrap();
    let error = pool.scope().try_acquire_with(1, |_| page(0, 0)).unwrap_err();
    let PoolError::LimitExceeded { requested, reserved: 0, limit: 4096 } = error else {
        panic!("{error}")
    };
    assert!((4096..=4 * 4096).contains(&requested), "{requested}");
}

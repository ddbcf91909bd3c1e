//! Lengths and products that no memory holds: at the end of the number range, and in release builds too. Over slots and
//! over stacks.

use std::fmt::Debug;

use pool_conformance::Refusal;
use pool_core::{PodElement, PoolError, Scope, ShapeError};

use super::Heap;
use crate::support::{
    assert_active, assert_stamped, panic_text, pool_of, rounds, slots_per_table, stamp, take,
};

/// Lengths at which an unchecked `+ 1`, `* size` or rounding up would wrap.
fn near_the_end(size: usize) -> Vec<usize> {
    let mut lengths = Vec::new();
    for base in [usize::MAX, isize::MAX as usize, usize::MAX / size, isize::MAX as usize / size] {
        for distance in 0..rounds(9, 2) {
            lengths.push(base - distance);
            lengths.push(base.saturating_add(distance));
        }
    }
    let words = size.div_ceil(8);
    lengths.extend([usize::MAX / 8, usize::MAX / words, usize::MAX / (8 * words) + 1]);
    lengths.retain(|&length| length.checked_mul(size).is_none_or(|bytes| bytes > 1 << 30));
    lengths
}

#[track_caller]
fn assert_refused<T: PodElement + Debug>(scope: &Scope<'_, Heap>, length: usize) {
    let active = scope.active_slots();
    let error = scope.try_acquire::<T, _>(length).unwrap_err();
    // Sizes that do not divide a word are counted in whole words.
    let size = size_of::<T>();
    let counted = if 8 % size == 0 { size } else { size.next_multiple_of(8) };
    let fits_an_address_space =
        length.checked_mul(counted).is_some_and(|bytes| bytes <= isize::MAX as usize - 128);
    match error {
        PoolError::SizeOverflow { elements, element_size } => {
            assert_eq!((elements, element_size), (length, size_of::<T>()));
            assert!(!fits_an_address_space, "{length} elements are no overflow");
        }
        PoolError::OutOfMemory { requested, .. } => {
            assert!(requested >= length * size_of::<T>(), "{requested} for {length}");
        }
        other => panic!("{other:?} for {length} elements"),
    }
    assert!(scope.try_acquire_zeroed::<T, _>(length).is_err());
    assert!(scope.try_acquire_filled(length, T::zeroed()).is_err());
    assert!(
        scope.try_acquire_with(length, |_| -> T { unreachable!("there is no block") }).is_err()
    );
    assert!(scope.try_acquire::<T, _>([length, 1]).is_err());
    assert!(scope.try_acquire::<T, _>(&[1, length][..]).is_err());
    assert_eq!(scope.active_slots(), active, "{length} elements took a slot");
}

/// All lengths near the end, at a slot that has `warm` elements' worth of block.
fn refuse_all<T: PodElement + Debug>(warm: usize) {
    let (mut pool, ledger) = pool_of::<Heap>();
    pool.scope().acquire::<T, _>(warm);
    ledger.refuse(Refusal::Above(1 << 20));
    for length in near_the_end(size_of::<T>()) {
        let mut scope = pool.scope();
        assert_refused::<T>(&scope, length);
        let own = scope.acquire::<u64, _>(4);
        stamp(own, 1);
        assert_refused::<T>(&scope.scope(), length);
        assert_stamped(own, 1);
    }
}

macro_rules! for_sizes {
    ($check:ident($argument:expr): $($size:literal)+) => {$(
        $check::<[u8; $size]>($argument);
    )+};
}

#[test]
fn lengths_near_usize_max_release_build() {
    for warm in [0, 100] {
        if cfg!(miri) {
            for_sizes!(refuse_all(warm): 1 5 12);
        } else {
            for_sizes!(refuse_all(warm): 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
        }
    }
    refuse_all::<f64>(100);
    refuse_all::<f32>(100);
}

#[test]
fn lengths_near_usize_max_on_the_sentinel() {
    let per_table = slots_per_table();
    let (mut pool, ledger) = pool_of::<Heap>();
    ledger.refuse(Refusal::Above(1 << 20));
    let scope = pool.scope();
    take(&scope, per_table, 0);
    for length in near_the_end(5) {
        assert_refused::<[u8; 5]>(&scope, length);
    }
    assert_eq!(scope.acquire::<u64, _>(3).len(), 3);
    assert_active::<Heap>(scope.active_slots(), per_table + 1);
}

#[test]
fn product_and_byte_overflow_rejected() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    let half = usize::MAX / 2 + 1;
    let most = isize::MAX as usize;
    let impossible: [&[usize]; 8] = [
        &[usize::MAX, 2],
        &[half, 2],
        &[2, half],
        &[most / 8 + 1, 1],
        &[usize::MAX, 2, 0],
        &[0, usize::MAX, 2],
        &[2, 0, usize::MAX],
        &[1 << (usize::BITS / 2), 1 << (usize::BITS / 2), 0],
    ];
    for dims in impossible {
        let expected = PoolError::Shape(ShapeError::Overflow { rank: dims.len(), element_size: 8 });
        assert_eq!(scope.try_acquire::<f64, _>(dims).unwrap_err(), expected, "{dims:?}");
        match *dims {
            [rows, columns] => {
                let error = scope.try_acquire_zeroed::<f64, _>([rows, columns]).unwrap_err();
                assert_eq!(error, expected, "{dims:?}");
            }
            [planes, rows, columns] => {
                let error = scope.try_acquire_filled((planes, rows, columns), 0.0).unwrap_err();
                assert_eq!(error, expected, "{dims:?}");
            }
            _ => unreachable!("two or three axes"),
        }
    }
    assert_active::<Heap>(scope.active_slots(), 0);
    assert_eq!(ledger.allocations(), 0);
    assert_eq!(scope.acquire::<f64, _>([most / 8, 0, 1]).len(), 0, "the others alone would fit");
    let text = panic_text(|| scope.acquire::<f64, _>([usize::MAX, 2, 0]));
    let expected = ShapeError::Overflow { rank: 3, element_size: 8 };
    assert_eq!(text, expected.to_string());
}

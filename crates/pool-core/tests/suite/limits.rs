//! What a pool refuses: lengths beyond an address space and blocks beyond its limit, with everything
//! that is in use unharmed.

use std::fmt::Debug;

use pool_conformance::{HeapBackend, Refusal};
use pool_core::{PodElement, PoolConfig, PoolError, Scope, ShapeError};

use crate::support::{
    address, assert_stamped, heap_pool, heap_pool_with, panic_text, rounds, slots_per_table, stamp,
    take,
};

type HeapScope<'s> = Scope<'s, HeapBackend>;

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
fn assert_refused<T: PodElement + Debug>(scope: &HeapScope<'_>, length: usize) {
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
    let (mut pool, ledger) = heap_pool();
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
    let (mut pool, ledger) = heap_pool();
    ledger.refuse(Refusal::Above(1 << 20));
    let scope = pool.scope();
    take(&scope, per_table, 0);
    for length in near_the_end(5) {
        assert_refused::<[u8; 5]>(&scope, length);
    }
    assert_eq!(scope.acquire::<u64, _>(3).len(), 3);
    assert_eq!(scope.active_slots(), per_table + 1);
}

#[test]
fn product_and_byte_overflow_rejected() {
    let (mut pool, ledger) = heap_pool();
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
    assert_eq!((scope.active_slots(), ledger.allocations()), (0, 0));
    assert_eq!(scope.acquire::<f64, _>([most / 8, 0, 1]).len(), 0, "the others alone would fit");
    let text = panic_text(|| scope.acquire::<f64, _>([usize::MAX, 2, 0]));
    let expected = ShapeError::Overflow { rank: 3, element_size: 8 };
    assert_eq!(text, expected.to_string());
}

#[test]
fn limit_trim_retry_three_scopes_open() {
    let limit = 10 * 1024;
    let (mut pool, ledger) = heap_pool_with(PoolConfig::new().byte_limit(limit));
    ledger.refuse(Refusal::Above(limit));
    let mut outer = pool.scope();
    let first = outer.acquire::<u64, _>(127);
    stamp(first, 1);
    let mut middle = outer.scope();
    let second = middle.acquire::<u64, _>(127);
    stamp(second, 2);
    {
        // Idle afterwards: 4 blocks of 2 KiB, and with the two in use the limit is reached.
        let deeper = middle.scope();
        take(&deeper, 4, 255);
        assert_eq!(deeper.stats().reserved_bytes, limit);
    }
    let inner = middle.scope();
    let third = inner.acquire::<u64, _>(100);
    stamp(third, 3);
    assert_eq!(ledger.live_blocks(), 6);

    // 3 KiB fit only when the three idle blocks are freed; the one in slot 2 is in use.
    let fourth = inner.acquire::<u64, _>(383);
    stamp(fourth, 4);
    assert_eq!((ledger.live_blocks(), ledger.live_bytes()), (4, 7 * 1024));

    let error = inner.try_acquire::<u64, _>(384).unwrap_err();
    let expected = PoolError::LimitExceeded { requested: 3136, reserved: 7 * 1024, limit };
    assert_eq!(error, expected);
    assert_eq!(panic_text(|| inner.acquire::<u64, _>(384)), error.to_string());
    assert_eq!(inner.active_slots(), 4);

    let fifth = inner.acquire::<u64, _>(383);
    stamp(fifth, 5);
    assert_eq!(inner.stats().reserved_bytes, limit);
    for (view, owner) in [first, second, third, fourth, fifth].into_iter().zip(1..) {
        assert_stamped(view, owner);
    }
    assert_eq!(ledger.refused(), 0, "at no moment were more bytes live than the limit allows");
}

#[test]
fn limit_counts_the_old_block_as_free_when_its_slot_grows() {
    let (mut pool, ledger) = heap_pool_with(PoolConfig::new().byte_limit(2048));
    ledger.refuse(Refusal::Above(2048));
    pool.scope().acquire::<u64, _>(127);
    // Old and new together are above the limit, the new one alone is not.
    assert_eq!(pool.scope().acquire::<u64, _>(255).len(), 255);
    assert_eq!((ledger.live_bytes(), ledger.refused()), (2048, 0));
    let error = pool.scope().try_acquire::<u64, _>(256).unwrap_err();
    assert_eq!(error, PoolError::LimitExceeded { requested: 2112, reserved: 0, limit: 2048 });
    assert_eq!(ledger.live_bytes(), 0, "the retry freed what was idle");
    assert_eq!(pool.scope().acquire::<u64, _>(255).len(), 255);
}

#[test]
fn limit_lowered_below_what_is_reserved() {
    let (mut pool, ledger) = heap_pool();
    let held = address(pool.scope().acquire::<u64, _>(1000));
    pool.configure(PoolConfig::new().byte_limit(100)).unwrap();
    assert_eq!(pool.stats().byte_limit, 100);
    assert_eq!(address(pool.scope().acquire::<u64, _>(1000)), held, "what is there stays");
    {
        let scope = pool.scope();
        let own = scope.acquire::<u64, _>(1000);
        stamp(own, 1);
        assert!(matches!(
            scope.try_acquire::<u64, _>(1),
            Err(PoolError::LimitExceeded { requested: 64, limit: 100, .. })
        ));
        assert_eq!(scope.acquire::<u64, _>(0).len(), 0);
        assert_stamped(own, 1);
    }
    pool.trim();
    assert_eq!(pool.scope().acquire::<u64, _>(1).len(), 1);
    assert_eq!(ledger.live_bytes(), 64);
}

#[test]
fn limit_zero_refuses_every_block_but_no_empty_view() {
    let (mut pool, ledger) = heap_pool_with(PoolConfig::new().byte_limit(0));
    let scope = pool.scope();
    assert_eq!(
        scope.try_acquire::<u8, _>(1).unwrap_err(),
        PoolError::LimitExceeded { requested: 64, reserved: 0, limit: 0 }
    );
    assert_eq!(scope.acquire::<u8, _>(0).len(), 0);
    assert_eq!(scope.acquire::<(), _>(10).len(), 10);
    assert_eq!((scope.active_slots(), ledger.allocations()), (2, 0));
}

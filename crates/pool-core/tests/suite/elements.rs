//! Every element size: a view is always inside its block, and a length that fitted once is never more than a compare
//! again. Only elements for which any bytes are a value get recycled contents.

use bytemuck::{NoUninit, Pod, Zeroable};
use pool_conformance::Ledger;
use pool_core::{PodElement, PoolConfig};

use crate::support::{address, heap_pool, rounds, stamp};

/// Runs a generic check for `[u8; SIZE]` of all the sizes.
macro_rules! for_sizes {
    ($check:ident: $($size:literal)+) => {$( $check::<[u8; $size]>(); )+};
}

/// Checks that all elements of a view are within one block, and writes them.
#[track_caller]
fn assert_inside<T: Pod>(ledger: &Ledger, view: &mut [T], length: usize) -> (usize, usize) {
    assert_eq!(view.len(), length);
    let (start, bytes) = ledger.block_of(address(view)).expect("a view of a live block");
    assert_eq!(start, address(view));
    assert!(size_of_val(view) <= bytes, "{length} of {} bytes in {bytes}", size_of::<T>());
    bytemuck::cast_slice_mut::<T, u8>(view).fill(0xA5);
    (start, bytes)
}

/// Rising and falling lengths in one slot, between a slot below and one above that must not change.
fn exact_and_conservative<T: PodElement>() {
    let (mut pool, ledger) = heap_pool();
    let mut scope = pool.scope();
    let below = scope.acquire::<u64, _>(8);
    stamp(below, 1);
    let most = rounds(200, 3);
    for length in (0..most).chain((0..most).rev()).chain([rounds(1000, 70), 63, 64, 65]) {
        let inner = scope.scope();
        let view = inner.acquire::<T, _>(length);
        if length > 0 && size_of::<T>() > 0 {
            assert_inside(&ledger, view, length);
        }
        assert_eq!(address(view) % align_of::<T>(), 0);
        let above = inner.acquire::<u64, _>(8);
        stamp(above, 2);
        crate::support::assert_stamped(below, 1);
        crate::support::assert_stamped(above, 2);
    }
    let blocks = 2 + usize::from(size_of::<T>() > 0);
    assert_eq!(ledger.live_blocks(), blocks, "one block for each slot");
}

#[test]
fn element_sizes_0_to_24_exact_and_conservative() {
    if cfg!(miri) {
        for_sizes!(exact_and_conservative: 0 3 24);
    } else {
        for_sizes!(exact_and_conservative: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
    }
    exact_and_conservative::<u16>();
    exact_and_conservative::<f32>();
    exact_and_conservative::<f64>();
    exact_and_conservative::<u128>();
    exact_and_conservative::<[f32; 3]>();
}

/// Returns `true` if a length fits a block by the documented compare: `words(n)` strictly below the
/// capacity, in words of 8 bytes; worked out here from the block's bytes, independently of the
/// pool.
fn fits_by_the_documented_compare(length: usize, size: usize, block_bytes: usize) -> bool {
    let capacity = block_bytes / 8;
    if 8 % size == 0 {
        return length / (8 / size) < capacity;
    }
    length < capacity / size.div_ceil(8)
}

/// Warm lengths always cost a compare: nothing is allocated and nothing goes to the cold function.
fn never_cold_again<T: PodElement>() {
    let size = size_of::<T>();
    let lengths: &[usize] =
        if cfg!(miri) { &[1, 9] } else { &[1, 2, 3, 7, 8, 9, 63, 64, 100, 1000] };
    for &length in lengths {
        let (mut pool, ledger) = heap_pool();
        let (start, bytes) = assert_inside(&ledger, pool.scope().acquire::<T, _>(length), length);
        assert!(fits_by_the_documented_compare(length, size, bytes), "{length} of {size} bytes");
        for again in [length, length - 1, length / 2, length] {
            let scope = pool.scope();
            let view = scope.acquire::<T, _>(again);
            assert_eq!((view.len(), address(view)), (again, start));
        }
        assert_eq!((ledger.allocations(), pool.stats().growths), (1, 1), "{length} of {size}");
        assert_eq!(pool.stats().cold_acquires, 1, "{length} of {size} bytes went cold again");

        // A capacity that grew by the factor also suffices.
        let (_, grown) =
            assert_inside(&ledger, pool.scope().acquire::<T, _>(2 * length), 2 * length);
        assert!(fits_by_the_documented_compare(2 * length, size, grown));
        let cold = pool.stats().cold_acquires;
        for again in 0..=2 * length {
            pool.scope().acquire::<T, _>(again);
        }
        assert_eq!(pool.stats().cold_acquires, cold, "up to {} of {size} bytes", 2 * length);
    }
}

#[test]
fn steady_state_never_cold_for_every_size() {
    if cfg!(miri) {
        for_sizes!(never_cold_again: 1 3 24);
    } else {
        for_sizes!(never_cold_again: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
    }
    never_cold_again::<f32>();
    never_cold_again::<f64>();
    never_cold_again::<[f32; 3]>();
    never_cold_again::<[f64; 3]>();
}

#[test]
fn one_slot_serves_every_element_type() {
    let (mut pool, ledger) = heap_pool();
    let block = address(pool.scope().acquire::<[u64; 8], _>(64));
    for round in 0..3 {
        assert_eq!(address(pool.scope().acquire_filled(64, round)), block);
        assert_eq!(address(pool.scope().acquire_filled(64, 1.5_f32)), block);
        assert_eq!(address(pool.scope().acquire_filled(64, true)), block);
        assert_eq!(address(pool.scope().acquire_filled(64, 'x')), block);
        assert_eq!(address(pool.scope().acquire_filled(64, i128::MIN)), block);
        assert_eq!(address(pool.scope().acquire::<[u8; 5], _>(64)), block);
    }
    assert_eq!(ledger.allocations(), 1);
}

/// Counts after looking at every element, so that Miri sees each value.
fn count_true(flags: &[bool]) -> usize {
    flags.iter().filter(|&&flag| flag).count()
}

#[test]
fn bool_never_from_recycled() {
    let (mut pool, _) = heap_pool();
    for poison in [false, true] {
        pool.configure(PoolConfig::new().poison(poison)).unwrap();
        pool.scope().acquire::<u8, _>(100).fill(0x42);
        assert_eq!(count_true(pool.scope().acquire_zeroed::<bool, _>(100)), 0);
        pool.scope().acquire::<u8, _>(100).fill(0x42);
        assert_eq!(count_true(pool.scope().acquire_filled(100, true)), 100);
        pool.scope().acquire::<u8, _>(100).fill(0x42);
        assert_eq!(count_true(pool.scope().acquire_from(&[true, false, true])), 2);
        pool.scope().acquire::<u8, _>(100).fill(0x42);
        assert_eq!(count_true(pool.scope().acquire_with(100, |index| index % 4 == 0)), 25);
        pool.scope().acquire::<u8, _>(100).fill(0x42);
        let array = pool.scope().acquire_zeroed::<bool, _>([5, 20]);
        assert_eq!(count_true(array.as_slice()), 0);
        pool.scope().acquire::<u8, _>(100).fill(0x42);
        let array = pool.scope().acquire_filled(&[5, 2, 10][..], true);
        assert_eq!(count_true(array.as_slice()), 100);
        pool.scope().acquire::<u8, _>(100).fill(0x42);
        let array = pool.scope().acquire_with([5, 20], |[row, _]| row == 1);
        assert_eq!(count_true(array.as_slice()), 20);
    }
}

/// A type of the user's own that is no `Pod`, because of the `bool`.
#[derive(Clone, Copy, Debug, PartialEq, Zeroable, NoUninit)]
#[repr(C)]
struct Cell {
    age: u16,
    alive: bool,
    kind: u8,
}

/// A type of the user's own that is `Pod`.
#[derive(Clone, Copy, Debug, PartialEq, Zeroable, Pod)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    charge: i32,
}

#[test]
fn derived_elements() {
    let (mut pool, _) = heap_pool();
    pool.scope().acquire::<u8, _>(400).fill(0xFF);
    let dead = Cell { age: 0, alive: false, kind: 0 };
    let scope = pool.scope();
    assert_eq!(scope.acquire_zeroed::<Cell, _>(50), [dead; 50]);
    let born = scope.acquire_from(&[0, 1, 2].map(|age| Cell { age, alive: true, kind: 2 }));
    assert_eq!(born[2], Cell { age: 2, alive: true, kind: 2 });
    assert_eq!(scope.acquire_from(born)[1].age, 1);

    let particles = scope.acquire::<Particle, _>(9);
    let electron = Particle { position: [1.0, 2.0, 3.0], charge: -1 };
    particles.fill(electron);
    assert_eq!(scope.acquire_from(particles), [electron; 9]);
}

#[cfg(feature = "half")]
#[test]
fn half_precision_elements() {
    use pool_core::half::{bf16, f16};
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let halves = scope.acquire_filled(5, f16::from_f32(0.5));
    let brains = scope.acquire_with(3, |index| bf16::from_f32(index as f32));
    assert_eq!(halves.iter().map(|half| half.to_f32()).sum::<f32>(), 2.5);
    assert_eq!(brains.iter().map(|brain| brain.to_f32()).sum::<f32>(), 3.0);
    assert!(scope.acquire_zeroed::<f16, _>(4).iter().all(|half| half.to_f32() == 0.0));
    assert_eq!(scope.acquire::<bf16, _>(7).len(), 7);
}

#[cfg(feature = "complex")]
#[test]
fn complex_elements() {
    use pool_core::num_complex::Complex;
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let unit = Complex::new(0.0_f64, 1.0);
    let numbers = scope.acquire_filled(4, unit);
    numbers.iter_mut().for_each(|number| *number *= unit);
    assert_eq!(numbers, [Complex::new(-1.0, 0.0); 4]);
    let singles = scope.acquire::<Complex<f32>, _>(6);
    singles.fill(Complex::new(1.0, -1.0));
    assert_eq!(singles.iter().sum::<Complex<f32>>(), Complex::new(6.0, -6.0));
}

//! Arrays of dynamic rank through the shape cache: the header of a hit is right after any change of
//! the slot, the block and the cache, and the cache keeps and evicts as documented.

use ndarray::{ArrayD, ArrayRef, IxDyn};
use pool_core::{Pool, PoolConfig, PoolError, Scope, ShapeError};
use pool_cpu::{AcquireArray, Cpu};

use crate::arrays::dynamic_shapes;

/// Acquires, holds the header against `ndarray`'s own of the shape, and uses every element.
fn acquire_checked<'s>(scope: &Scope<'s, Cpu>, dims: &[usize]) -> &'s mut ArrayRef<f64, IxDyn> {
    let array = scope.acquire_array_dyn::<f64>(dims);
    let own = ArrayD::<f64>::zeros(IxDyn(dims));
    assert_eq!((array.shape(), array.strides()), (own.shape(), own.strides()));
    assert_eq!(array.as_ptr().addr() % 64, 0);
    for (element, i) in array.iter_mut().zip(0_u32..) {
        *element = f64::from(i);
    }
    let slice = array.as_slice().expect("standard layout");
    assert!(slice.iter().zip(0_u32..).all(|(&value, i)| value == f64::from(i)), "{dims:?}");
    array
}

#[test]
fn every_rank_on_misses_and_hits() {
    let shapes = dynamic_shapes();
    let mut pool = Pool::<Cpu>::new(());
    for pass in 0..3 {
        let scope = pool.scope();
        let live = shapes.map(|dims| acquire_checked(&scope, dims));
        // All at once: no two share an element.
        for (array, value) in live.into_iter().zip(0_u32..) {
            array.fill(f64::from(value));
            assert!(array.iter().all(|&element| element == f64::from(value)));
        }
        let stats = scope.stats();
        let count = shapes.len() as u64;
        assert_eq!((stats.shape_misses, stats.shape_hits), (count, pass * count));
    }
}

#[test]
fn equal_shapes_without_elements_are_two_arrays() {
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..3 {
        let scope = pool.scope();
        for dims in [&[0, 3][..], &[2, 0, 4]] {
            let (left, right) = (acquire_checked(&scope, dims), acquire_checked(&scope, dims));
            left.invert_axis(ndarray::Axis(1));
            right.swap_axes(0, 1);
            assert_eq!((left.len(), right.len()), (0, 0));
        }
        // More shapes than ways, while the first header is in use.
        let kept = acquire_checked(&scope, &[0, 1]);
        for i in 0..6 {
            acquire_checked(&scope, &[0, i]);
        }
        assert_eq!(kept.shape(), [0, 1]);
    }
    assert_eq!(pool.stats().growths, 0);
}

#[test]
fn rank_0_is_one_element() {
    let mut pool = Pool::<Cpu>::new(());
    for value in 0..3_u32 {
        let scope = pool.scope();
        let array = scope.acquire_array_dyn::<u32>(&[]);
        assert_eq!((array.ndim(), array.len()), (0, 1));
        array[[]] = value;
        assert_eq!(array.as_slice(), Some(&[value][..]));
    }
    assert_eq!(pool.stats().shape_hits, 2);
}

#[test]
fn elements_without_size_have_any_length() {
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..2 {
        let scope = pool.scope();
        assert_eq!(scope.acquire_array_dyn::<()>(&[3, 4]).len(), 12);
        let most = isize::MAX as usize;
        assert_eq!(scope.acquire_array_dyn::<()>(&[most]).len(), most);
        assert_eq!(scope.acquire_array_dyn::<[f64; 0]>(&[2, 3, 1, 1, 2]).len(), 12);
        let error = scope.try_acquire_array_dyn::<()>(&[most, 2]).map(|array| array.len());
        assert_eq!(error, Err(PoolError::Shape(ShapeError::Overflow { rank: 2, element_size: 0 })));
    }
    assert_eq!(pool.stats().growths, 0);
}

#[test]
fn impossible_shapes_are_errors_and_take_no_slot() {
    let most = isize::MAX as usize;
    let shapes: [&[usize]; 7] = [
        &[usize::MAX],
        &[usize::MAX, 2],
        &[2, usize::MAX, 0],
        &[usize::MAX, 2, 0],
        &[0, most, 2],
        &[most / 8 + 1],
        &[1 << 16, 1 << 16, 1 << 16, 1 << 16, 1 << 16],
    ];
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    for dims in shapes {
        let error = scope.try_acquire_array_dyn::<f64>(dims).map(|array| array.len());
        let expected = ShapeError::Overflow { rank: dims.len(), element_size: 8 };
        assert_eq!(error, Err(PoolError::Shape(expected)), "{dims:?}");
        assert_eq!(scope.try_acquire::<f64, _>(dims).unwrap_err(), PoolError::Shape(expected));
    }
    // The most elements that a shape without elements may name.
    assert_eq!(scope.acquire_array_dyn::<u8>(&[most, 0]).shape(), [most, 0]);
    assert_eq!(scope.active_slots(), 1);
    let stats = scope.stats();
    assert_eq!((stats.shape_misses, stats.growths), (1, 0));
}

#[test]
#[should_panic(expected = "the shape with 2 axes is too large")]
fn the_twin_without_try_panics_with_the_error() {
    let mut pool = Pool::<Cpu>::new(());
    pool.scope().acquire_array_dyn::<f64>(&[usize::MAX, 2]);
}

/// Acceptance case 12: the block moves between two uses of a shape.
#[test]
fn no_stale_header_after_growth() {
    let (small, large): (&[usize], &[usize]) =
        if cfg!(miri) { (&[4, 4], &[12, 12]) } else { (&[10, 10], &[100, 100]) };
    let mut pool = Pool::<Cpu>::new(());
    for dims in [small, large, small, large, small] {
        let block = pool.scope().acquire::<f64, _>(dims.iter().product::<usize>()).as_ptr();
        let scope = pool.scope();
        let array = acquire_checked(&scope, dims);
        assert_eq!(array.as_ptr(), block, "the header names the block that the slot has now");
    }
    assert_eq!(pool.stats().growths, 2);
}

/// Freed and allocated again, maybe at the same address: the old header must not be used, because the
/// address it was made from is dead.
#[test]
fn shape_set_cleared_on_trim_same_address() {
    let mut pool = Pool::<Cpu>::new(());
    let mut same_address = 0;
    let mut last = 0;
    for _ in 0..20 {
        {
            let scope = pool.scope();
            let address = acquire_checked(&scope, &[3, 2, 1, 1, 2]).as_ptr().addr();
            same_address += usize::from(address == last);
            last = address;
        }
        pool.trim();
    }
    let stats = pool.stats();
    assert_eq!((stats.shape_hits, stats.shape_misses), (0, 20));
    println!("{same_address} of 19 blocks came back at their former address");
}

#[test]
fn shape_key_has_element_type() {
    let mut pool = Pool::<Cpu>::new(());
    for pass in 0..3 {
        {
            let scope = pool.scope();
            let array = scope.acquire_array_dyn::<f32>(&[2, 3]);
            array.fill(1.0);
            assert_eq!(array.sum(), 6.0);
        }
        {
            let scope = pool.scope();
            let array = scope.acquire_array_dyn::<u32>(&[2, 3]);
            array.fill(7);
            assert_eq!(array.sum(), 42);
        }
        let scope = pool.scope();
        let array = scope.acquire_array_dyn::<[u8; 2]>(&[2, 3]);
        array.fill([1, 2]);
        assert!(array.iter().all(|&element| element == [1, 2]));
        let stats = scope.stats();
        assert_eq!((stats.shape_misses, stats.shape_hits), (3, 3 * pass));
    }
}

/// The shape of an array and the header of another share a way when the same slot serves both.
#[test]
fn arrays_by_value_and_by_header_share_the_cache() {
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..3 {
        {
            let scope = pool.scope();
            let mut array = scope.acquire_filled::<f64, _>(&[2, 3, 4, 5, 1][..], 1.0);
            array[[1, 2, 3, 4, 0]] = 5.0;
            assert_eq!(array.as_slice().iter().sum::<f64>(), 124.0);
        }
        let scope = pool.scope();
        acquire_checked(&scope, &[2, 3, 4, 5, 1]);
    }
    let stats = pool.stats();
    assert_eq!((stats.shape_misses, stats.shape_hits), (1, 5));
}

/// Returns `true` if an acquire of `[1, axis]` hits, on the first slot of a pool.
fn hits(pool: &mut Pool<Cpu>, axis: usize) -> bool {
    let before = pool.stats();
    acquire_checked(&pool.scope(), &[1, axis]);
    let after = pool.stats();
    let (hits, misses) =
        (after.shape_hits - before.shape_hits, after.shape_misses - before.shape_misses);
    assert_eq!(hits + misses, 1);
    hits == 1
}

/// Acceptance case 11, first half: shapes in the number of the ways are all kept.
#[test]
fn four_shapes_a_hundred_times_are_all_hits() {
    let mut pool = Pool::<Cpu>::new(());
    for axis in [1, 2, 3, 4] {
        assert!(!hits(&mut pool, axis));
    }
    // The block grew with the shapes, and each growth forgot the shapes that were there.
    for axis in [1, 2, 3] {
        assert!(hits(&mut pool, axis), "a block has room for a few elements more than asked for");
    }
    let passes = if cfg!(miri) { 5 } else { 100 };
    for _ in 0..passes {
        for axis in [1, 2, 3, 4] {
            assert!(hits(&mut pool, axis));
        }
    }
    assert_eq!(pool.stats().growths, 1);
}

/// Acceptance case 11, second half: with `ways` ways full, misses evict 0, 1, 2, … and 0 again, and
/// hits do not move the place.
#[test]
fn eviction_is_round_robin_and_hits_do_not_advance_it() {
    let numbers_of_ways: &[usize] = if cfg!(miri) { &[1, 3] } else { &[1, 2, 4, 16] };
    for &ways in numbers_of_ways {
        let config = PoolConfig::new().ways(ways);
        let mut pool = Pool::<Cpu>::with_config((), config).unwrap();
        // A block that is large enough for all, so that none of them makes it grow.
        pool.scope().acquire::<f64, _>(100);
        let mut kept: Vec<usize> = (1..=ways).collect();
        assert!(kept.iter().all(|&axis| !hits(&mut pool, axis)));
        let mut outside = ways + 1;
        for eviction in 0..2 * ways + 1 {
            // Every kept shape hits, in an order and number of its own each time.
            for turn in 0..(ways + eviction % 3) {
                assert!(hits(&mut pool, kept[(turn * 3 + eviction) % ways]));
            }
            assert!(!hits(&mut pool, outside), "{ways} ways, eviction {eviction}");
            outside = std::mem::replace(&mut kept[eviction % ways], outside);
            assert!(kept.iter().all(|&axis| hits(&mut pool, axis)), "way {}", eviction % ways);
        }
        assert_eq!(pool.stats().growths, 1);
    }
}

/// With room in the set, nothing is evicted, for any earlier configuration.
#[test]
fn fewer_ways_take_effect() {
    let mut pool = Pool::<Cpu>::new(());
    pool.scope().acquire::<f64, _>(100);
    assert!([1, 2, 3, 4].iter().all(|&axis| !hits(&mut pool, axis)));
    pool.configure(PoolConfig::new().ways(1)).unwrap();
    assert!(!hits(&mut pool, 4) && hits(&mut pool, 4));
    assert!(!hits(&mut pool, 3) && !hits(&mut pool, 4));
}

#[test]
fn modes_for_finding_mistakes_apply_to_arrays() {
    let mut pool = Pool::<Cpu>::with_config((), PoolConfig::new().poison(true)).unwrap();
    for _ in 0..2 {
        let scope = pool.scope();
        let array = scope.acquire_array_dyn::<f32>(&[3, 1, 1, 1, 2]);
        assert!(array.iter().all(|value| value.is_nan()));
        array.fill(1.0);
    }
    assert_eq!(pool.stats().shape_hits, 1, "a block that stays keeps its shapes");
    pool.configure(PoolConfig::new().fresh(true)).unwrap();
    for _ in 0..3 {
        let scope = pool.scope();
        let array = acquire_checked(&scope, &[3, 1, 1, 1, 2]);
        assert_eq!(array.len(), 6);
    }
    let stats = pool.stats();
    assert_eq!((stats.growths, stats.shape_hits), (4, 1), "a new block forgets the shapes");
}

/// A pool with cached headers goes to another thread and back.
#[test]
fn headers_move_with_their_pool() {
    fn pass(pool: &mut Pool<Cpu>) {
        let scope = pool.scope();
        for dims in dynamic_shapes() {
            acquire_checked(&scope, dims);
        }
    }
    let mut pool = Pool::<Cpu>::new(());
    pass(&mut pool);
    let mut pool = std::thread::spawn(move || {
        pass(&mut pool);
        pool
    })
    .join()
    .unwrap();
    pass(&mut pool);
    assert_eq!(pool.stats().shape_misses, dynamic_shapes().len() as u64);
}

//! The shape cache: hits that allocate nothing, eviction in order, and no entry that outlives the
//! block or serves another element type.

use pool_conformance::HeapBackend;
use pool_core::{Pool, PoolConfig, Scope};

use crate::backends::{Event, logged_pool, take_events};
use crate::counting::allocations_in;
use crate::support::{address, heap_pool, heap_pool_with, rounds, slots_per_table};

/// Returns `true` if the shape is in the set of the scope's next slot; asking puts it there.
fn hit(pool: &mut Pool<HeapBackend>, dims: &[usize]) -> bool {
    let before = pool.stats();
    let array = pool.scope().acquire::<f64, _>(dims);
    assert_eq!(array.shape(), dims);
    let after = pool.stats();
    let (hits, misses) =
        (after.shape_hits - before.shape_hits, after.shape_misses - before.shape_misses);
    assert_eq!(hits + misses, 1);
    hits == 1
}

/// Row-major strides, worked out from the last axis.
fn row_major(dims: &[usize]) -> Vec<usize> {
    (0..dims.len()).map(|axis| dims[axis + 1..].iter().product()).collect()
}

#[test]
fn four_shapes_used_many_times_allocate_nothing_and_always_hit() {
    let (mut pool, ledger) = heap_pool();
    let shapes: [&[usize]; 4] = [&[5, 10], &[10, 5], &[7, 7, 1], &[2, 1, 2, 1, 2, 3]];
    let mut use_all = || {
        for dims in shapes {
            let mut array = pool.scope().acquire::<f64, _>(dims);
            assert_eq!((array.shape(), array.rank()), (dims, dims.len()));
            let last: Vec<_> = dims.iter().map(|extent| extent - 1).collect();
            *array.get_mut(&last).unwrap() = 1.0;
        }
    };
    use_all();
    let blocks = ledger.allocations();
    let times = rounds(100, 5);
    for _ in 0..times {
        use_all();
    }
    assert_eq!(ledger.allocations(), blocks);
    assert_eq!(pool.stats().shape_misses, 4);
    assert_eq!(pool.stats().shape_hits, 4 * times as u64);
    // Without the test's own vectors: nothing on the host either.
    let on_the_host = allocations_in(|| {
        for dims in shapes {
            std::hint::black_box(pool.scope().acquire::<f64, _>(dims));
        }
    });
    assert_eq!(on_the_host, 0);
}

#[test]
fn fifth_shape_evicts_exactly_round_robin() {
    let (mut pool, _) = heap_pool();
    let shape = |number: usize| [number + 1, 2, 3];
    // Large enough for all of them: growth would clear the set.
    pool.scope().acquire::<f64, _>(1000);
    for number in 0..4 {
        assert!(!hit(&mut pool, &shape(number)));
    }
    // Ways 0, 1, 2, 3 and 0 again are evicted; hits in between do not change the order.
    let mut ways = [0, 1, 2, 3];
    for (new, victim) in (4..12).zip([0, 1, 2, 3].into_iter().cycle()) {
        for held in ways {
            assert!(hit(&mut pool, &shape(held)), "{held} is held before {new} comes");
        }
        let evicted = ways[victim];
        assert!(!hit(&mut pool, &shape(new)));
        ways[victim] = new;
        for held in ways.into_iter().rev() {
            assert!(hit(&mut pool, &shape(held)), "{held} is held after {new} evicted {evicted}");
        }
        // Not exactly the number of ways: each hit would turn the order all the way round.
        for _ in 0..new % 3 + 1 {
            assert!(hit(&mut pool, &shape(new)));
        }
    }
    assert!(!hit(&mut pool, &shape(0)));
}

#[test]
fn shapes_that_begin_like_others_are_different_shapes() {
    let (mut pool, _) = heap_pool_with(PoolConfig::new().ways(16));
    pool.scope().acquire::<f64, _>(100);
    let shapes: [&[usize]; 8] =
        [&[4, 1, 1], &[4, 1], &[4], &[], &[1], &[1, 4], &[4, 1, 1, 4, 1, 1], &[4, 1, 1, 1]];
    for dims in shapes {
        assert!(!hit(&mut pool, dims), "{dims:?}");
    }
    for dims in shapes {
        assert!(hit(&mut pool, dims), "{dims:?}");
        assert_eq!(pool.scope().acquire::<f64, _>(dims).strides(), row_major(dims));
    }
}

#[test]
fn ways_are_as_many_as_configured() {
    for ways in [1, 2, 4, 16] {
        let (mut pool, _) = heap_pool_with(PoolConfig::new().ways(ways));
        pool.scope().acquire::<f64, _>(1000);
        for number in 0..ways {
            assert!(!hit(&mut pool, &[number + 1, 2]));
        }
        for number in 0..ways {
            assert!(hit(&mut pool, &[number + 1, 2]), "{number} of {ways}");
        }
        assert!(!hit(&mut pool, &[100, 2]));
        assert!(!hit(&mut pool, &[1, 2]), "evicted first");
    }
}

#[test]
fn ways_follow_a_new_configuration() {
    let (mut pool, _) = heap_pool();
    pool.scope().acquire::<f64, _>(1000);
    assert!(!hit(&mut pool, &[2, 2]));
    pool.configure(PoolConfig::new().ways(1)).unwrap();
    assert!(!hit(&mut pool, &[2, 2]));
    assert!(!hit(&mut pool, &[3, 2]));
    assert!(!hit(&mut pool, &[2, 2]), "there is one way now");
    assert!(hit(&mut pool, &[2, 2]));
}

#[test]
fn shape_set_cleared_on_trim_same_address() {
    // This backend reuses a freed block, so the address is certainly the same.
    let (mut pool, _) = logged_pool(PoolConfig::new());
    let dims = &[3, 4][..];
    let first = address(pool.scope().acquire::<f64, _>(dims).into_view());
    assert_eq!((pool.stats().shape_hits, pool.stats().shape_misses), (0, 1));
    for round in 1..4 {
        pool.trim();
        let mut array = pool.scope().acquire::<f64, _>(dims);
        assert_eq!((array.shape(), array.strides()), (dims, &[4, 1][..]));
        array[[2, 3]] = 1.0;
        assert_eq!(address(array.as_slice()), first, "the same address, {round}");
        assert_eq!((pool.stats().shape_hits, pool.stats().shape_misses), (0, 1 + round));
    }
}

#[test]
fn shape_set_cleared_when_the_block_grows_and_dropped_before_it_is_freed() {
    let (mut pool, _) = logged_pool(PoolConfig::new());
    pool.scope().acquire::<f64, _>(&[3, 4][..]);
    pool.scope().acquire::<f64, _>(&[4, 3][..]);
    take_events();
    pool.scope().acquire::<f64, _>(&[30, 40][..]);
    let kinds: Vec<_> = take_events()
        .into_iter()
        .map(|event| match event {
            Event::Allocated { .. } => "allocated",
            Event::FreeCalled { .. } => "freed",
            Event::DescriptorDropped => "descriptor dropped",
            Event::ContextDropped => "context dropped",
        })
        .collect();
    let expected = ["allocated", "descriptor dropped", "descriptor dropped", "freed"];
    assert_eq!(kinds, expected);
    pool.scope().acquire::<f64, _>(&[3, 4][..]);
    assert_eq!((pool.stats().shape_hits, pool.stats().shape_misses), (0, 4));
}

#[test]
fn ten_by_ten_then_hundred_by_hundred_has_no_stale_shape() {
    let (mut pool, ledger) = heap_pool();
    for (edge, dims) in [(10, [10, 10]), (100, [100, 100]), (10, [10, 10]), (100, [100, 100])] {
        let mut array = pool.scope().acquire::<f64, _>(&dims[..]);
        array[[edge - 1, edge - 1]] = 1.0;
        array[[0, 0]] = 2.0;
        assert_eq!((array.shape(), array.strides()), (&dims[..], &[edge, 1][..]));
        let (start, bytes) = ledger.block_of(address(array.as_slice())).unwrap();
        assert_eq!(address(array.as_slice()), start);
        assert!(bytes >= edge * edge * 8);
    }
    assert_eq!(ledger.live_blocks(), 1);
}

#[test]
fn shape_key_has_element_type() {
    let (mut pool, ledger) = heap_pool();
    let dims = &[3, 4][..];
    // Large enough for all of them, so that no growth clears the set.
    pool.scope().acquire::<u8, _>(1000);
    for (hits, misses) in [(0, 3), (3, 3)] {
        let mut singles = pool.scope().acquire::<f32, _>(dims);
        singles[[2, 3]] = 1.0;
        assert_eq!((singles.shape(), size_of_val(singles.as_slice())), (dims, 48));
        let mut doubles = pool.scope().acquire::<f64, _>(dims);
        doubles[[2, 3]] = 1.0;
        assert_eq!((doubles.shape(), size_of_val(doubles.as_slice())), (dims, 96));
        let mut of_equal_size = pool.scope().acquire::<u64, _>(dims);
        of_equal_size[[2, 3]] = 1;
        assert_eq!((pool.stats().shape_hits, pool.stats().shape_misses), (hits, misses));
    }
    assert_eq!(ledger.allocations(), 1);
}

#[test]
fn shape_zero_length_two_live() {
    let (mut pool, ledger) = heap_pool();
    for _ in 0..2 {
        let scope = pool.scope();
        let first = scope.acquire::<f64, _>(&[0, 3][..]);
        let second = scope.acquire::<f64, _>(&[0, 3][..]);
        // More shapes than one set has ways, all of them live.
        let more: Vec<_> =
            (1..8).map(|extent| scope.acquire::<f64, _>(&[extent, 0, 2][..])).collect();
        assert_eq!((first.shape(), second.shape()), (&[0, 3][..], &[0, 3][..]));
        assert_eq!((first.strides(), second.strides()), (&[0, 0][..], &[0, 0][..]));
        for (extent, array) in (1..8).zip(&more) {
            assert_eq!((array.shape(), array.len()), (&[extent, 0, 2][..], 0));
        }
        assert_eq!(scope.active_slots(), 9);
    }
    assert_eq!(ledger.allocations(), 0);
    assert_eq!((pool.stats().shape_hits, pool.stats().shape_misses), (9, 9));
}

#[test]
fn shape_sets_stable_when_table_appended() {
    let per_table = slots_per_table();
    let (mut pool, _) = heap_pool();
    for _ in 0..2 {
        let mut outer = pool.scope();
        let held: Vec<_> =
            (1..5).map(|extent| outer.acquire_filled(&[extent, 2][..], extent)).collect();
        {
            let inner = outer.scope();
            for extent in 0..rounds(3, 1) * per_table {
                let mut array = inner.acquire::<u64, _>(&[1, extent % 7, 2][..]);
                array.as_mut_slice().fill(u64::MAX);
            }
        }
        for (extent, array) in (1..5).zip(&held) {
            assert_eq!((array.shape(), array.strides()), (&[extent, 2][..], &[2, 1][..]));
            assert_eq!(array[[extent - 1, 1]], extent);
        }
    }
}

#[test]
fn shapes_of_any_rank() {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let scalar = scope.acquire_filled(&[][..], 7_u64);
    assert_eq!((scalar.rank(), scalar.len(), scalar[[]]), (0, 1, 7));
    let dims = [2, 1, 3, 1, 2, 1, 1, 2, 1];
    let mut deep = scope.acquire_zeroed::<u64, _>(&dims[..]);
    assert_eq!((deep.rank(), deep.len()), (9, 24));
    assert_eq!(deep.strides(), row_major(&dims));
    deep[[1, 0, 2, 0, 1, 0, 0, 1, 0]] = 5;
    assert_eq!(deep.as_slice()[23], 5);
    assert_eq!(deep.get(&[1, 0, 2]), None, "another rank");
    assert_eq!(scalar.as_slice(), [7]);
}

/// The descriptor's value when it was found, and its new value for the next time.
fn descriptor<T: pool_core::PodElement>(
    scope: &Scope<'_, HeapBackend>,
    dims: &[usize],
    next: u64,
) -> u64 {
    // SAFETY: no view of the block is made, and the descriptor stays in this function.
    let described = unsafe { scope.try_acquire_described::<T>(dims) }.unwrap();
    assert_eq!(described.shape.dims(), dims);
    assert_eq!(described.shape.strides(), row_major(dims));
    assert_eq!(described.length, dims.iter().product::<usize>());
    std::mem::replace(described.descriptor, next)
}

#[test]
fn descriptor_stays_with_its_shape_type_and_block() {
    let (mut pool, _) = heap_pool_with(PoolConfig::new().ways(2));
    assert_eq!(descriptor::<f64>(&pool.scope(), &[2, 3], 23), 0);
    assert_eq!(descriptor::<f64>(&pool.scope(), &[2, 3], 24), 23, "as it was left");
    assert_eq!(descriptor::<u64>(&pool.scope(), &[2, 3], 25), 0, "another type");
    assert_eq!(descriptor::<f64>(&pool.scope(), &[2, 3], 24), 24);
    assert_eq!(descriptor::<f64>(&pool.scope(), &[3, 2], 32), 0, "evicts the first");
    assert_eq!(descriptor::<u64>(&pool.scope(), &[2, 3], 25), 25);
    assert_eq!(descriptor::<f64>(&pool.scope(), &[2, 3], 24), 0, "was evicted");
    {
        let scope = pool.scope();
        scope.acquire::<u8, _>(1);
        assert_eq!(descriptor::<f64>(&scope, &[2, 3], 99), 0, "another slot");
        assert_eq!(scope.active_slots(), 2);
    }
    assert_eq!(descriptor::<f64>(&pool.scope(), &[2, 3], 1), 24);
    pool.trim();
    assert_eq!(descriptor::<f64>(&pool.scope(), &[2, 3], 1), 0, "another block");
    pool.configure(PoolConfig::new()).unwrap();
    assert_eq!(descriptor::<f64>(&pool.scope(), &[2, 3], 1), 0, "another configuration");
    // SAFETY: nothing is made of the block.
    assert!(unsafe { pool.scope().try_acquire_described::<f64>(&[usize::MAX, 2]) }.is_err());
}

/// Shapes of one element or a few, and of any rank up to seventeen, each against the same shape
/// with one bit of one axis changed. The two never match, and each matches itself.
#[test]
fn a_shape_that_differs_in_one_bit_of_one_axis_is_another() {
    // One way: a shape is compared with the previous one. A block, so that hits are short.
    let (mut pool, _) = heap_pool_with(PoolConfig::new().ways(1));
    pool.scope().acquire::<u8, _>(1);
    let mut hit = |dims: &[usize]| {
        let before = pool.stats();
        // Elements without size, so that an axis may have any length.
        let array = pool.scope().acquire::<(), _>(dims);
        let length: usize = dims.iter().product();
        assert_eq!((array.shape(), array.len(), array.as_slice().len()), (dims, length, length));
        let strides = if length == 0 { vec![0; dims.len()] } else { row_major(dims) };
        assert_eq!(array.strides(), strides);
        let after = pool.stats();
        assert_eq!(
            (after.growths, after.shape_hits + after.shape_misses),
            (1, before.shape_hits + before.shape_misses + 1)
        );
        after.shape_hits > before.shape_hits
    };
    // The highest bit would make the shape overflow.
    let bits = usize::BITS as usize - 1;
    for rank in 0..=rounds(17, 8) {
        let base = vec![1; rank];
        assert!(!hit(&base), "rank {rank} after one less");
        assert!(hit(&base), "rank {rank}");
        for axis in 0..rank {
            // The lowest bit too: an axis of no elements.
            for bit in 0..rounds(bits, 1) {
                let mut other = base.clone();
                other[axis] ^= 1 << ((bit + 13 * axis) % bits);
                assert!(!hit(&other), "{other:?} after {base:?}");
                assert!(hit(&other), "{other:?}");
                assert!(!hit(&base), "{base:?} after {other:?}");
            }
        }
    }
}

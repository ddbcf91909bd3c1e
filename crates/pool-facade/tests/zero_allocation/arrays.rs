//! Arrays: every fixed rank and dynamic ranks, as the pool's own views and as those of `ndarray`.

use pool_facade::ndarray::{ArrayRef, ArrayViewMut2, Axis, Dim, Dimension, IxDyn, ShapeBuilder};
use pool_facade::prelude::*;

use crate::counting::Calls;
use crate::steady::{never_allocates, stays_warm};

/// Every member of the family for one fixed rank, with a use of each array.
macro_rules! family {
    ($scope:expr, $dims:expr) => {{
        let dims = $dims;
        let count = dims.iter().product::<usize>();
        let mut recycled = $scope.acquire::<f64, _>(dims);
        recycled.as_mut_slice().fill(1.0);
        let zeroed = $scope.acquire_zeroed::<f64, _>(dims);
        let filled = $scope.acquire_filled(dims, 2.0_f64);
        let copied = $scope.acquire_from(filled.as_slice()).reshape(dims);
        let like = $scope.acquire::<f32, _>(copied.dims());
        let made = $scope.acquire_with(dims, |index| index.iter().sum::<usize>() as f64);
        // Pairs have padding, so the slot is marked.
        let pairs = $scope.acquire_with(dims, |index| (1_u8, index[0] as f64));
        assert_eq!((recycled.len(), like.len(), made.len()), (count, count, count));
        assert_eq!(pairs.as_slice()[count - 1], (1, (dims[0] - 1) as f64));
        assert_eq!(zeroed.as_slice()[count - 1] + copied.as_slice()[0], 2.0);
        let mut view = copied.into_ndarray();
        view += &recycled.into_ndarray();
        view.swap_axes(0, dims.len() - 1);
        assert_eq!(view.sum(), 3.0 * count as f64);
        let mut array = $scope.acquire_array::<f64, _>(dims);
        array.fill(0.5);
        assert_eq!(array.iter().sum::<f64>(), 0.5 * count as f64);
    }};
}

#[test]
fn every_fixed_rank() {
    let mut pool = Pool::<Cpu>::new(());
    never_allocates(|| {
        let mut scope = pool.scope();
        family!(scope, [24]);
        family!(scope, [4, 6]);
        let mut inner = scope.scope();
        family!(inner, [2, 3, 4]);
        let inner = inner.scope();
        family!(inner, [2, 3, 2, 2]);
        family!(inner, [2, 1, 3, 2, 2]);
        family!(inner, [1, 2, 3, 1, 2, 2]);
    });
    assert_eq!(pool.stats().growths, 6 * 8);
}

/// By the shapes that `ndarray` takes. For a dynamic rank, only up to 4: `ndarray` keeps those
/// without the heap.
#[test]
fn every_form_of_a_shape() {
    fn family<Sh: ShapeBuilder + Clone>(scope: &Scope<'_, Cpu>, shape: &Sh) {
        let mut recycled = scope.acquire_array::<f64, _>(shape.clone());
        recycled.fill(1.0);
        let mut zeros = scope.try_acquire_array::<f64, _>(shape.clone()).unwrap();
        zeros.fill(0.0);
        recycled += &zeros;
        assert_eq!(recycled.into_iter().len(), zeros.len());
    }
    fn like<D: Dimension>(scope: &Scope<'_, Cpu>, model: &ArrayRef<f64, D>) {
        let mut copy = scope.acquire_array(model.raw_dim());
        copy.assign(model);
    }
    let mut pool = Pool::<Cpu>::new(());
    never_allocates(|| {
        let scope = pool.scope();
        family(&scope, &7);
        family(&scope, &(3, 4));
        family(&scope, &(3, 4).f());
        family(&scope, &Dim([2, 3, 4]).f());
        family(&scope, &(1, 2, 3, 1, 2, 2).f());
        family(&scope, &IxDyn(&[2, 3, 2, 2]));
        family(&scope, &IxDyn(&[2, 3, 2, 2]).f());
        like(&scope, &scope.acquire_zeroed((3, 4)).into_ndarray());
    });
}

#[test]
fn arrays_that_are_reshaped_split_and_sliced() {
    fn transposed_sum(view: &ArrayViewMut2<'_, f64>) -> f64 {
        view.t().rows().into_iter().map(|row| row.sum()).sum()
    }
    std::thread::spawn(|| {
        never_allocates(|| {
            with_pool!(|scope| {
                let (top, bottom) = scope.acquire_filled(60, 1.0_f64).reshape([6, 10]).split_at(2);
                let mut bottom = bottom.reshape([10, 4]).into_ndarray();
                bottom.row_mut(3).fill(2.0);
                assert_eq!(transposed_sum(&bottom), 44.0);
                assert_eq!(top.into_ndarray().index_axis(Axis(0), 1).sum(), 10.0);
            });
        });
    })
    .join()
    .unwrap();
}

const RANKS: [&[usize]; 6] =
    [&[], &[7], &[2, 3, 4, 5], &[2, 1, 2, 3, 2], &[2, 1, 2, 1, 2, 1, 2, 3], &[3, 0, 1, 1, 1, 1]];

#[test]
fn dynamic_ranks() {
    let mut pool = Pool::<Cpu>::new(());
    never_allocates(|| {
        let scope = pool.scope();
        for dims in RANKS {
            let count = dims.iter().product::<usize>();
            let mut array = scope.acquire::<f64, _>(dims);
            array.as_mut_slice().fill(1.0);
            assert_eq!((array.shape(), array.len()), (dims, count));
            let filled = scope.acquire_filled::<f32, _>(dims, 2.0);
            let zeroed = scope.acquire_zeroed::<u64, _>(dims);
            assert_eq!(filled.len() + zeroed.len(), 2 * count);
        }
    });
    assert_eq!(pool.stats().shape_misses, 3 * RANKS.len() as u64);
}

/// `ndarray` keeps up to four axes in place and allocates for more, also when it iterates. The
/// header of a hit exists already, and its slice, its elements and its axes need no allocation.
#[test]
fn arrays_of_dynamic_rank() {
    let mut pool = Pool::<Cpu>::new(());
    never_allocates(|| {
        let scope = pool.scope();
        for dims in RANKS {
            let array: &mut ArrayRef<f64, IxDyn> = scope.acquire_array_dyn(dims);
            array.as_slice_mut().unwrap().fill(1.0);
            assert_eq!((array.shape(), array.ndim()), (dims, dims.len()));
        }
        let array = scope.acquire_array_dyn::<u32>(&[2; 8]);
        array.as_slice_mut().unwrap().fill(1);
        array[[1, 0, 1, 0, 1, 0, 1, 0]] = 5;
        array.swap_axes(0, 7);
        assert_eq!(array[[0, 0, 1, 0, 1, 0, 1, 1]], 5);
        array.swap_axes(7, 0);
        assert_eq!(array.as_slice().unwrap().iter().sum::<u32>(), 260);
    });
    let stats = pool.stats();
    assert_eq!(stats.shape_misses, RANKS.len() as u64 + 1);
}

/// If a header was left in another shape, the next hit makes it again. That hit allocates, and is
/// the only one that does.
#[test]
fn a_header_that_was_changed_is_made_anew_once() {
    let mut pool = Pool::<Cpu>::new(());
    pool.scope().acquire_array_dyn::<u8>(&[2; 8]);
    for _ in 0..3 {
        pool.scope().acquire_array_dyn::<u8>(&[2; 8]).invert_axis(Axis(3));
        let before = Calls::so_far();
        pool.scope().acquire_array_dyn::<u8>(&[2; 8]);
        assert!(Calls::since(before).allocations > 0);
        stays_warm(|| {
            pool.scope().acquire_array_dyn::<u8>(&[2; 8]);
        });
    }
}

/// Shapes in the number of the ways stay in the cache together: acceptance case 11.
#[test]
fn four_shapes_on_one_slot() {
    let shapes: [&[usize]; 4] =
        [&[2; 8], &[4, 2, 2, 2, 2, 2, 2], &[8, 8, 2, 2, 1], &[1, 1, 1, 1, 256]];
    let mut pool = Pool::<Cpu>::new(());
    never_allocates(|| {
        for dims in shapes {
            let scope = pool.scope();
            let array = scope.acquire_array_dyn::<u16>(dims);
            array.as_slice_mut().unwrap().fill(1);
            assert_eq!(array.len(), 256);
        }
    });
    assert_eq!(pool.stats().shape_misses, 4);
}

/// The attack `steady`: eviction goes round robin, so a cycle of one shape more than there are ways
/// always misses. `PoolConfig::ways` documents that, and the remedy.
#[test]
fn five_shapes_in_turn_allocate_once_each_in_four_ways_and_never_in_five() {
    let shape = |pass: usize| [pass % 5, 2, 3];
    let mut pass = 0;
    let mut next = |pool: &mut Pool<Cpu>| {
        pass += 1;
        pool.scope().acquire::<f64, _>(&shape(pass)[..]);
    };
    let mut four = Pool::<Cpu>::new(());
    (0..10).for_each(|_| next(&mut four));
    let (before, growths) = (Calls::so_far(), four.stats().growths);
    let passes = if cfg!(miri) { 10 } else { 100 };
    (0..passes).for_each(|_| next(&mut four));
    assert_eq!(Calls::since(before), Calls { allocations: passes, frees: passes });
    assert_eq!((four.stats().growths, four.stats().shape_hits), (growths, 0));

    let mut five = Pool::<Cpu>::with_config((), PoolConfig::new().ways(5)).unwrap();
    (0..10).for_each(|_| next(&mut five));
    stays_warm(|| next(&mut five));
}

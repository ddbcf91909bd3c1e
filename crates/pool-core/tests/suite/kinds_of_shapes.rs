//! Random shapes of every kind: for each way to write a shape, the array has its lengths, its
//! number of elements, and the requested contents, in row-major order.

use pool_conformance::HeapBackend;
use pool_conformance::programs::{for_all, test_cases};
use pool_core::{NdView, PoolView, Scope};
use proptest::collection::vec;

use crate::support::{heap_pool, rounds};

/// The element of an index: the place of the index in row-major order.
fn place(dims: &[usize], index: &[usize]) -> u64 {
    dims.iter().zip(index).fold(0, |place, (&extent, &at)| place * extent as u64 + at as u64)
}

/// Returns the number of elements with the first index 0.
fn in_first(dims: &[usize]) -> u64 {
    dims[1..].iter().product::<usize>() as u64
}

/// Checks the lengths of an array; returns its elements.
fn checked<T: Copy, D: AsRef<[usize]>>(array: NdView<&mut [T], D>, dims: &[usize]) -> Vec<T> {
    assert_eq!((array.shape(), array.rank()), (dims, dims.len()));
    assert_eq!(array.len(), dims.iter().product::<usize>());
    array.into_view().to_vec()
}

/// Every member of the family, with one shape written as an array and as a tuple.
macro_rules! fixed_rank {
    ($scope:expr, $dims:expr, [$($axis:ident),+]) => {{
        let (scope, dims): (&Scope<'_, HeapBackend>, &[usize]) = ($scope, $dims);
        let &[$($axis),+] = dims else { unreachable!("the rank was looked at") };
        let count = dims.iter().product::<usize>();
        let in_order: Vec<u64> = (0..count as u64).collect();
        fixed_rank!(@forms scope, dims, count, in_order, [$($axis),+]);
        fixed_rank!(@forms scope, dims, count, in_order, ($($axis,)+));
        let copy = scope.acquire_from(&in_order).reshape([$($axis),+]);
        assert_eq!(checked(copy, dims), in_order);
    }};
    (@forms $scope:ident, $dims:ident, $count:ident, $in_order:ident, $shape:expr) => {
        $scope.acquire::<u64, _>($shape).as_mut_slice().fill(9);
        assert_eq!(checked($scope.acquire::<u64, _>($shape), $dims).len(), $count);
        assert_eq!(checked($scope.try_acquire::<u64, _>($shape).unwrap(), $dims).len(), $count);
        assert_eq!(checked($scope.acquire_zeroed::<u64, _>($shape), $dims), vec![0; $count]);
        assert_eq!(checked($scope.acquire_filled($shape, true), $dims), vec![true; $count]);
        let made = $scope.acquire_with($shape, |index| place($dims, &index));
        assert_eq!(checked(made, $dims), $in_order);
        let made = $scope.try_acquire_with($shape, |index| (index[0] == 0, place($dims, &index)));
        let expected: Vec<_> = $in_order.iter().map(|&at| (at < in_first($dims), at)).collect();
        assert_eq!(checked(made.unwrap(), $dims), expected);
        let room = $scope.acquire_uninit::<(u8, u32), _>($shape);
        assert_eq!(checked(room, $dims).len(), $count);
    };
}

fn check(scope: &Scope<'_, HeapBackend>, dims: &[usize]) {
    match dims.len() {
        1 => fixed_rank!(scope, dims, [a]),
        2 => fixed_rank!(scope, dims, [a, b]),
        3 => fixed_rank!(scope, dims, [a, b, c]),
        4 => fixed_rank!(scope, dims, [a, b, c, d]),
        5 => fixed_rank!(scope, dims, [a, b, c, d, e]),
        6 => fixed_rank!(scope, dims, [a, b, c, d, e, f]),
        _ => {}
    }
    let count = dims.iter().product::<usize>();
    // A rank known at run time.
    assert_eq!(checked(scope.acquire::<u16, _>(dims), dims).len(), count);
    assert_eq!(checked(scope.acquire_zeroed::<u64, _>(dims), dims), vec![0; count]);
    assert_eq!(checked(scope.acquire_filled(dims, 'x'), dims), vec!['x'; count]);
    // A length.
    assert_eq!(scope.acquire::<u8, _>(count).len(), count);
    assert_eq!(scope.acquire_zeroed::<f64, _>(count), vec![0.0; count]);
    assert_eq!(scope.acquire_filled(count, 7_u16), vec![7; count]);
    assert_eq!(scope.acquire_with(count, |index| index), (0..count).collect::<Vec<_>>());
    assert_eq!(scope.acquire_uninit::<[u8; 3], _>(count).len(), count);
}

#[test]
fn arrays_have_the_lengths_and_contents_of_their_shapes() {
    let lengths = vec(0..rounds(6, 3), 0..8);
    for_all(test_cases().div_ceil(4), &vec(lengths, 1..4), |shapes| {
        let (mut pool, _) = heap_pool();
        // The second time, the arrays find the memory and the shapes of the first.
        for _ in 0..2 {
            let scope = pool.scope();
            shapes.iter().for_each(|dims| check(&scope, dims));
        }
    });
}

//! LU decompositions, solves and products of faer with all their memory from a scope. There is no
//! allocation after the first pass. Results are checked by the residual, with any contents of the
//! memory.

use cookbook::allocations;
use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::lu::partial_pivoting::{factor, solve};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use pool_facade::prelude::*;

/// Returns an element of a matrix that is far from singular, and needs pivoting.
fn entry(row: usize, column: usize, n: usize) -> f64 {
    let on_diagonal = if (row + 1) % n == column { n as f64 } else { 0.0 };
    on_diagonal + ((7 * row + 13 * column) % 11) as f64 / 11.0
}

/// Solves for three right sides, and returns the largest residual |A·X − B|.
fn residual_of_solve(scope: &mut Scope<'_, Cpu>, n: usize) -> f64 {
    let scope = scope.scope();
    let matrix = scope.acquire_with(n * n, |i| entry(i % n, i / n, n));
    let right = scope.acquire_with(3 * n, |i| (i % 5) as f64);

    let needed = StackReq::any_of(&[
        factor::lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, Default::default()),
        solve::solve_in_place_scratch::<usize, f64>(n, 3, Par::Seq),
    ]);
    let stack = MemStack::new(scope.scratch(needed.size_bytes(), needed.align_bytes()));
    let mut lu = MatMut::from_column_major_slice_mut(scope.acquire_from(matrix), n, n);
    let (rows, inverse) = (scope.acquire::<usize, _>(n), scope.acquire::<usize, _>(n));
    let (lu_mut, params) = (lu.as_mut(), Default::default());
    let (_, rows) = factor::lu_in_place(lu_mut, rows, inverse, Par::Seq, stack, params);
    let mut found = MatMut::from_column_major_slice_mut(scope.acquire_from(right), n, 3);
    solve::solve_in_place(lu.as_ref(), lu.as_ref(), rows, found.as_mut(), Par::Seq, stack);

    let mut residual = MatMut::from_column_major_slice_mut(scope.acquire_from(right), n, 3);
    let matrix = MatRef::from_column_major_slice(matrix, n, n);
    matmul(residual.as_mut(), Accum::Add, matrix, found.as_ref(), -1.0, Par::Seq);
    residual.norm_max()
}

#[test]
fn solves_of_any_size_allocate_nothing() {
    let mut pool = Pool::<Cpu>::new(());
    for n in [1, 2, 9, 40, 150] {
        let mut pass = || {
            let residual = residual_of_solve(&mut pool.scope(), n);
            assert!(residual < 1e-10, "{residual} for {n}");
        };
        pass(); // fills the pool
        for _ in 0..3 {
            assert_eq!(allocations(&mut pass), 0, "{n} rows");
        }
    }
    // After the large sizes, small ones cause no growth.
    let small = || assert!(residual_of_solve(&mut pool.scope(), 40) < 1e-10);
    assert_eq!(allocations(small), 0);
}

/// The slot of a scratch is recycled as numbers, which read as zeros, and not as a routine left
/// them.
#[test]
fn a_scratch_that_is_recycled_is_zeroed() {
    let mut pool = Pool::<Cpu>::new(());
    residual_of_solve(&mut pool.scope(), 9);
    let scope = pool.scope();
    let (_, _, stack) =
        (scope.acquire::<f64, _>(1), scope.acquire::<f64, _>(1), scope.acquire::<u64, _>(9));
    assert_eq!(stack, [0; 9]);
}

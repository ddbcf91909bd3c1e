//! Tests each operation on each target, with small integers and quarters, which all precisions
//! represent exactly. A mistake that only slows down the method is detected here, but not in the
//! method's result.

use pool_facade::{DynamicPool, LendView, PoolBackend, PoolConfig, PoolView};

use super::target::{all_targets, offers};
use super::{
    Algebra, Computation, Failure, MatrixHandles, Number, Precision, SparseMatrix, rounded, run,
    widened,
};

/// The number of points along each side. It gives more unknowns than a warp or a workgroup has
/// threads.
const SIDE: usize = 9;

/// The outputs of each operation.
#[derive(Debug, PartialEq)]
struct Results {
    multiplied: Vec<f64>,
    added: Vec<f64>,
    dot: Vec<f64>,
    ratio_added: Vec<f64>,
    ratio_taken: Vec<f64>,
    scaled: Vec<f64>,
}

/// Two vectors.
fn vectors() -> [Vec<f64>; 2] {
    let all = 0..SIDE * SIDE;
    [
        all.clone().map(|at| (at * 7 % 5) as f64).collect(),
        all.map(|at| (at * 3 % 4) as f64).collect(),
    ]
}

struct Operations;

impl Computation for Operations {
    type Answer = Results;

    fn run<B: PoolBackend, T: Number, A: Algebra<B, T>>(
        &self,
        algebra: &A,
        context: B::Context,
    ) -> Result<Results, Failure> {
        let mut pool = DynamicPool::<B>::with_config(context, PoolConfig::new())?;
        let matrix = MatrixHandles::<T>::upload(&mut pool, &SparseMatrix::laplacian(SIDE))?;
        let (constants, scope) = pool.split();
        let matrix = matrix.views(&constants)?;
        let [x, y] = vectors().map(|vector| scope.try_acquire_from(&rounded::<T>(&vector)));
        let (x, y) = (x?, y?);
        let [three, four] =
            [3.0, 4.0].map(|number| scope.try_acquire_filled(1, T::from_f64(number)));
        let (three, four) = (three?, four?);
        let ratio = (three.as_view(), four.as_view());
        let written = |vector: &B::View<'_, T>| -> Result<Vec<f64>, Failure> {
            Ok(widened(&vector.copy_to_vec()?))
        };
        let elements = y.copy_to_vec()?;
        let copy = || scope.try_acquire_from(&elements);
        let (mut multiplied, mut added) = (scope.try_acquire::<T, _>(matrix.rows())?, copy()?);
        let (mut ratio_added, mut ratio_taken) = (copy()?, copy()?);
        let (mut scaled, mut dot) = (copy()?, scope.try_acquire_zeroed::<T, _>(1)?);
        algebra.multiply(&scope, &matrix, x.as_view(), &mut multiplied)?;
        algebra.add(&scope, x.as_view(), &mut added)?;
        algebra.dot(&scope, x.as_view(), y.as_view(), &mut dot)?;
        algebra.add_ratio(&scope, ratio, T::ONE, x.as_view(), &mut ratio_added)?;
        algebra.add_ratio(&scope, ratio, T::from_f64(-1.0), x.as_view(), &mut ratio_taken)?;
        algebra.scale_by_ratio(&scope, ratio, x.as_view(), &mut scaled)?;
        Ok(Results {
            multiplied: written(&multiplied)?,
            added: written(&added)?,
            dot: written(&dot)?,
            ratio_added: written(&ratio_added)?,
            ratio_taken: written(&ratio_taken)?,
            scaled: written(&scaled)?,
        })
    }
}

#[test]
fn every_operation_is_what_it_says_at_every_place() {
    let [x, y] = vectors();
    let each = |of: fn(f64, f64) -> f64| -> Vec<f64> {
        x.iter().zip(&y).map(|(x, y)| of(*x, *y)).collect()
    };
    let expected = Results {
        multiplied: SparseMatrix::laplacian(SIDE).multiply(&x),
        added: each(|x, y| y + x),
        dot: vec![each(|x, y| x * y).iter().sum()],
        ratio_added: each(|x, y| y + 0.75 * x),
        ratio_taken: each(|x, y| y - 0.75 * x),
        scaled: each(|x, y| x + 0.75 * y),
    };
    for target in all_targets() {
        for precision in [Precision::F32, Precision::F64] {
            match offers(target, precision) {
                Ok(()) => assert_eq!(
                    run(&Operations, target, precision).unwrap(),
                    expected,
                    "{target}, {precision}"
                ),
                Err(why) => println!("SKIPPED: {target}, {precision}: {why}"),
            }
        }
    }
}

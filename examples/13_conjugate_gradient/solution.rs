//! Solves a system with the conjugate-gradient method on any backend, and bounds the rounding
//! error.

use pool_examples::algebra::{
    Algebra, Computation, ConjugateGradientError, Convergence, Failure, MatrixHandles, Number,
    Precision, SparseMatrix, Target, norm, rounded, run, solve, widened,
};
use pool_facade::{DynamicPool, LendView, PoolBackend, PoolConfig, PoolView};

/// The system `A x = right` to solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System<'p> {
    pub(crate) matrix: &'p SparseMatrix,
    pub(crate) right: &'p [f64],
}

/// The result.
#[derive(Debug)]
pub(crate) struct Solution {
    pub(crate) x: Vec<f64>,
    pub(crate) convergence: Convergence,
    /// The number of blocks allocated for the whole computation.
    pub(crate) growths: u64,
}

impl Computation for System<'_> {
    type Answer = Solution;

    fn run<B: PoolBackend, T: Number, A: Algebra<B, T>>(
        &self,
        algebra: &A,
        context: B::Context,
    ) -> Result<Solution, Failure> {
        let mut pool = DynamicPool::<B>::with_config(context, PoolConfig::new().name("system"))?;
        // The matrix is a constant of the pool, so it stays in place below all scopes.
        let matrix = MatrixHandles::<T>::upload(&mut pool, self.matrix)?;
        let (constants, mut scope) = pool.split();
        let matrix = matrix.views(&constants)?;
        let right = scope.try_acquire_from(&rounded::<T>(self.right))?;
        let mut x = scope.try_acquire::<T, _>(matrix.rows())?;
        let convergence = solve(algebra, scope.scope(), &matrix, right.as_view(), &mut x)?;
        let growths = scope.stats().growths;
        Ok(Solution { x: widened(&x.copy_to_vec()?), convergence, growths })
    }
}

/// Solves a system.
pub(crate) fn solve_at(
    target: Target,
    precision: Precision,
    matrix: &SparseMatrix,
    right: &[f64],
) -> Result<Solution, Failure> {
    run(&System { matrix, right }, target, precision)
}

/// The quantities that determine the error of every solution with this matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditioning {
    matrix_norm: f64,
    /// An upper bound on the norm of the inverse, at most a tenth too large.
    pub(crate) inverse_norm: f64,
    longest_row: usize,
}

/// The number of steps of the inverse iteration.
const STEPS: usize = 12;

impl Conditioning {
    /// Estimates the norm of the inverse. Repeated multiplication by the inverse turns a vector of
    /// norm 1 into the direction that grows most. The estimate approaches the norm from below, and
    /// slowly if eigenvalues are close together. After a twentieth has been added, the estimate
    /// exceeds the norm for the matrices of this example, as a test checks.
    pub(crate) fn of(matrix: &SparseMatrix) -> Result<Self, Failure> {
        let mut vector: Vec<f64> = (0..matrix.rows()).map(|row| 1.0 + (row % 7) as f64).collect();
        let mut inverse_norm = 0.0;
        for _ in 0..STEPS {
            let length = norm(&vector);
            vector.iter_mut().for_each(|number| *number /= length);
            vector = solve_at(Target::Host, Precision::F64, matrix, &vector)?.x;
            inverse_norm = 1.05 * norm(&vector);
        }
        let (matrix_norm, longest_row) = (matrix.largest_row_sum(), matrix.longest_row());
        Ok(Self { matrix_norm, inverse_norm, longest_row })
    }

    /// Returns a bound on the distance between `solution`, computed with this precision, and the
    /// exact solution, whose norm is `exact`.
    pub(crate) fn bound(&self, solution: &Solution, precision: Precision, exact: f64) -> f64 {
        let Convergence { iterations, residual } = solution.convergence;
        let Self { matrix_norm, inverse_norm, longest_row } = *self;
        let solution_norm = exact;
        ConjugateGradientError { matrix_norm, inverse_norm, longest_row, solution_norm, iterations }
            .bound(precision.unit_roundoff(), residual)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use pool_examples::algebra::{Precision, Target, greatest_difference, norm};

    use super::{Conditioning, solve_at};
    use crate::problem::Problem;
    use crate::waveguide;

    /// Returns the norm of the inverse of a grid's Laplacian, whose smallest eigenvalue is known.
    fn inverse_norm_of_grid(side: usize) -> f64 {
        1.0 / (8.0 * (PI / (2.0 * (side as f64 + 1.0))).sin().powi(2))
    }

    #[test]
    fn the_norm_of_the_inverse_is_found() {
        let expected = [
            (Problem::poisson(12), inverse_norm_of_grid(12)),
            (waveguide().unwrap(), 1.0 / 1.021_953e-5),
        ];
        for (problem, expected) in expected {
            let found = Conditioning::of(&problem.matrix).unwrap().inverse_norm;
            assert!((1.0..1.1).contains(&(found / expected)), "{found} for {expected}");
        }
    }

    #[test]
    fn solutions_on_the_host_are_within_their_bounds() {
        for problem in [Problem::poisson(9), waveguide().unwrap()] {
            let conditioning = Conditioning::of(&problem.matrix).unwrap();
            for precision in [Precision::F32, Precision::F64] {
                let solution =
                    solve_at(Target::Host, precision, &problem.matrix, &problem.right).unwrap();
                let bound = conditioning.bound(&solution, precision, norm(&problem.known));
                let error = greatest_difference(&solution.x, &problem.known);
                assert!(error <= bound, "{precision}: the error {error:e} exceeds {bound:e}");
                // A bound that every result satisfies would be useless.
                assert!(bound < norm(&problem.known) / 2.0, "{precision}: {bound:e}");
            }
        }
    }
}

//! The method, generic over the backend: every array, and every scalar, is a temporary of a scope.

use pool_facade::{PoolBackend, PoolError, PoolView, Scope};

use crate::problem::Problem;

/// What a backend must be able to do for the method. Scalars are views of one element, so that they
/// never leave the device.
pub(crate) trait Algebra<B: PoolBackend> {
    type Error: From<PoolError<B::Error>> + From<B::ViewError>;

    /// `to = A x`.
    fn multiply(
        &self,
        scope: &Scope<'_, B>,
        matrix: &Matrix<'_, B>,
        x: &B::View<'_, f64>,
        to: &mut B::View<'_, f64>,
    ) -> Result<(), Self::Error>;

    /// `to = x · y`; `to` is 0 before.
    fn dot(
        &self,
        scope: &Scope<'_, B>,
        x: &B::View<'_, f64>,
        y: &B::View<'_, f64>,
        to: &mut B::View<'_, f64>,
    ) -> Result<(), Self::Error>;

    /// `y = y + sign · (numerator / denominator) · x`.
    fn add_ratio(
        &self,
        scope: &Scope<'_, B>,
        ratio: (&B::View<'_, f64>, &B::View<'_, f64>),
        sign: f64,
        x: &B::View<'_, f64>,
        y: &mut B::View<'_, f64>,
    ) -> Result<(), Self::Error>;

    /// `y = x + (numerator / denominator) · y`.
    fn scale_by_ratio(
        &self,
        scope: &Scope<'_, B>,
        ratio: (&B::View<'_, f64>, &B::View<'_, f64>),
        x: &B::View<'_, f64>,
        y: &mut B::View<'_, f64>,
    ) -> Result<(), Self::Error>;
}

/// A sparse matrix in compressed rows, where the backend's memory is.
pub(crate) struct Matrix<'s, B: PoolBackend> {
    pub(crate) values: B::View<'s, f64>,
    pub(crate) columns: B::View<'s, u32>,
    pub(crate) starts: B::View<'s, u32>,
    pub(crate) rows: usize,
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Solution {
    pub(crate) x: Vec<f64>,
    pub(crate) iterations: usize,
    /// The norm of the residual, as a part of that of the right-hand side.
    pub(crate) residual: f64,
    /// Blocks that were allocated for all of it.
    pub(crate) growths: u64,
}

/// Solves `A x = b` from zero, for a symmetric matrix that is definite (Hestenes and Stiefel, 1952). A negative
/// definite one gives the same steps as its opposite, with all signs of the residual turned.
pub(crate) fn solve<B: PoolBackend, A: Algebra<B>>(
    algebra: &A,
    scope: &mut Scope<'_, B>,
    problem: &Problem,
    tolerance: f64,
) -> Result<Solution, A::Error> {
    let rows = problem.rows();
    let matrix = Matrix {
        values: scope.try_acquire_from(&problem.values)?,
        columns: scope.try_acquire_from(&problem.columns)?,
        starts: scope.try_acquire_from(&problem.starts)?,
        rows,
    };
    let mut x = scope.try_acquire_zeroed::<f64>(rows)?;
    let mut residual = scope.try_acquire_from(&problem.right)?;
    let mut direction = scope.try_acquire_from(&problem.right)?;
    let first = {
        let inner = scope.scope();
        let mut square = inner.try_acquire_zeroed(1)?;
        algebra.dot(&inner, &residual, &residual, &mut square)?;
        square.try_to_vec()?[0]
    };

    let mut iterations = 0;
    let mut square = first;
    while square > tolerance * tolerance * first && iterations < rows {
        // Its temporaries are given back when the iteration ends: the next one gets the same.
        let scope = scope.scope();
        let mut image = scope.try_acquire::<f64>(rows)?;
        let [mut before, mut bend, mut after] = [
            scope.try_acquire_zeroed(1)?,
            scope.try_acquire_zeroed(1)?,
            scope.try_acquire_zeroed(1)?,
        ];
        algebra.multiply(&scope, &matrix, &direction, &mut image)?;
        algebra.dot(&scope, &residual, &residual, &mut before)?;
        algebra.dot(&scope, &direction, &image, &mut bend)?;
        algebra.add_ratio(&scope, (&before, &bend), 1.0, &direction, &mut x)?;
        algebra.add_ratio(&scope, (&before, &bend), -1.0, &image, &mut residual)?;
        algebra.dot(&scope, &residual, &residual, &mut after)?;
        algebra.scale_by_ratio(&scope, (&after, &before), &residual, &mut direction)?;
        square = after.try_to_vec()?[0];
        iterations += 1;
    }
    let growths = scope.stats().growths;
    Ok(Solution { x: x.try_to_vec()?, iterations, residual: (square / first).sqrt(), growths })
}

//! The conjugate-gradient method, generic over the backend and the number type. Every vector and
//! every scalar is a temporary of a scope.

use pool_facade::{LendView, PoolBackend, PoolView, PoolViewMut, Scope};

use super::arithmetic::{Algebra, Failure};
use super::matrix::Matrix;
use super::number::Number;

/// How the method ended.
#[derive(Clone, Copy, Debug)]
pub struct Convergence {
    /// The number of iterations performed.
    pub iterations: usize,
    /// The norm of the recursively computed residual, relative to the norm of the right-hand side.
    pub residual: f64,
}

/// Returns the relative residual below which further iterations change little. The recursively
/// computed residual continues to fall below it, while the true residual stays at the level of
/// rounding.
#[must_use]
pub fn tolerance<T: Number>() -> f64 {
    64.0 * T::UNIT_ROUNDOFF
}

/// Solves `A x = right` from zero, for a symmetric, definite matrix (Hestenes and Stiefel, 1952). A
/// negative definite matrix gives the same steps as its negative, with the residual's signs
/// reversed.
///
/// Ends when the residual is at most [`tolerance`] times the right-hand side. Also ends when the
/// number of iterations reaches twice the number of rows, which shows that the matrix is not
/// definite.
///
/// # Errors
///
/// Fails if there is no memory for the temporaries, or if the backend rejects an operation.
pub fn solve<B: PoolBackend, T: Number, A: Algebra<B, T>>(
    algebra: &A,
    mut scope: Scope<'_, B>,
    matrix: &Matrix<'_, B, T>,
    right: B::ViewRef<'_, T>,
    x: &mut B::View<'_, T>,
) -> Result<Convergence, Failure> {
    x.fill_with_zeros()?;
    let mut residual = scope.try_acquire::<T, _>(matrix.rows())?;
    let mut direction = scope.try_acquire::<T, _>(matrix.rows())?;
    residual.copy_from(right.as_view())?;
    direction.copy_from(right.as_view())?;
    let first = square_of(algebra, &scope.scope(), right)?;

    let mut iterations = 0;
    let mut square = first;
    let enough = tolerance::<T>().powi(2) * first;
    while square > enough && iterations < 2 * matrix.rows() {
        // The temporaries of this scope are freed when the iteration ends, and the next iteration
        // reuses their memory.
        let scope = scope.scope();
        let mut image = scope.try_acquire::<T, _>(matrix.rows())?;
        let [mut before, mut bend, mut after] = [
            scope.try_acquire_zeroed(1)?,
            scope.try_acquire_zeroed(1)?,
            scope.try_acquire_zeroed(1)?,
        ];
        algebra.multiply(&scope, matrix, direction.as_view(), &mut image)?;
        algebra.dot(&scope, residual.as_view(), residual.as_view(), &mut before)?;
        algebra.dot(&scope, direction.as_view(), image.as_view(), &mut bend)?;
        let length = (before.as_view(), bend.as_view());
        algebra.add_ratio(&scope, length, T::ONE, direction.as_view(), x)?;
        let back = T::from_f64(-1.0);
        algebra.add_ratio(&scope, length, back, image.as_view(), &mut residual)?;
        algebra.dot(&scope, residual.as_view(), residual.as_view(), &mut after)?;
        let ratio = (after.as_view(), before.as_view());
        algebra.scale_by_ratio(&scope, ratio, residual.as_view(), &mut direction)?;
        square = number::<B, T>(after.as_view())?;
        iterations += 1;
    }
    let residual = if first > 0.0 { (square / first).sqrt() } else { 0.0 };
    Ok(Convergence { iterations, residual })
}

/// Computes the square of a vector's norm.
fn square_of<B: PoolBackend, T: Number, A: Algebra<B, T>>(
    algebra: &A,
    scope: &Scope<'_, B>,
    x: B::ViewRef<'_, T>,
) -> Result<f64, Failure> {
    let mut square = scope.try_acquire_zeroed(1)?;
    algebra.dot(scope, x, x, &mut square)?;
    number::<B, T>(square.as_view())
}

/// Returns the number that a view of one element holds.
fn number<B: PoolBackend, T: Number>(view: B::ViewRef<'_, T>) -> Result<f64, Failure> {
    let mut number = [T::ZERO];
    view.copy_to_host(&mut number)?;
    Ok(number[0].to_f64())
}

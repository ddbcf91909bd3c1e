//! The operations that a backend provides for computations that are generic over the backend and
//! the number type.

use std::error::Error;

use pool_facade::{PoolBackend, Scope};

use super::matrix::Matrix;
use super::number::Number;

/// Any error of a backend.
pub type Failure = Box<dyn Error>;

/// A numerator and a denominator, each a view of one element.
pub type Ratio<'s, B, T> = (<B as PoolBackend>::ViewRef<'s, T>, <B as PoolBackend>::ViewRef<'s, T>);

/// Operations on vectors in a backend's memory. Each operation is enqueued on the queue of the
/// scope's pool, and all views must belong to this pool. Scalars are views of one element, so that
/// they never have to leave the device.
pub trait Algebra<B: PoolBackend, T: Number> {
    /// Computes `to = A x`. The number of rows of the matrix must be the length of `to`.
    ///
    /// # Errors
    ///
    /// Fails if the backend cannot enqueue the operation.
    fn multiply(
        &self,
        scope: &Scope<'_, B>,
        matrix: &Matrix<'_, B, T>,
        x: B::ViewRef<'_, T>,
        to: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;

    /// Computes `y = y + x`, for vectors of the same length.
    ///
    /// # Errors
    ///
    /// The same as [`multiply`](Self::multiply).
    fn add(
        &self,
        scope: &Scope<'_, B>,
        x: B::ViewRef<'_, T>,
        y: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;

    /// Computes `to = x · y`, for vectors of the same length. `to` has one element, which must be 0
    /// beforehand.
    ///
    /// # Errors
    ///
    /// The same as [`multiply`](Self::multiply).
    fn dot(
        &self,
        scope: &Scope<'_, B>,
        x: B::ViewRef<'_, T>,
        y: B::ViewRef<'_, T>,
        to: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;

    /// Computes `y = y + sign · (numerator / denominator) · x`, for vectors of the same length and
    /// a sign of 1 or -1.
    ///
    /// # Errors
    ///
    /// The same as [`multiply`](Self::multiply).
    fn add_ratio(
        &self,
        scope: &Scope<'_, B>,
        ratio: Ratio<'_, B, T>,
        sign: T,
        x: B::ViewRef<'_, T>,
        y: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;

    /// Computes `y = x + (numerator / denominator) · y`, for vectors of the same length.
    ///
    /// # Errors
    ///
    /// The same as [`multiply`](Self::multiply).
    fn scale_by_ratio(
        &self,
        scope: &Scope<'_, B>,
        ratio: Ratio<'_, B, T>,
        x: B::ViewRef<'_, T>,
        y: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;
}

/// Returns the length that all these views have in common. Kernels do not check this length.
pub(super) fn length_of_all<const N: usize>(lengths: [usize; N]) -> Result<u64, Failure> {
    let all_are = lengths.iter().all(|length| *length == lengths[0]);
    if all_are { Ok(lengths[0] as u64) } else { Err(format!("lengths differ: {lengths:?}").into()) }
}

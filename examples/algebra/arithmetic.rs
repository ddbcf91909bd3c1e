//! The operations of a backend for computations that are generic over the backend and the number.

use std::error::Error;

use pool_facade::{PoolBackend, Scope};

use super::matrix::Matrix;
use super::number::Number;

/// Any error of a backend.
pub type Failure = Box<dyn Error>;

/// A numerator and a denominator, views of one element each.
pub type Ratio<'s, B, T> = (<B as PoolBackend>::ViewRef<'s, T>, <B as PoolBackend>::ViewRef<'s, T>);

/// Operations on vectors in the memory of a backend. Each is enqueued on the queue of the scope's pool, and all views
/// are of that pool. Scalars are views of one element, so that they need not leave the device.
pub trait Algebra<B: PoolBackend, T: Number> {
    /// Computes `to = A x`, for a matrix whose number of rows is the length of `to`.
    ///
    /// # Errors
    ///
    /// Fails if the backend cannot enqueue it; so below.
    fn multiply(
        &self,
        scope: &Scope<'_, B>,
        matrix: &Matrix<'_, B, T>,
        x: B::ViewRef<'_, T>,
        to: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;

    /// `y = y + x`, for vectors of one length.
    ///
    /// # Errors
    ///
    /// Same as [`multiply`](Self::multiply).
    fn add(
        &self,
        scope: &Scope<'_, B>,
        x: B::ViewRef<'_, T>,
        y: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;

    /// `to = x · y`, for vectors of one length; `to` is one element, and 0 before.
    ///
    /// # Errors
    ///
    /// Same as [`multiply`](Self::multiply).
    fn dot(
        &self,
        scope: &Scope<'_, B>,
        x: B::ViewRef<'_, T>,
        y: B::ViewRef<'_, T>,
        to: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;

    /// `y = y + sign · (numerator / denominator) · x`, for vectors of one length and a sign that is 1 or -1.
    ///
    /// # Errors
    ///
    /// Same as [`multiply`](Self::multiply).
    fn add_ratio(
        &self,
        scope: &Scope<'_, B>,
        ratio: Ratio<'_, B, T>,
        sign: T,
        x: B::ViewRef<'_, T>,
        y: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;

    /// `y = x + (numerator / denominator) · y`, for vectors of one length.
    ///
    /// # Errors
    ///
    /// Same as [`multiply`](Self::multiply).
    fn scale_by_ratio(
        &self,
        scope: &Scope<'_, B>,
        ratio: Ratio<'_, B, T>,
        x: B::ViewRef<'_, T>,
        y: &mut B::View<'_, T>,
    ) -> Result<(), Failure>;
}

/// Returns the common length of all these views, which a kernel does not check.
pub(super) fn length_of_all<const N: usize>(lengths: [usize; N]) -> Result<u64, Failure> {
    let all_are = lengths.iter().all(|length| *length == lengths[0]);
    if all_are { Ok(lengths[0] as u64) } else { Err(format!("lengths differ: {lengths:?}").into()) }
}

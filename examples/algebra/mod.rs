//! The linear algebra that examples compute with: sparse matrices and vectors in the memory of any backend, of numbers
//! of 32 or 64 bits.
//!
//! Code that is generic over the backend `B` and the number `T` takes an [`Algebra<B,
//! T>`](Algebra). Each backend implements it in a file of its own, which also opens the backend.
//! [`Place`] chooses among them, and a computation that runs at any place implements
//! [`Computation`].

mod arithmetic;
mod conjugate_gradient;
mod cuda;
mod host;
mod matrix;
mod number;
mod place;
mod rounding;
#[cfg(test)]
mod tests;
#[cfg(feature = "wgpu")]
mod wgpu;

pub use arithmetic::{Algebra, Failure, Ratio};
pub use conjugate_gradient::{Convergence, solve, tolerance};
pub use matrix::{Matrix, MatrixHandles, SparseMatrix};
pub use number::{Number, Precision, rounded, widened};
pub use place::{Computation, Place, Places, run};
pub use rounding::{ConjugateGradientError, greatest_difference, norm};

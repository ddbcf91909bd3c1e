//! The linear algebra that the examples use: sparse matrices and vectors in the memory of any
//! backend, with 32-bit or 64-bit numbers.
//!
//! Code that is generic over the backend `B` and the number type `T` takes an
//! [`Algebra<B, T>`](Algebra). Each backend implements this trait in a separate file, which also
//! opens the backend. [`Target`] selects a backend, and a computation that can run on any target
//! implements [`Computation`].

mod arithmetic;
mod conjugate_gradient;
mod cuda;
mod host;
mod matrix;
mod number;
mod rounding;
mod target;
#[cfg(test)]
mod tests;
#[cfg(feature = "wgpu")]
mod wgpu;

pub use arithmetic::{Algebra, Failure, Ratio};
pub use conjugate_gradient::{Convergence, solve, tolerance};
pub use matrix::{Matrix, MatrixHandles, SparseMatrix};
pub use number::{Number, Precision, rounded, widened};
pub use rounding::{ConjugateGradientError, greatest_difference, norm};
pub use target::{Computation, Target, TargetArguments, run};

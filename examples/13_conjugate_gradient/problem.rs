//! The problem: a symmetric, definite sparse matrix, and a right-hand side whose solution is known.

use pool_examples::algebra::{SparseMatrix, greatest_difference};

/// A sparse matrix and a right-hand side.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) matrix: SparseMatrix,
    pub(crate) right: Vec<f64>,
    pub(crate) known: Vec<f64>,
}

impl Problem {
    /// Creates Poisson's equation on a square with `side` points along each side.
    pub(crate) fn poisson(side: usize) -> Self {
        Self::of_matrix(SparseMatrix::laplacian(side))
    }

    /// Creates the problem for a matrix.
    pub(crate) fn of_matrix(matrix: SparseMatrix) -> Self {
        let known: Vec<f64> = (0..matrix.rows()).map(|row| ((row % 17) as f64).sin()).collect();
        let right = matrix.multiply(&known);
        Self { matrix, right, known }
    }

    pub(crate) fn rows(&self) -> usize {
        self.right.len()
    }

    /// Returns the distance between a solution and the known solution.
    pub(crate) fn error_of(&self, x: &[f64]) -> f64 {
        greatest_difference(x, &self.known)
    }
}

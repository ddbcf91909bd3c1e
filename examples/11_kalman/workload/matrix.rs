//! Matrices whose size is known at run time, over any storage: a `Vec` in the allocating version,
//! or a slice of a pool in the pooled version. The arithmetic writes to storage that the caller
//! passes, so both versions perform exactly the same operations in the same order.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Storage that can be read as numbers: `Vec<f64>`, `&[f64]` or `&mut [f64]`.
pub(crate) trait Values: Deref<Target = [f64]> {}

impl<Storage: Deref<Target = [f64]>> Values for Storage {}

/// A matrix in row-major order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<Storage> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Storage,
}

impl<Storage: Values> Matrix<Storage> {
    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }
}

impl<Storage: DerefMut<Target = [f64]>> Matrix<Storage> {
    fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.columns + column] = value;
    }

    fn fill(&mut self, element: impl Fn(usize, usize) -> f64) {
        for row in 0..self.rows {
            for column in 0..self.columns {
                self.set(row, column, element(row, column));
            }
        }
    }

    /// Overwrites this matrix with the product of two matrices.
    pub(crate) fn fill_product(&mut self, left: &Matrix<impl Values>, right: &Matrix<impl Values>) {
        assert_eq!(left.columns, right.rows, "inner sizes of a product");
        self.fill(|row, column| {
            (0..left.columns).map(|inner| left.at(row, inner) * right.at(inner, column)).sum()
        });
    }

    /// Overwrites this matrix with the transpose of a matrix.
    pub(crate) fn fill_transpose(&mut self, of: &Matrix<impl Values>) {
        self.fill(|row, column| of.at(column, row));
    }

    /// Overwrites this matrix with the sum of two matrices.
    pub(crate) fn fill_sum(&mut self, left: &Matrix<impl Values>, right: &Matrix<impl Values>) {
        self.fill(|row, column| left.at(row, column) + right.at(row, column));
    }

    /// Overwrites this matrix with the difference of two matrices.
    pub(crate) fn fill_difference(
        &mut self,
        left: &Matrix<impl Values>,
        right: &Matrix<impl Values>,
    ) {
        self.fill(|row, column| left.at(row, column) - right.at(row, column));
    }

    /// Overwrites this matrix with the lower Cholesky factor of a symmetric matrix. Returns the
    /// log-determinant of the symmetric matrix.
    pub(crate) fn fill_cholesky(
        &mut self,
        of: &Matrix<impl Values>,
    ) -> Result<f64, NotPositiveDefinite> {
        let mut log_determinant = 0.0;
        self.fill(|_, _| 0.0);
        for row in 0..of.rows {
            for column in 0..=row {
                let known: f64 =
                    (0..column).map(|inner| self.at(row, inner) * self.at(column, inner)).sum();
                let rest = of.at(row, column) - known;
                if column < row {
                    self.set(row, column, rest / self.at(column, column));
                } else if rest > 0.0 {
                    self.set(row, row, rest.sqrt());
                    log_determinant += rest.ln();
                } else {
                    return Err(NotPositiveDefinite { row, pivot: rest });
                }
            }
        }
        Ok(log_determinant)
    }

    /// Overwrites this matrix with the inverse of `factor × factorᵀ`, column by column, using
    /// forward and back substitution.
    pub(crate) fn fill_inverse(&mut self, factor: &Matrix<impl Values>) {
        let size = factor.rows;
        for column in 0..size {
            for row in 0..size {
                let unit = if row == column { 1.0 } else { 0.0 };
                let known: f64 =
                    (0..row).map(|inner| factor.at(row, inner) * self.at(inner, column)).sum();
                self.set(row, column, (unit - known) / factor.at(row, row));
            }
            for row in (0..size).rev() {
                let known: f64 = (row + 1..size)
                    .map(|inner| factor.at(inner, row) * self.at(inner, column))
                    .sum();
                self.set(row, column, (self.at(row, column) - known) / factor.at(row, row));
            }
        }
    }
}

/// The error for a variance matrix that has no Cholesky factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NotPositiveDefinite {
    pub(crate) row: usize,
    pub(crate) pivot: f64,
}

impl fmt::Display for NotPositiveDefinite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, pivot } = self;
        write!(formatter, "variance is not positive definite: pivot {pivot} in row {row}")
    }
}

impl std::error::Error for NotPositiveDefinite {}

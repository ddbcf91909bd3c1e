//! Sparse matrices in compressed rows. They exist on the host in double precision, and as constants
//! of a pool in a backend's memory.

use std::ops::Range;

use pool_facade::{DynamicPool, Handle, Handles, PoolBackend, PoolError};

use super::number::{Number, rounded};

/// A square sparse matrix on the host, in compressed rows.
#[derive(Clone, Debug)]
pub struct SparseMatrix {
    values: Vec<f64>,
    columns: Vec<u32>,
    /// Starts with 0, never decreases, and ends with the number of values.
    starts: Vec<u32>,
}

impl SparseMatrix {
    /// Creates a matrix. Row i consists of the numbers in `values` from `starts[i]` to
    /// `starts[i + 1]` (exclusive), and `columns` holds the column of each number.
    ///
    /// # Errors
    ///
    /// Fails if `starts` does not cover all values in order, or if a column lies outside the
    /// matrix.
    pub fn new(values: Vec<f64>, columns: Vec<u32>, starts: Vec<u32>) -> Result<Self, String> {
        let rows = starts.len().saturating_sub(1);
        let ends = starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last().map(|end| *end as usize) == Some(values.len());
        if !ends || columns.len() != values.len() {
            return Err(format!("`starts` does not divide {} values into rows", values.len()));
        }
        match columns.iter().find(|column| **column as usize >= rows) {
            Some(column) => Err(format!("column {column} of a matrix with {rows} rows")),
            None => Ok(Self { values, columns, starts }),
        }
    }

    /// Creates the negative Laplacian of a grid of `side` × `side` points, in units of the distance
    /// between neighbours. It has 4 on the diagonal, and -1 for each of up to four neighbours. All
    /// values beyond the edge of the grid are 0.
    #[must_use]
    pub fn laplacian(side: usize) -> Self {
        let mut matrix = Self { values: Vec::new(), columns: Vec::new(), starts: vec![0] };
        for row in 0..side {
            for column in 0..side {
                let point = row * side + column;
                let neighbours = [
                    (row > 0).then(|| point - side),
                    (column > 0).then(|| point - 1),
                    Some(point),
                    (column + 1 < side).then_some(point + 1),
                    (row + 1 < side).then_some(point + side),
                ];
                for neighbour in neighbours.into_iter().flatten() {
                    matrix.values.push(if neighbour == point { 4.0 } else { -1.0 });
                    matrix.columns.push(u32::try_from(neighbour).unwrap_or(u32::MAX));
                }
                matrix.starts.push(u32::try_from(matrix.values.len()).unwrap_or(u32::MAX));
            }
        }
        matrix
    }

    /// Returns the matrix `factor · A + shift · I`, for this matrix A. A must contain all entries
    /// of its diagonal.
    #[must_use]
    pub fn scaled_and_shifted(&self, factor: f64, shift: f64) -> Self {
        let mut matrix = self.clone();
        for row in 0..matrix.rows() {
            for place in self.row(row) {
                let on_diagonal = self.columns[place] as usize == row;
                matrix.values[place] =
                    factor * self.values[place] + if on_diagonal { shift } else { 0.0 };
            }
        }
        matrix
    }

    /// Returns the numbers, row by row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the column of each number.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Returns the index of each row's first number, followed by the end of the last row.
    #[must_use]
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Returns the number of rows, which equals the number of columns.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns the number of entries in the longest row.
    #[must_use]
    pub fn longest_row(&self) -> usize {
        (0..self.rows()).map(|row| self.row(row).len()).max().unwrap_or(0)
    }

    /// Returns the largest sum of a row's absolute values. For a symmetric matrix A, this sum is an
    /// upper bound on the 2-norms of A and |A|.
    #[must_use]
    pub fn largest_row_sum(&self) -> f64 {
        let sum = |row| self.values[self.row(row)].iter().map(|value| value.abs()).sum();
        (0..self.rows()).map(sum).fold(0.0, f64::max)
    }

    /// Computes `A x`.
    #[must_use]
    pub fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let product = |place: usize| self.values[place] * x[self.columns[place] as usize];
        (0..self.rows()).map(|row| self.row(row).map(product).sum()).collect()
    }

    /// Returns the indices of a row's numbers.
    fn row(&self, row: usize) -> Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }
}

/// A sparse matrix in a backend's memory, for reading. It is always a copy of a [`SparseMatrix`].
#[derive(Debug)]
pub struct Matrix<'s, B: PoolBackend, T: Number> {
    values: B::ViewRef<'s, T>,
    columns: B::ViewRef<'s, u32>,
    starts: B::ViewRef<'s, u32>,
    rows: usize,
}

impl<'s, B: PoolBackend, T: Number> Matrix<'s, B, T> {
    /// See [`SparseMatrix::values`].
    pub fn values(&self) -> &B::ViewRef<'s, T> {
        &self.values
    }

    /// See [`SparseMatrix::columns`].
    pub fn columns(&self) -> &B::ViewRef<'s, u32> {
        &self.columns
    }

    /// See [`SparseMatrix::starts`].
    pub fn starts(&self) -> &B::ViewRef<'s, u32> {
        &self.starts
    }

    /// Returns the number of rows, which equals the number of columns.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// A sparse matrix that is a constant of a dynamic pool.
#[derive(Clone, Copy, Debug)]
pub struct MatrixHandles<T> {
    values: Handle<T>,
    columns: Handle<u32>,
    starts: Handle<u32>,
    rows: usize,
}

impl<T: Number> MatrixHandles<T> {
    /// Copies a matrix to the memory of a pool, with its numbers rounded to `T`.
    ///
    /// # Errors
    ///
    /// The errors of [`DynamicPool::try_acquire_from`].
    pub fn upload<B: PoolBackend>(
        pool: &mut DynamicPool<B>,
        matrix: &SparseMatrix,
    ) -> Result<Self, PoolError<B::Error>> {
        Ok(Self {
            values: pool.try_acquire_from(&rounded::<T>(&matrix.values))?,
            columns: pool.try_acquire_from(&matrix.columns)?,
            starts: pool.try_acquire_from(&matrix.starts)?,
            rows: matrix.rows(),
        })
    }

    /// Returns the matrix, for use together with the pool's scopes.
    ///
    /// # Errors
    ///
    /// The errors of [`Handles::get`].
    pub fn views<'h, B: PoolBackend>(
        &self,
        constants: &'h Handles<'_, B>,
    ) -> Result<Matrix<'h, B, T>, PoolError<B::Error>> {
        Ok(Matrix {
            values: constants.get(self.values)?,
            columns: constants.get(self.columns)?,
            starts: constants.get(self.starts)?,
            rows: self.rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::SparseMatrix;

    #[test]
    fn what_is_no_matrix_is_refused() {
        let made = |columns: &[u32], starts: &[u32]| {
            SparseMatrix::new(vec![1.0; 3], columns.to_vec(), starts.to_vec())
        };
        assert_eq!(made(&[0, 1, 1], &[0, 2, 3]).map(|matrix| matrix.rows()), Ok(2));
        for starts in [&[0, 2][..], &[1, 2, 3], &[0, 3, 2, 3], &[]] {
            assert!(made(&[0, 1, 1], starts).is_err(), "{starts:?}");
        }
        assert!(made(&[0, 1], &[0, 2, 3]).is_err(), "a column is missing");
        assert_eq!(
            made(&[0, 2, 1], &[0, 2, 3]).err().as_deref(),
            Some("column 2 of a matrix with 2 rows")
        );
    }

    #[test]
    fn a_matrix_multiplies_scales_and_shifts() {
        let matrix = SparseMatrix::laplacian(2);
        let x = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(matrix.multiply(&x), [-1.0, 3.0, 7.0, 11.0]);
        assert_eq!(matrix.scaled_and_shifted(0.5, 1.0).multiply(&x), [0.5, 3.5, 6.5, 9.5]);
        assert_eq!((matrix.longest_row(), matrix.largest_row_sum()), (3, 6.0));
    }
}

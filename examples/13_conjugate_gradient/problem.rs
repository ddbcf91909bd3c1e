//! What is solved: a sparse matrix in compressed rows, symmetric and definite, and a right-hand side whose
//! solution is known.

/// A sparse matrix in compressed rows, and a right-hand side.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) values: Vec<f64>,
    pub(crate) columns: Vec<u32>,
    pub(crate) starts: Vec<u32>,
    pub(crate) right: Vec<f64>,
    known: Vec<f64>,
}

impl Problem {
    /// Poisson's equation on a square with so many points along each side: the Laplacian of the grid with
    /// five points, four to five numbers a row.
    pub(crate) fn poisson(side: usize) -> Self {
        let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0]);
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
                    values.push(if neighbour == point { 4.0 } else { -1.0 });
                    columns.push(u32::try_from(neighbour).unwrap_or(u32::MAX));
                }
                starts.push(u32::try_from(values.len()).unwrap_or(u32::MAX));
            }
        }
        Self::of_matrix(values, columns, starts)
    }

    /// The problem of a matrix, given as compressed rows: for each row where it starts, and at the end where
    /// the last one ends.
    pub(crate) fn of_matrix(values: Vec<f64>, columns: Vec<u32>, starts: Vec<u32>) -> Self {
        let rows = starts.len().saturating_sub(1);
        let known: Vec<f64> = (0..rows).map(|row| ((row % 17) as f64).sin()).collect();
        let mut right = vec![0.0; known.len()];
        multiply(&values, &columns, &starts, &known, &mut right);
        Self { values, columns, starts, right, known }
    }

    pub(crate) fn rows(&self) -> usize {
        self.right.len()
    }

    /// How far a solution is from the known one.
    pub(crate) fn error_of(&self, x: &[f64]) -> f64 {
        x.iter().zip(&self.known).map(|(x, known)| (x - known).abs()).fold(0.0, f64::max)
    }
}

/// `to = A x`.
pub(crate) fn multiply(values: &[f64], columns: &[u32], starts: &[u32], x: &[f64], to: &mut [f64]) {
    for (to, row) in to.iter_mut().zip(starts.windows(2)) {
        let row = row[0] as usize..row[1] as usize;
        let products = values[row.clone()].iter().zip(&columns[row]);
        *to = products.map(|(value, column)| value * x[*column as usize]).sum();
    }
}

//! The problem: the heat equation u' = Δu on the unit square, with fixed temperatures at the edges.
//! It is solved with finite differences in space and the method of Crank and Nicolson in time.
//!
//! Let A be the matrix of [`SparseMatrix::laplacian`], h the distance between points, and r = Δt /
//! h². A step from the temperatures u of the inner points to u + d solves (I + r/2 A) d = r (g - A
//! u). For each point, g is the sum of the temperatures of those neighbours that lie on the edge.
//!
//! The temperatures are chosen so that the exact result of each step is known. At the edges, they
//! follow a function whose second differences in the two directions cancel; this function is also
//! the final state. At the start, eigenvectors of A are added, and each step multiplies each of
//! them by a known factor.

use std::f64::consts::PI;

use pool_examples::algebra::{ConjugateGradientError, Precision, SparseMatrix, norm};

use crate::stepper::History;

/// The waves added at the start: the number of half waves in each direction, and the amplitude.
const WAVES: [(usize, usize, f64); 6] =
    [(1, 1, 0.5), (2, 1, -0.2), (1, 4, 0.2), (3, 3, 0.2), (4, 6, 0.2), (9, 7, 0.1)];

/// A heat equation, and its time steps.
#[derive(Debug)]
pub(crate) struct Heat {
    /// The number of inner points along each side.
    pub(crate) side: usize,
    /// The number of time steps.
    pub(crate) steps: usize,
    /// Δt / h².
    ratio: f64,
    /// I + r/2 A, the matrix of the system that each step solves.
    pub(crate) implicit: SparseMatrix,
    /// -r A.
    pub(crate) explicit: SparseMatrix,
    /// r g.
    pub(crate) boundary: Vec<f64>,
    /// The initial temperatures.
    pub(crate) start: Vec<f64>,
}

impl Heat {
    pub(crate) fn new(side: usize, steps: usize) -> Self {
        let ratio = 2.0;
        let laplacian = SparseMatrix::laplacian(side);
        let (implicit, explicit) = (
            laplacian.scaled_and_shifted(ratio / 2.0, 1.0),
            laplacian.scaled_and_shifted(-ratio, 0.0),
        );
        let boundary = of_points(side, |row, column| ratio * edge_sum(side, row, column));
        let mut heat = Self { side, steps, ratio, implicit, explicit, boundary, start: Vec::new() };
        heat.start = heat.exact(0);
        heat
    }

    /// Returns the final temperature of a point. The indices 0 and `side + 1` are the edges, whose
    /// temperature is fixed.
    pub(crate) fn at_rest(&self, row: usize, column: usize) -> f64 {
        at_rest(self.side, row, column)
    }

    /// Returns the exact temperatures after `steps` steps, without rounding.
    pub(crate) fn exact(&self, steps: usize) -> Vec<f64> {
        of_points(self.side, |row, column| {
            let waves = WAVES.iter().map(|wave| self.wave(*wave, steps, row, column));
            self.at_rest(row, column) + waves.sum::<f64>()
        })
    }

    /// Returns the value of a wave at a point after `steps` steps.
    fn wave(&self, wave: (usize, usize, f64), steps: usize, row: usize, column: usize) -> f64 {
        let (down, across, height) = wave;
        let angle =
            |waves: usize, at: usize| PI * waves as f64 * at as f64 / (self.side as f64 + 1.0);
        let eigenvalue = 4.0 - 2.0 * angle(down, 1).cos() - 2.0 * angle(across, 1).cos();
        let half = self.ratio / 2.0 * eigenvalue;
        let kept = ((1.0 - half) / (1.0 + half)).powf(steps as f64);
        height * kept * angle(down, row).sin() * angle(across, column).sin()
    }

    /// Returns a bound on the distance between the computed final temperatures and the exact ones,
    /// for the precision and the residuals of a history.
    ///
    /// A step multiplies the errors of all earlier steps by (I + r/2 A)⁻¹ (I - r/2 A). The norm of
    /// this matrix is at most 1, because A is symmetric and definite. The errors of the steps
    /// therefore at most add up. Let u be the unit roundoff (to first order), and let K, U and W be
    /// the norms of -r A, of the temperatures, and of their difference from the final temperatures.
    /// The error of a step has these parts:
    ///
    /// - The right-hand side, whose terms are at most K U each. Rounding -r A and its product with
    ///   the temperatures, of at most m numbers per row, contributes (m + 1) u K U. Rounding r g
    ///   contributes u K U, and the sum u K W. Division by I + r/2 A, whose eigenvalues are at
    ///   least 1, does not increase the error.
    /// - The error of the conjugate-gradient method. Its solution d is the difference of two
    ///   temperatures, and its norm is at most 2 W ([`ConjugateGradientError`]).
    /// - The rounding of the sum u + d, which contributes u U.
    ///
    /// Rounding the initial temperatures adds one more u U.
    pub(crate) fn bound(&self, history: &History, precision: Precision) -> f64 {
        let unit = precision.unit_roundoff();
        let rest = of_points(self.side, |row, column| self.at_rest(row, column));
        let waves: Vec<f64> = self.start.iter().zip(&rest).map(|(u, rest)| u - rest).collect();
        let (waves, explicit) = (norm(&waves), self.explicit.largest_row_sum());
        let temperatures = norm(&rest) + waves;
        let longest_row = self.implicit.longest_row();
        let right = explicit * (temperatures * (longest_row as f64 + 2.0) + waves);
        let solved = ConjugateGradientError {
            matrix_norm: self.implicit.largest_row_sum(),
            inverse_norm: 1.0,
            longest_row,
            solution_norm: 2.0 * waves,
            iterations: history.most_iterations,
        };
        let step = unit * (right + temperatures) + solved.bound(unit, history.largest_residual);
        self.steps as f64 * step + unit * temperatures
    }
}

/// Returns a number for each inner point, row by row. `number` receives the point's row and column,
/// counted from 1.
fn of_points(side: usize, number: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let number = &number;
    let rows = (1..=side).flat_map(|row| (1..=side).map(move |column| number(row, column)));
    rows.collect()
}

/// A saddle between 0 and 1, whose second differences in the two directions cancel.
fn at_rest(side: usize, row: usize, column: usize) -> f64 {
    let (y, x) = (row as f64 / (side as f64 + 1.0), column as f64 / (side as f64 + 1.0));
    (x * x - y * y + 1.0) / 2.0
}

/// Returns the sum of the temperatures of a point's neighbours on the edge.
fn edge_sum(side: usize, row: usize, column: usize) -> f64 {
    let neighbours = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)];
    let is_edge = |at: usize| at == 0 || at == side + 1;
    let at_edge = neighbours.into_iter().filter(|(row, column)| is_edge(*row) || is_edge(*column));
    at_edge.map(|(row, column)| at_rest(side, row, column)).sum()
}

//! The problem: the heat equation on the unit square, u' = Δu, with fixed temperatures at the
//! edges, by finite differences in space and the method of Crank and Nicolson in time.
//!
//! Let A be the matrix of [`SparseMatrix::laplacian`], h the distance between points, and r = Δt /
//! h². A step from the temperatures u of the inner points to u + d is (I + r/2 A) d = r (g - A u).
//! Here g has for each point the sum of the temperatures of its neighbours at the edge.
//!
//! The temperatures here are chosen so that each step is known exactly. At the edges they are those
//! of a function whose differences in both directions cancel, which is also the final state. At the
//! start, eigenvectors of A are added; each step keeps a known part of them.

use std::f64::consts::PI;

use pool_examples::algebra::{ConjugateGradientError, Precision, SparseMatrix, norm};

use crate::stepper::History;

/// The waves that are added at the start: half waves in each direction, and their amplitudes.
const WAVES: [(usize, usize, f64); 6] =
    [(1, 1, 0.5), (2, 1, -0.2), (1, 4, 0.2), (3, 3, 0.2), (4, 6, 0.2), (9, 7, 0.1)];

/// A heat equation, and its time steps.
#[derive(Debug)]
pub(crate) struct Heat {
    /// Inner points along each side.
    pub(crate) side: usize,
    /// Steps in time.
    pub(crate) steps: usize,
    /// Δt / h².
    ratio: f64,
    /// I + r/2 A, for which each step solves.
    pub(crate) implicit: SparseMatrix,
    /// -r A.
    pub(crate) explicit: SparseMatrix,
    /// r g.
    pub(crate) boundary: Vec<f64>,
    /// The temperatures to begin with.
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

    /// Returns the final temperature of a point; 0 and `side + 1` are the edges, whose temperature stays fixed.
    pub(crate) fn at_rest(&self, row: usize, column: usize) -> f64 {
        at_rest(self.side, row, column)
    }

    /// Returns the temperatures after `steps` steps, without rounding.
    pub(crate) fn exact(&self, steps: usize) -> Vec<f64> {
        of_points(self.side, |row, column| {
            let waves = WAVES.iter().map(|wave| self.wave(*wave, steps, row, column));
            self.at_rest(row, column) + waves.sum::<f64>()
        })
    }

    /// Returns a wave at a point after `steps` steps.
    fn wave(&self, wave: (usize, usize, f64), steps: usize, row: usize, column: usize) -> f64 {
        let (down, across, height) = wave;
        let angle =
            |waves: usize, at: usize| PI * waves as f64 * at as f64 / (self.side as f64 + 1.0);
        let eigenvalue = 4.0 - 2.0 * angle(down, 1).cos() - 2.0 * angle(across, 1).cos();
        let half = self.ratio / 2.0 * eigenvalue;
        let kept = ((1.0 - half) / (1.0 + half)).powf(steps as f64);
        height * kept * angle(down, row).sin() * angle(across, column).sin()
    }

    /// Returns a bound of the distance between the final temperatures and the exact ones, for the
    /// precision and the residuals of a history.
    ///
    /// A step multiplies the errors of all earlier ones by (I + r/2 A)⁻¹ (I - r/2 A), whose norm is
    /// at most 1, since A is symmetric and definite. So the errors of the steps at most add up. Let
    /// u be the unit roundoff (first order only), and K, U and W the norms of -r A, of the
    /// temperatures, and of their difference from the final ones. The error of a step has these
    /// parts:
    ///
    /// - The right-hand side, whose parts are at most K U each: (m + 1) u K U for rounding -r A and
    ///   its product with the temperatures, of at most m numbers a row. Rounding r g adds u K U,
    ///   and the sum u K W. Division by I + r/2 A, whose eigenvalues are at least 1, does not
    ///   increase it.
    /// - The error of the conjugate-gradient method, whose solution d is the difference of two
    ///   temperatures, of norm at most 2 W ([`ConjugateGradientError`]).
    /// - The rounding of the sum u + d, u U.
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

/// A number for each inner point, row by row, of its row and column from 1.
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

/// The sum of the temperatures of a point's neighbours at the edge.
fn edge_sum(side: usize, row: usize, column: usize) -> f64 {
    let neighbours = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)];
    let is_edge = |at: usize| at == 0 || at == side + 1;
    let at_edge = neighbours.into_iter().filter(|(row, column)| is_edge(*row) || is_edge(*column));
    at_edge.map(|(row, column)| at_rest(side, row, column)).sum()
}

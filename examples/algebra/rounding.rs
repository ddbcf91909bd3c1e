//! How far rounding may put the answer of the conjugate-gradient method.

/// The 2-norm of a vector.
#[must_use]
pub fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|number| number * number).sum::<f64>().sqrt()
}

/// The largest absolute difference of two vectors' numbers, which is at most the 2-norm of the vectors' difference:
/// infinite where one of the two is no number, or one vector is longer.
#[must_use]
pub fn greatest_difference(one: &[f64], two: &[f64]) -> f64 {
    if one.len() != two.len() {
        return f64::INFINITY;
    }
    let differences = one.iter().zip(two).map(|(one, two)| (one - two).abs());
    // `f64::max` alone passes over what is no number.
    differences
        .map(|difference| if difference.is_nan() { f64::INFINITY } else { difference })
        .fold(0.0, f64::max)
}

/// What the rounding of the conjugate-gradient method depends on, for `A x = b` with a symmetric, definite matrix A.
///
/// The method carries a residual r along, which falls as far as one likes, while the true one, b - A x, stays where
/// rounding has put it. With the unit roundoff u, in the first order of u, the two drift apart as follows (after
/// Greenbaum, *Estimating the attainable accuracy of recursively computed residual methods*, SIAM Journal on Matrix
/// Analysis and Applications 18, 1997). An iteration computes
///
/// - q = A p, which is off by at most (m + 1) u |A| |p| for at most m numbers a row: a rounding for each product and
///   each sum. What it adds to r is α q, so r is off by (m + 1) u ‖|A|‖ ‖α p‖;
/// - x + α p, off by at most u |x| + u |α p| (the second where product and sum are rounded each), and so A x by
///   ‖A‖ u (‖x‖ + ‖α p‖);
/// - r - α q, off by at most u ‖r‖ + u ‖α q‖, with the *same* number α, however that was rounded.
///
/// The norms ‖x‖ of the iterates grow towards that of the solution X, without ever falling, and the squares of their
/// steps ‖α p‖ sum up to at most ‖X‖² (Steihaug 1983), so that the steps of k iterations sum up to √k ‖X‖; the error
/// falls from ‖X‖ (Hestenes and Stiefel 1952), so that ‖r‖ ≤ ‖A‖ ‖X‖. With N ≥ ‖|A|‖ ≥ ‖A‖, k iterations drift by
///
/// u N ‖X‖ (2 k + (m + 3) √k).
///
/// That the matrix and the right-hand side are rounded adds 2 u N ‖X‖ (since ‖b‖ ≤ N ‖X‖), and what the method was told
/// to be content with adds τ ‖b‖ ≤ τ N ‖X‖. The true residual divided by A is the error.
#[derive(Clone, Copy, Debug)]
pub struct ConjugateGradientError {
    /// N: at least the norms of A and of |A|.
    pub matrix_norm: f64,
    /// The norm of A⁻¹.
    pub inverse_norm: f64,
    /// m: the most numbers in a row of A.
    pub longest_row: usize,
    /// ‖X‖: the norm of the solution.
    pub solution_norm: f64,
    /// k: the iterations that were done.
    pub iterations: usize,
}

impl ConjugateGradientError {
    /// The largest norm of the difference between the answer and the solution, for the unit roundoff u and the
    /// residual τ with which the method ended, as a part of the right-hand side.
    #[must_use]
    pub fn bound(&self, unit: f64, residual: f64) -> f64 {
        let (k, m) = (self.iterations as f64, self.longest_row as f64);
        let drift = unit * (2.0 * k + (m + 3.0) * k.sqrt() + 2.0);
        self.inverse_norm * self.matrix_norm * self.solution_norm * (drift + residual)
    }
}

#[cfg(test)]
mod tests {
    use super::greatest_difference;

    #[test]
    fn what_is_no_number_differs_from_everything() {
        assert_eq!(greatest_difference(&[1.0, -2.0], &[1.5, 2.0]), 4.0);
        assert_eq!(greatest_difference(&[f64::NAN, 0.0], &[0.0, 0.0]), f64::INFINITY);
        assert_eq!(greatest_difference(&[0.0], &[0.0, 0.0]), f64::INFINITY);
    }
}

//! Bounds of the rounding error of the conjugate-gradient method.

/// The 2-norm of a vector.
#[must_use]
pub fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|number| number * number).sum::<f64>().sqrt()
}

/// Returns the largest absolute difference of two vectors' numbers, which is at most the 2-norm of
/// the vectors' difference. It is infinite if one of the two is not a number, or if the lengths
/// differ.
#[must_use]
pub fn greatest_difference(one: &[f64], two: &[f64]) -> f64 {
    if one.len() != two.len() {
        return f64::INFINITY;
    }
    let differences = one.iter().zip(two).map(|(one, two)| (one - two).abs());
    // `f64::max` alone ignores NaN.
    differences
        .map(|difference| if difference.is_nan() { f64::INFINITY } else { difference })
        .fold(0.0, f64::max)
}

/// The parameters of the rounding error of the conjugate-gradient method, for `A x = b` with a
/// symmetric, definite matrix A.
///
/// The method computes a residual r recursively, which falls without limit, while the true one, b -
/// A x, stays at the level of rounding. With the unit roundoff u, in the first order of u, the two
/// drift apart as follows (after Greenbaum, *Estimating the attainable accuracy of recursively
/// computed residual methods*, SIAM Journal on Matrix Analysis and Applications 18, 1997). An
/// iteration computes
///
/// - q = A p, with an error of at most (m + 1) u |A| |p| for at most m numbers a row: a rounding
///   for each product and each sum. It adds α q to r, so the error of r is (m + 1) u ‖|A|‖ ‖α p‖;
/// - x + α p, with an error of at most u |x| + u |α p| (the second if product and sum are rounded
///   each), and so A x by ‖A‖ u (‖x‖ + ‖α p‖);
/// - r - α q, with an error of at most u ‖r‖ + u ‖α q‖, with the *same* number α, independent of
///   its rounding.
///
/// The norms ‖x‖ of the iterates grow towards that of the solution X, without ever falling. The
/// squares of their steps ‖α p‖ sum up to at most ‖X‖² (Steihaug 1983), so that the steps of k
/// iterations sum up to √k ‖X‖. The error falls from ‖X‖ (Hestenes and Stiefel 1952), so that ‖r‖ ≤
/// ‖A‖ ‖X‖. With N ≥ ‖|A|‖ ≥ ‖A‖, k iterations drift by
///
/// u N ‖X‖ (2 k + (m + 3) √k).
///
/// Rounding the matrix and the right-hand side adds 2 u N ‖X‖ (since ‖b‖ ≤ N ‖X‖). The tolerance of
/// the method adds τ ‖b‖ ≤ τ N ‖X‖. The true residual divided by A is the error.
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
    /// Returns the maximum norm of the difference between the result and the solution. `unit` is
    /// the unit roundoff u, and `residual` the final residual τ of the method, relative to the
    /// right-hand side.
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

//! Bounds on the rounding error of the conjugate-gradient method.

/// Returns the 2-norm of a vector.
#[must_use]
pub fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|number| number * number).sum::<f64>().sqrt()
}

/// Returns the largest absolute difference between the elements of two vectors. This value is at
/// most the 2-norm of the vectors' difference. It is infinite if an element is not a number, or if
/// the lengths differ.
#[must_use]
pub fn greatest_difference(one: &[f64], two: &[f64]) -> f64 {
    if one.len() != two.len() {
        return f64::INFINITY;
    }
    let differences = one.iter().zip(two).map(|(one, two)| (one - two).abs());
    // `f64::max` ignores NaN, so NaN is checked separately.
    differences
        .map(|difference| if difference.is_nan() { f64::INFINITY } else { difference })
        .fold(0.0, f64::max)
}

/// The quantities that determine the rounding error of the conjugate-gradient method, for `A x = b`
/// with a symmetric, definite matrix A.
///
/// The method computes a residual r recursively. This residual falls without limit, while the true
/// residual, b - A x, stays at the level of rounding. Let u be the unit roundoff. To first order in
/// u, the two residuals drift apart as follows (after Greenbaum, *Estimating the attainable
/// accuracy of recursively computed residual methods*, SIAM Journal on Matrix Analysis and
/// Applications 18, 1997). Each iteration computes
///
/// - q = A p. With at most m numbers per row, and one rounding for each product and each sum, its
///   error is at most (m + 1) u |A| |p|. The iteration adds α q to r, so the error of r is (m + 1)
///   u ‖|A|‖ ‖α p‖;
/// - x + α p, with an error of at most u |x| + u |α p| (the second term if product and sum are
///   rounded separately). A x therefore has an error of at most ‖A‖ u (‖x‖ + ‖α p‖);
/// - r - α q, with an error of at most u ‖r‖ + u ‖α q‖. It uses the *same* number α, regardless of
///   how α was rounded.
///
/// The norms ‖x‖ of the iterates never fall, and approach the norm of the solution X. The squares
/// of the steps ‖α p‖ sum to at most ‖X‖² (Steihaug 1983), so the steps of k iterations sum to at
/// most √k ‖X‖. The norm of the error starts at ‖X‖ and decreases (Hestenes and Stiefel 1952), so
/// ‖r‖ ≤ ‖A‖ ‖X‖. With N ≥ ‖|A|‖ ≥ ‖A‖, k iterations drift by
///
/// u N ‖X‖ (2 k + (m + 3) √k).
///
/// Rounding the matrix and the right-hand side adds 2 u N ‖X‖, because ‖b‖ ≤ N ‖X‖. The tolerance
/// of the method adds τ ‖b‖ ≤ τ N ‖X‖. The error is the inverse of A times the true residual.
#[derive(Clone, Copy, Debug)]
pub struct ConjugateGradientError {
    /// N: an upper bound on the norms of A and of |A|.
    pub matrix_norm: f64,
    /// The norm of A⁻¹.
    pub inverse_norm: f64,
    /// m: the maximum number of entries in a row of A.
    pub longest_row: usize,
    /// ‖X‖: the norm of the solution.
    pub solution_norm: f64,
    /// k: the number of iterations performed.
    pub iterations: usize,
}

impl ConjugateGradientError {
    /// Returns an upper bound on the norm of the difference between the result and the solution.
    /// `unit` is the unit roundoff u. `residual` is the method's final residual τ, relative to the
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

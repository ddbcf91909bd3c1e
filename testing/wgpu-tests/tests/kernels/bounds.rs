//! Bounds of rounding errors, and checks against them.
//!
//! The bounds are those of Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section
//! 3.1. With the unit roundoff u, n consecutive roundings multiply by 1 + θ with |θ| ≤ γₙ = n·u /
//! (1 − n·u). Suppose each term of a sum of products passes at most n roundings. Then the result is
//! off by at most γₙ · Σ |terms|, in any order of additions. A product and a sum that the compiler
//! fuses round once less.
//!
//! By WGSL, the sum and the product of two `f32` are one of the two numbers beside the exact one:
//! the device chooses the direction of rounding. So u = 2⁻²³, twice that of rounding to nearest. A
//! device may also flush numbers below 2⁻¹²⁶ to 0. The inputs here are multiples of 2⁻²⁴, and at
//! most three of them are multiplied with each other, so a nonzero product is at least 2⁻⁷².

/// The unit roundoff of an `f32` in WGSL.
const UNIT: f64 = f32::EPSILON as f64;

/// Returns γₙ.
pub(crate) fn gamma(roundings: u32) -> f64 {
    let product = f64::from(roundings) * UNIT;
    assert!(product < 0.1, "the bound is not valid for {roundings} roundings");
    product / (1.0 - product)
}

/// A result in double precision, and the allowed error of the computation.
///
/// The reference's own error is less than a thousandth of that, and is left out: fewer than 2²⁰ roundings of 2⁻⁵³. The
/// kernels have two of 2⁻²³, or many more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reference {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

/// A sum of terms in double precision, with the sum of their absolute values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    value: f64,
    absolute: f64,
}

impl Sum {
    pub(crate) fn of(terms: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = Self::default();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
    }

    pub(crate) fn add(&mut self, term: f64) {
        self.value += term;
        self.absolute += term.abs();
    }

    /// Returns the sum, in which each term passes at most this many roundings.
    pub(crate) fn rounded(self, roundings: u32) -> Reference {
        Reference { value: self.value, error: gamma(roundings) * self.absolute }
    }
}

/// Fails with the first element outside its bound.
#[track_caller]
pub(crate) fn assert_within(
    what: &str,
    results: &[f32],
    expected: impl ExactSizeIterator<Item = Reference>,
) {
    assert_eq!(results.len(), expected.len(), "{what}");
    for (at, (result, Reference { value, error })) in results.iter().zip(expected).enumerate() {
        let off = (f64::from(*result) - value).abs();
        // It is not `off > error`, so that NaN fails.
        assert!(
            off <= error,
            "{what}, element {at}: {result} instead of {value}, off by {off:e}, at most {error:e}"
        );
    }
}

/// Returns multiples of 2⁻²³ from -1 to 1, the same for the same seed.
pub(crate) fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.i32(-(1 << 23)..=1 << 23) as f32 / (1 << 23) as f32).collect()
}

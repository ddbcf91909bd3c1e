//! Bounds of rounding errors, and checks against them.
//!
//! The bounds are those of Higham, *Accuracy and Stability of Numerical Algorithms* (2002),
//! chapter 3. With the unit roundoff u, n consecutive roundings multiply by 1 + θ with
//! |θ| ≤ γₙ = n·u / (1 − n·u), in any order of the sum.

use crate::element::Element;

/// Returns γₙ.
pub(crate) fn gamma(roundings: usize, unit: f64) -> f64 {
    let product = roundings as f64 * unit;
    assert!(product < 0.1, "the bound is not valid for {roundings} roundings");
    product / (1.0 - product)
}

/// Returns the relative error of an exponential. CUDA's `expf` is within 2 units in the last place
/// of the rounded exact value, and `exp` within 1 (CUDA C++ Programming Guide, *Mathematical
/// Functions*). That includes the error of `ex2.approx.ftz.f32`, which `expf` uses. A unit in the
/// last place is at most 2u of a number, and the rounding is half of one more: 2.5 · 2u.
pub(crate) fn exponential(unit: f64) -> f64 {
    5.0 * unit
}

/// Returns the same of a reciprocal square root: `rsqrtf` is `rsqrt.approx.f32`, within 2 units in
/// the last place; `rsqrt` is `rsqrt.approx.f64`, within 1 (ibid.).
pub(crate) fn inverse_root(unit: f64) -> f64 {
    5.0 * unit
}

/// A number in double precision, and the allowed error of the computation before it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

impl Reference {
    pub(crate) fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    /// Returns the reference of one operation that rounds once.
    pub(crate) fn rounded<E: Element>(value: f64) -> Self {
        Self { value, error: E::UNIT * value.abs() }
    }
}

/// Checks elements against references.
pub(crate) fn compare<E: Element>(
    actual: &[E::Stored],
    expected: impl ExactSizeIterator<Item = Reference>,
) -> Result<(), String> {
    if actual.len() != expected.len() {
        return Err(format!("{} elements instead of {}", actual.len(), expected.len()));
    }
    for (at, (stored, reference)) in actual.iter().zip(expected).enumerate() {
        let tolerance = E::tolerance(reference.value, reference.error);
        within(E::load(*stored), reference.value, tolerance)
            .map_err(|why| format!("{}, element {at}: {why}", E::NAME))?;
    }
    Ok(())
}

/// Checks a wide number against a reference.
pub(crate) fn compare_wide<E: Element>(
    actual: E::Wide,
    reference: Reference,
) -> Result<(), String> {
    let tolerance = E::wide_tolerance(reference.value, reference.error);
    within(E::load_wide(actual), reference.value, tolerance)
        .map_err(|why| format!("{}: {why}", E::NAME))
}

fn within(actual: f64, reference: f64, tolerance: f64) -> Result<(), String> {
    assert!(!(tolerance.is_nan() && reference.is_finite()), "a bound that holds nothing");
    let same = actual == reference || (actual.is_nan() && reference.is_nan());
    if same || (actual - reference).abs() <= tolerance {
        return Ok(());
    }
    let times = (actual - reference).abs() / tolerance;
    Err(format!("{actual:e} instead of {reference:e}: {times:.2} times the allowed error"))
}

#[test]
fn a_result_out_of_its_bound_is_noticed() {
    use crate::element::{F16, F32};

    let reference = || [Reference::rounded::<F32>(1.0)].into_iter();
    let (near, far) = (1.0 + f32::EPSILON / 2.0, 1.0 + f32::EPSILON);
    assert!(compare::<F32>(&[near], reference()).is_ok());
    assert!(compare::<F32>(&[far], reference()).is_err());
    assert!(compare::<F32>(&[f32::NAN], reference()).is_err());
    assert!(compare::<F32>(&[], reference()).is_err());
    assert!(compare::<F32>(&[f32::INFINITY], [Reference::exact(1e30)].into_iter()).is_err());
    let half = |value| compare::<F16>(&[F16::store(value)], reference());
    assert!(half(1.0).is_ok() && half(1.001).is_err());
}

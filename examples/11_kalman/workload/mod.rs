//! A Kalman filter and smoother for the Nile series, written twice: [`allocating`] creates a `Vec`
//! for each temporary, and [`pooled`] acquires each temporary. Both versions share the model, the
//! data and the matrix arithmetic, so their results are equal bit by bit. Read the two files side
//! by side.

pub(crate) mod allocating;
mod matrix;
pub(crate) mod nile;
pub(crate) mod pooled;
mod series;
mod state_space;

pub(crate) use matrix::{Matrix, NotPositiveDefinite, Values};
pub(crate) use state_space::{Moments, StateSpace};

/// The exact diffuse log-likelihood of the series for these variances, accurate to ± 0.001.
pub(crate) const KNOWN_LOG_LIKELIHOOD: f64 = -632.546;

/// Checks that both versions agree bit by bit, and that the likelihood matches the known value.
pub(crate) fn check(
    allocating: &allocating::Smoothed,
    pooled: &pooled::Smoothed<'_>,
) -> Result<(), String> {
    let difference = allocating.log_likelihood - KNOWN_LOG_LIKELIHOOD;
    if difference.is_nan() || difference.abs() > 0.001 {
        let found = allocating.log_likelihood;
        return Err(format!("log-likelihood {found:.4}, expected {KNOWN_LOG_LIKELIHOOD}"));
    }
    if allocating.numbers().map(f64::to_bits).ne(pooled.numbers().map(f64::to_bits)) {
        return Err("the pooled Kalman smoother differs from the allocating one".to_owned());
    }
    Ok(())
}

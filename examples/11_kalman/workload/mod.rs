//! A Kalman filter and smoother on the Nile series, written twice: [`allocating`] makes a `Vec` for
//! each temporary, [`pooled`] acquires it. Model, data and matrix arithmetic are shared, so the
//! results are equal bit by bit; read the two files side by side.

pub(crate) mod allocating;
mod matrix;
pub(crate) mod nile;
pub(crate) mod pooled;
mod series;
mod state_space;

pub(crate) use matrix::{Matrix, NotPositiveDefinite, Values};
pub(crate) use state_space::{Moments, StateSpace};

/// The exact diffuse log-likelihood of the series at these variances, known to ± 0.001.
pub(crate) const KNOWN_LOG_LIKELIHOOD: f64 = -632.546;

/// Checks that both versions agree in every bit and that the likelihood is the known one.
pub(crate) fn check(
    allocating: &allocating::Smoothed,
    pooled: &pooled::Smoothed<'_>,
) -> Result<(), String> {
    let difference = allocating.log_likelihood - KNOWN_LOG_LIKELIHOOD;
    if difference.is_nan() || difference.abs() > 0.001 {
        let found = allocating.log_likelihood;
        return Err(format!("log-likelihood {found:.4}, expected is {KNOWN_LOG_LIKELIHOOD}"));
    }
    if allocating.numbers().map(f64::to_bits).ne(pooled.numbers().map(f64::to_bits)) {
        return Err("the pooled Kalman smoother differs from the allocating one".to_owned());
    }
    Ok(())
}

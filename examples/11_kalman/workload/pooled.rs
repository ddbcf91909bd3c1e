//! The pooled version. Every temporary is acquired from a scope. Each year of the series opens an
//! inner scope, so the next year's temporaries reuse the same memory. Results are acquired in
//! advance, from the outer scope.

use std::f64::consts::TAU;

use pool_facade::prelude::*;

use super::series::Series;
use super::{Matrix, Moments, NotPositiveDefinite, StateSpace, Values};

type Pooled<'s> = Matrix<&'s mut [f64]>;
type PooledMoments<'s> = Moments<&'s mut [f64]>;

/// The results of the filter and the smoother for each year.
#[derive(Debug)]
pub(crate) struct Smoothed<'s> {
    pub(crate) log_likelihood: f64,
    pub(crate) filtered: Series<'s>,
    pub(crate) smoothed: Series<'s>,
}

impl Smoothed<'_> {
    /// Returns all numbers of the result, in the same order as the allocating version.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        let years = self.filtered.years().chain(self.smoothed.years());
        let values = years.flat_map(|year| year.state.values.iter().chain(year.variance.values));
        values.copied().chain([self.log_likelihood])
    }
}

/// Filters forwards, then smooths backwards.
pub(crate) fn smooth<'s>(
    scope: &mut Scope<'s, Cpu>,
    model: &StateSpace,
    observations: &[f64],
) -> Result<Smoothed<'s>, NotPositiveDefinite> {
    let disturbance = congruence(scope, &model.selection, &model.disturbance_variance);
    let mut log_likelihood = 0.0;
    let mut predicted = Series::starting_with(scope, observations.len(), &model.first);
    let mut filtered = Series::starting_with(scope, observations.len(), &model.first);
    for (time, observation) in observations.iter().enumerate().skip(1) {
        let year = scope.scope();
        let prediction = predict(&year, model, &disturbance, &filtered.at(time - 1));
        let (term, update) = update(&year, model, *observation, &prediction)?;
        log_likelihood += term;
        predicted.set(time, &prediction);
        filtered.set(time, &update);
    }

    let mut smoothed = filtered.copy(scope);
    for time in (0..observations.len() - 1).rev() {
        let year = scope.scope();
        let later = smoothed.at(time + 1);
        let step = smooth_step(&year, model, &filtered.at(time), &predicted.at(time + 1), &later)?;
        smoothed.set(time, &step);
    }
    Ok(Smoothed { log_likelihood, filtered, smoothed })
}

/// Computes `a = T a` and `P = T P Tᵀ + R Q Rᵀ`.
fn predict<'s>(
    scope: &Scope<'s, Cpu>,
    model: &StateSpace,
    disturbance: &Matrix<impl Values>,
    known: &Moments<impl Values>,
) -> PooledMoments<'s> {
    let state = product(scope, &model.transition, &known.state);
    let carried = congruence(scope, &model.transition, &known.variance);
    Moments { state, variance: sum(scope, &carried, disturbance) }
}

/// Updates the moments with one observation, and returns the observation's share of the
/// log-likelihood.
fn update<'s>(
    scope: &Scope<'s, Cpu>,
    model: &StateSpace,
    observation: f64,
    predicted: &Moments<impl Values>,
) -> Result<(f64, PooledMoments<'s>), NotPositiveDefinite> {
    let observation = Matrix { rows: 1, columns: 1, values: scope.acquire_filled(1, observation) };
    let expected = product(scope, &model.design, &predicted.state);
    let innovation = difference(scope, &observation, &expected);
    let cross = product(scope, &predicted.variance, &transpose(scope, &model.design));
    let seen = product(scope, &model.design, &cross);
    let spread = sum(scope, &seen, &model.observation_variance);
    let (log_determinant, precision) = inverse(scope, &spread)?;
    let gain = product(scope, &cross, &precision);

    let state = sum(scope, &predicted.state, &product(scope, &gain, &innovation));
    let learned = product(scope, &gain, &transpose(scope, &cross));
    let variance = difference(scope, &predicted.variance, &learned);
    let weighted = product(scope, &transpose(scope, &innovation), &precision);
    let distance = product(scope, &weighted, &innovation);
    let term = -0.5 * (TAU.ln() + log_determinant + distance.values[0]);
    Ok((term, Moments { state, variance }))
}

/// Corrects a filtered state using the next smoothed state (Rauch, Tung and Striebel).
fn smooth_step<'s>(
    scope: &Scope<'s, Cpu>,
    model: &StateSpace,
    filtered: &Moments<impl Values>,
    predicted: &Moments<impl Values>,
    smoothed: &Moments<impl Values>,
) -> Result<PooledMoments<'s>, NotPositiveDefinite> {
    let cross = product(scope, &filtered.variance, &transpose(scope, &model.transition));
    let (_, precision) = inverse(scope, &predicted.variance)?;
    let gain = product(scope, &cross, &precision);
    let surprise = difference(scope, &smoothed.state, &predicted.state);
    let narrowing = difference(scope, &smoothed.variance, &predicted.variance);
    Ok(Moments {
        state: sum(scope, &filtered.state, &product(scope, &gain, &surprise)),
        variance: sum(scope, &filtered.variance, &congruence(scope, &gain, &narrowing)),
    })
}

/// Computes `A V Aᵀ`.
fn congruence<'s>(
    scope: &Scope<'s, Cpu>,
    map: &Matrix<impl Values>,
    variance: &Matrix<impl Values>,
) -> Pooled<'s> {
    product(scope, &product(scope, map, variance), &transpose(scope, map))
}

fn product<'s>(
    scope: &Scope<'s, Cpu>,
    left: &Matrix<impl Values>,
    right: &Matrix<impl Values>,
) -> Pooled<'s> {
    let mut out = matrix(scope, left.rows, right.columns);
    out.fill_product(left, right);
    out
}

fn transpose<'s>(scope: &Scope<'s, Cpu>, of: &Matrix<impl Values>) -> Pooled<'s> {
    let mut out = matrix(scope, of.columns, of.rows);
    out.fill_transpose(of);
    out
}

fn sum<'s>(
    scope: &Scope<'s, Cpu>,
    left: &Matrix<impl Values>,
    right: &Matrix<impl Values>,
) -> Pooled<'s> {
    let mut out = matrix(scope, left.rows, left.columns);
    out.fill_sum(left, right);
    out
}

fn difference<'s>(
    scope: &Scope<'s, Cpu>,
    left: &Matrix<impl Values>,
    right: &Matrix<impl Values>,
) -> Pooled<'s> {
    let mut out = matrix(scope, left.rows, left.columns);
    out.fill_difference(left, right);
    out
}

/// Returns the log-determinant and the inverse of a variance.
fn inverse<'s>(
    scope: &Scope<'s, Cpu>,
    of: &Matrix<impl Values>,
) -> Result<(f64, Pooled<'s>), NotPositiveDefinite> {
    let mut factor = matrix(scope, of.rows, of.rows);
    let log_determinant = factor.fill_cholesky(of)?;
    let mut out = matrix(scope, of.rows, of.rows);
    out.fill_inverse(&factor);
    Ok((log_determinant, out))
}

fn matrix<'s>(scope: &Scope<'s, Cpu>, rows: usize, columns: usize) -> Pooled<'s> {
    Matrix { rows, columns, values: scope.acquire(rows * columns) }
}

//! The allocating version. Every temporary is a new `Vec`, as in a first draft.

use std::f64::consts::TAU;

use super::{Matrix, Moments, NotPositiveDefinite, StateSpace, Values};

type Owned = Matrix<Vec<f64>>;
type OwnedMoments = Moments<Vec<f64>>;

/// The results of the filter and the smoother for each year.
#[derive(Debug)]
pub(crate) struct Smoothed {
    pub(crate) log_likelihood: f64,
    pub(crate) filtered: Vec<OwnedMoments>,
    pub(crate) smoothed: Vec<OwnedMoments>,
}

impl Smoothed {
    /// Returns all numbers of the result, for comparison.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        let years = self.filtered.iter().chain(&self.smoothed);
        let values = years.flat_map(|year| year.state.values.iter().chain(&year.variance.values));
        values.copied().chain([self.log_likelihood])
    }
}

/// Filters forwards, then smooths backwards.
pub(crate) fn smooth(
    model: &StateSpace,
    observations: &[f64],
) -> Result<Smoothed, NotPositiveDefinite> {
    let disturbance = congruence(&model.selection, &model.disturbance_variance);
    let mut log_likelihood = 0.0;
    let mut predicted = vec![model.first.clone()];
    let mut filtered = vec![model.first.clone()];
    for (time, observation) in observations.iter().enumerate().skip(1) {
        let prediction = predict(model, &disturbance, &filtered[time - 1]);
        let (term, update) = update(model, *observation, &prediction)?;
        log_likelihood += term;
        predicted.push(prediction);
        filtered.push(update);
    }

    let mut smoothed = filtered.clone();
    for time in (0..observations.len() - 1).rev() {
        smoothed[time] =
            smooth_step(model, &filtered[time], &predicted[time + 1], &smoothed[time + 1])?;
    }
    Ok(Smoothed { log_likelihood, filtered, smoothed })
}

/// Computes `a = T a` and `P = T P Tᵀ + R Q Rᵀ`.
fn predict(model: &StateSpace, disturbance: &Owned, known: &OwnedMoments) -> OwnedMoments {
    let state = product(&model.transition, &known.state);
    let variance = sum(&congruence(&model.transition, &known.variance), disturbance);
    Moments { state, variance }
}

/// Updates the moments with one observation, and returns the observation's share of the
/// log-likelihood.
fn update(
    model: &StateSpace,
    observation: f64,
    predicted: &OwnedMoments,
) -> Result<(f64, OwnedMoments), NotPositiveDefinite> {
    let observation = Matrix { rows: 1, columns: 1, values: vec![observation] };
    let innovation = difference(&observation, &product(&model.design, &predicted.state));
    let cross = product(&predicted.variance, &transpose(&model.design));
    let spread = sum(&product(&model.design, &cross), &model.observation_variance);
    let (log_determinant, precision) = inverse(&spread)?;
    let gain = product(&cross, &precision);

    let state = sum(&predicted.state, &product(&gain, &innovation));
    let variance = difference(&predicted.variance, &product(&gain, &transpose(&cross)));
    let distance = product(&product(&transpose(&innovation), &precision), &innovation);
    let term = -0.5 * (TAU.ln() + log_determinant + distance.values[0]);
    Ok((term, Moments { state, variance }))
}

/// Corrects a filtered state using the next smoothed state (Rauch, Tung and Striebel).
fn smooth_step(
    model: &StateSpace,
    filtered: &OwnedMoments,
    predicted: &OwnedMoments,
    smoothed: &OwnedMoments,
) -> Result<OwnedMoments, NotPositiveDefinite> {
    let cross = product(&filtered.variance, &transpose(&model.transition));
    let (_, precision) = inverse(&predicted.variance)?;
    let gain = product(&cross, &precision);
    let surprise = difference(&smoothed.state, &predicted.state);
    let narrowing = difference(&smoothed.variance, &predicted.variance);
    Ok(Moments {
        state: sum(&filtered.state, &product(&gain, &surprise)),
        variance: sum(&filtered.variance, &congruence(&gain, &narrowing)),
    })
}

/// Computes `A V Aᵀ`.
fn congruence(map: &Owned, variance: &Owned) -> Owned {
    product(&product(map, variance), &transpose(map))
}

fn product(left: &Matrix<impl Values>, right: &Matrix<impl Values>) -> Owned {
    let mut out = matrix(left.rows, right.columns);
    out.fill_product(left, right);
    out
}

fn transpose(of: &Matrix<impl Values>) -> Owned {
    let mut out = matrix(of.columns, of.rows);
    out.fill_transpose(of);
    out
}

fn sum(left: &Matrix<impl Values>, right: &Matrix<impl Values>) -> Owned {
    let mut out = matrix(left.rows, left.columns);
    out.fill_sum(left, right);
    out
}

fn difference(left: &Matrix<impl Values>, right: &Matrix<impl Values>) -> Owned {
    let mut out = matrix(left.rows, left.columns);
    out.fill_difference(left, right);
    out
}

/// Returns the log-determinant and the inverse of a variance.
fn inverse(of: &Matrix<impl Values>) -> Result<(f64, Owned), NotPositiveDefinite> {
    let mut factor = matrix(of.rows, of.rows);
    let log_determinant = factor.fill_cholesky(of)?;
    let mut out = matrix(of.rows, of.rows);
    out.fill_inverse(&factor);
    Ok((log_determinant, out))
}

fn matrix(rows: usize, columns: usize) -> Owned {
    Matrix { rows, columns, values: vec![0.0; rows * columns] }
}

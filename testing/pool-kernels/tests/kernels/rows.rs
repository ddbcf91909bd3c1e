//! Softmax and layer norm, with a bound that follows each rounding of a row.

use pool_kernels::Launch;
use pool_kernels::rows::{LAYER_NORM, MODULE, SOFTMAX};
use proptest::prelude::Strategy;

use crate::bounds::{Reference, compare, exponential, gamma, inverse_root};
use crate::cases::{Setting, for_all, number, settings, sides, warp_launches};
use crate::element::{Element, for_each_type};
use crate::gpu::Gpu;

#[derive(Clone, Copy, Debug)]
struct Case {
    rows: usize,
    columns: usize,
    launch: Launch,
    setting: Setting,
}

fn cases() -> impl Strategy<Value = Case> {
    let shapes = (sides(6), sides(300));
    (shapes, warp_launches(), settings()).prop_map(|((rows, columns), launch, setting)| {
        let launch = launch.unwrap_or(Launch::over_rows(rows, columns));
        Case { rows, columns, launch, setting }
    })
}

impl Case {
    /// Returns the number of roundings of a number when its row is summed.
    fn of_sum(&self) -> usize {
        self.columns.div_ceil(self.launch.block.0 as usize) + 5 + 5
    }

    fn in_place(&self) -> bool {
        self.setting.seed % 2 == 0
    }

    /// Returns the offset added to all elements of every other case. Exponentials overflow there
    /// unless the maximum is subtracted first, and the mean of squares is useless for a variance.
    fn offset(&self) -> f64 {
        if self.setting.seed / 2 % 2 == 0 { 1000.0 } else { 0.0 }
    }
}

/// With x the row, m its maximum, and sizes relative to the exact values:
///
/// - x - m is rounded, by at most u of the largest difference D. So its exponential is off by
///   exp(u·D) and by the function's own error: together 1 + η;
/// - the sum, of positive numbers alone, is off by η and by γ of its roundings: together η′;
/// - the quotient is off by (1 + η)(1 + u) / (1 - η′).
///
/// Differences are below 20, so `ex2.approx.ftz` flushes nothing to 0.
fn softmax_of<E: Element>(row: &[f64], roundings: usize) -> Vec<Reference> {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let apart = row.iter().map(|x| largest - x).fold(0.0, f64::max);
    let of_term = (E::UNIT * apart).exp() * (1.0 + exponential(E::UNIT)) - 1.0;
    let of_sum = of_term + gamma(roundings, E::UNIT) * (1.0 + of_term);
    let relative = (1.0 + of_term) * (1.0 + E::UNIT) / (1.0 - of_sum) - 1.0;
    let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
    let reference = |x: &f64| {
        let value = (x - largest).exp() / sum;
        Reference { value, error: relative * value }
    };
    row.iter().map(reference).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn softmax() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(SOFTMAX));
        for_all(cases(), |case| {
            let mut random = fastrand::Rng::with_seed(case.setting.seed);
            let data: Vec<_> = (0..case.rows * case.columns)
                .map(|_| E::store(random.f64() * 19.0 + case.offset()))
                .collect();
            let from = gpu.upload(&data, case.setting.before);
            let to = gpu.output::<E::Stored>(data.len(), case.setting.before / 2);
            let to = if case.in_place() { &from } else { &to };
            let arguments = [from.argument(), to.argument(), case.rows.into(), case.columns.into()];
            gpu.launch(&kernel, case.launch, &arguments);

            let numbers: Vec<f64> = data.iter().map(|stored| E::load(*stored)).collect();
            let expected: Vec<Reference> = numbers
                .chunks(case.columns.max(1))
                .flat_map(|row| softmax_of::<E>(row, case.of_sum()))
                .collect();
            compare::<E>(&gpu.download(to)?, expected.into_iter())
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

/// With a the differences from the mean, v variance and ε, and r its reciprocal root:
///
/// - the mean is a sum and a quotient: off by γ of the mean absolute value;
/// - so a difference is off by that and by one rounding: δ;
/// - each square is off by 2|a|δ + δ², and their sum by γ; the division by the number of columns is
///   one more rounding, and so is the addition of ε: together off by e;
/// - r is off by 1 / √(1 - e/v) and by the function's own error: together 1 + ρ;
/// - the product a·r rounds once, and the fused operation with factor and shift once more.
fn norm_of<E: Element>(
    row: &[f64],
    factor: &[f64],
    shift: &[f64],
    epsilon: f64,
    roundings: usize,
) -> Vec<Reference> {
    let (u, columns) = (E::UNIT, row.len() as f64);
    let mean = row.iter().sum::<f64>() / columns;
    let of_mean = gamma(roundings + 1, u) * row.iter().map(|x| x.abs()).sum::<f64>() / columns;
    let apart: Vec<f64> = row.iter().map(|x| x - mean).collect();
    let of_apart = |a: f64| of_mean * (1.0 + u) + u * a.abs();

    let variance = apart.iter().map(|a| a * a).sum::<f64>() / columns + epsilon;
    let shifted = |a: &f64| 2.0 * a.abs() * of_apart(*a) + of_apart(*a).powi(2);
    let summed = |a: &f64| (a.abs() + of_apart(*a)).powi(2);
    let of_squares = apart.iter().map(shifted).sum::<f64>() / columns
        + gamma(roundings + 2, u) * apart.iter().map(summed).sum::<f64>() / columns;
    let of_variance = of_squares + u * (variance + of_squares);
    assert!(of_variance < variance / 2.0, "the bound is not valid for this row");
    let of_root = (1.0 + inverse_root(u)) / (1.0 - of_variance / variance).sqrt() - 1.0;

    let root = 1.0 / variance.sqrt();
    let reference = |((a, factor), shift): ((&f64, &f64), &f64)| {
        let normal = a * root;
        let most = (a.abs() + of_apart(*a)) * root * (1.0 + of_root) * (1.0 + u);
        let value = normal * factor + shift;
        let of_normal = factor.abs() * (most - normal.abs());
        Reference { value, error: of_normal + u * (value.abs() + of_normal) }
    };
    apart.iter().zip(factor).zip(shift).map(reference).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn layer_norm() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(LAYER_NORM));
        let epsilon = E::widen(1e-3);
        for_all(cases(), |case| {
            let mut random = fastrand::Rng::with_seed(case.setting.seed);
            let mut draw = |count, shift| {
                let draw = |_| E::store(number(&mut random) + shift);
                (0..count).map(draw).collect::<Vec<E::Stored>>()
            };
            let data = draw(case.rows * case.columns, case.offset());
            let (factor, shift) = (draw(case.columns, 0.0), draw(case.columns, 0.0));
            let from = gpu.upload(&data, case.setting.before);
            let factors = gpu.upload(&factor, case.setting.before / 2);
            let shifts = gpu.upload(&shift, case.setting.before / 3);
            let to = gpu.output::<E::Stored>(data.len(), case.setting.before);
            let to = if case.in_place() { &from } else { &to };
            let arguments = [
                from.argument(),
                factors.argument(),
                shifts.argument(),
                to.argument(),
                case.rows.into(),
                case.columns.into(),
                E::scalar(epsilon),
            ];
            gpu.launch(&kernel, case.launch, &arguments);

            let load = |stored: &[E::Stored]| -> Vec<f64> {
                stored.iter().map(|stored| E::load(*stored)).collect()
            };
            let (factor, shift) = (load(&factor), load(&shift));
            let epsilon = E::load_wide(epsilon);
            let norm = |row: &[f64]| norm_of::<E>(row, &factor, &shift, epsilon, case.of_sum());
            let expected: Vec<Reference> =
                load(&data).chunks(case.columns.max(1)).flat_map(norm).collect();
            compare::<E>(&gpu.download(to)?, expected.into_iter())
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

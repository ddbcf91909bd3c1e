//! The encoder's operations in double precision, each by its definition, with the allowed error of
//! an `f32`.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use pool_encoder::Product;

/// The right result, and the maximum error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounded {
    pub(crate) number: f64,
    pub(crate) bound: f64,
}

/// Half of the distance from 1 to the next `f32`.
const U: f64 = f32::EPSILON as f64 / 2.0;

/// Returns the maximum relative error of `count` roundings, of the sum of the terms' absolute
/// values.
fn roundings(count: usize) -> f64 {
    let all = real(count) * U;
    all / (1.0 - all)
}

#[expect(clippy::cast_precision_loss, reason = "lengths of arrays are far below 2^53")]
fn real(count: usize) -> f64 {
    count as f64
}

fn exact(number: f32) -> Bounded {
    Bounded { number: number.into(), bound: 0.0 }
}

/// One addition.
pub(crate) fn add_rows(columns: usize, table: &[f32], indices: &[u32], to: &[f32]) -> Vec<Bounded> {
    let sum = |at: usize| {
        let row = indices[at / columns] as usize * columns;
        let Some(row) = table.get(row..row + columns) else { return exact(to[at]) };
        let number = f64::from(to[at]) + f64::from(row[at % columns]);
        Bounded { number, bound: roundings(1) * number.abs() }
    };
    (0..to.len()).map(sum).collect()
}

/// Products and sums, in any order; then the factor, and the bias. Numbers outside all products
/// stay unchanged.
pub(crate) fn multiply(
    product: &Product,
    left: &[f32],
    right: &[f32],
    bias: Option<&[f32]>,
    before: &[f32],
) -> Vec<Bounded> {
    let &Product { count, rows, columns, inner, factor, .. } = product;
    let mut all: Vec<_> = before.iter().map(|number| exact(*number)).collect();
    for index in 0..count {
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |c| (row, c))) {
            let (mut sum, mut sizes) = (0.0, 0.0);
            for term in 0..inner {
                let (r, c) = if product.right_is_turned { (column, term) } else { (term, column) };
                let a = left[product.left.at(index) + row * product.left.row + term];
                let b = right[product.right.at(index) + r * product.right.row + c];
                sum += f64::from(a) * f64::from(b);
                sizes += (f64::from(a) * f64::from(b)).abs();
            }
            let bias = bias.map_or(0.0, |bias| bias[column].into());
            let factor = f64::from(factor);
            all[product.to.at(index) + row * product.to.row + column] = Bounded {
                number: sum * factor + bias,
                bound: roundings(inner + 2) * (sizes * factor.abs() + bias.abs()),
            };
        }
    }
    all
}

/// The error of the error function used is below 1e-6; half of that, and some roundings, apply to
/// the number.
pub(crate) fn gelu(y: &[f32]) -> Vec<Bounded> {
    let gelu = |y: &f32| {
        let y = f64::from(*y);
        let number = y * 0.5 * (1.0 + erf(y * FRAC_1_SQRT_2));
        Bounded { number, bound: y.abs() * (0.5e-6 + roundings(8)) }
    };
    y.iter().map(gelu).collect()
}

/// By a series whose terms all have one sign (Abramowitz and Stegun, 7.1.6).
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, 0.0);
    for n in 1..300 {
        sum += term;
        term *= 2.0 * x * x / real(2 * n + 1);
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// In WGSL, the error of an exponential is 3 + 2·|x| places of an `f32`, each 2·u, and its argument
/// is rounded, as is their sum. The error of a quotient is 2.5 places.
pub(crate) fn softmax(columns: usize, length: usize, y: &[f32]) -> Vec<Bounded> {
    let of_row = |row: &[f32]| {
        let used = &row[..length.min(columns)];
        let largest = used.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<_> = used.iter().map(|y| f64::from(*y) - f64::from(largest)).collect();
        let sum: f64 = powers.iter().map(|power| power.exp()).sum();
        let farthest = powers.iter().copied().fold(0.0, f64::min).abs();
        let of_power = (3.0 + 2.0 * farthest) * 2.0 + farthest;
        let off = (2.0 * of_power + real(used.len()) + 5.0) * U * 1.01;
        let softmax = |power: &f64| {
            let number = power.exp() / sum;
            Bounded { number, bound: number * off }
        };
        let beyond = columns - used.len();
        powers.iter().map(softmax).chain(vec![exact(0.0); beyond]).collect::<Vec<_>>()
    };
    y.chunks(columns).flat_map(of_row).collect()
}

/// A sum, its mean, the differences from it (with the error `delta`), and their variance (with the
/// error `of_variance`). Also an inverse root, which halves the error of its argument and has an
/// error of at most 5·u itself.
pub(crate) fn add_and_normalize(
    update: &[f32],
    (scale, shift, epsilon): (&[f32], &[f32], f32),
    y: &[f32],
) -> Vec<Bounded> {
    let columns = scale.len();
    let of_row = |(y, update): (&[f32], &[f32])| {
        let sums = y.iter().zip(update).map(|(y, update)| f64::from(*y) + f64::from(*update));
        let sums: Vec<f64> = sums.collect();
        let mean_of = |number: &dyn Fn(f64) -> f64| {
            sums.iter().map(|sum| number(*sum)).sum::<f64>() / real(columns)
        };
        let (mean, size) = (mean_of(&|sum| sum), mean_of(&f64::abs));
        let (variance, spread) =
            (mean_of(&|sum| (sum - mean).powi(2)), mean_of(&|sum| (sum - mean).abs()));
        let largest = sums.iter().fold(0.0, |largest: f64, sum| largest.max(sum.abs()));
        let delta = roundings(columns + 2) * size + 3.0 * U * largest;
        let of_variance = 2.0 * delta * spread + delta * delta;
        let of_variance = of_variance + roundings(columns + 3) * (variance + of_variance);
        let under_root = variance + f64::from(epsilon);
        let inverse = 1.0 / under_root.sqrt();
        let of_inverse = 0.5 * of_variance / (under_root - of_variance).max(0.0) + 5.0 * U;
        let normal = |(at, sum): (usize, &f64)| {
            let [scale, shift] = [scale[at], shift[at]].map(f64::from);
            let normal = (sum - mean) * inverse;
            let of_normal = delta * inverse * (1.0 + of_inverse) + normal.abs() * of_inverse;
            let rounded = roundings(4) * ((normal * scale).abs() + shift.abs());
            Bounded { number: normal * scale + shift, bound: scale.abs() * of_normal + rounded }
        };
        sums.iter().enumerate().map(normal).collect::<Vec<_>>()
    };
    y.chunks(columns).zip(update.chunks(columns)).flat_map(of_row).collect()
}

/// Sums of columns, each with an error in `deltas`; and their length, whose root and inverse round
/// a few times more.
pub(crate) fn unit_means(rows: usize, columns: usize, x: &[f32], lengths: &[u32]) -> Vec<Bounded> {
    let of_sequence = |(x, length): (&[f32], &u32)| {
        let used = &x[..rows.min(*length as usize) * columns];
        let of_column = |column: usize, number: &dyn Fn(f64) -> f64| {
            used.iter().skip(column).step_by(columns).map(|x| number(f64::from(*x))).sum::<f64>()
        };
        let sums: Vec<_> = (0..columns).map(|column| of_column(column, &|x| x)).collect();
        let deltas: Vec<_> = (0..columns)
            .map(|column| roundings(used.len() / columns + 1) * of_column(column, &f64::abs))
            .collect();
        let norm =
            |numbers: &[f64]| numbers.iter().map(|number| number * number).sum::<f64>().sqrt();
        let (length, delta) = (norm(&sums), norm(&deltas));
        let of_length = delta / (length - delta).max(0.0) + roundings(columns + 9);
        let unit = |(sum, delta): (&f64, &f64)| Bounded {
            number: sum / length,
            bound: delta / length * (1.0 + of_length) + (sum / length).abs() * of_length,
        };
        sums.iter().zip(&deltas).map(unit).collect::<Vec<_>>()
    };
    x.chunks(rows * columns).zip(lengths).flat_map(of_sequence).collect()
}

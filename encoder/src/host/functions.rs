//! Functions and sums whose loops a compiler can vectorise: no calls, no branches, and sums in
//! parts.
//!
//! All are inlined, so that they are compiled for the processor of the loop around them.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LOG2_E};

/// Numbers that are added side by side: two vectors of AVX2.
const PARTS: usize = 16;

#[inline(always)]
pub(super) fn sum(numbers: &[f32]) -> f32 {
    in_parts(numbers, 0.0, |sum, number| sum + number, |left, right| left + right)
}

/// Returns the sum of the squares.
#[inline(always)]
pub(super) fn dot(numbers: &[f32]) -> f32 {
    in_parts(numbers, 0.0, |sum, number| sum + number * number, |left, right| left + right)
}

/// Returns the largest number; `-∞` if there is none.
#[inline(always)]
pub(super) fn largest(numbers: &[f32]) -> f32 {
    let larger = |left, right| if right > left { right } else { left };
    in_parts(numbers, f32::NEG_INFINITY, larger, larger)
}

#[inline(always)]
fn in_parts(
    numbers: &[f32],
    start: f32,
    step: impl Fn(f32, f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut all = [start; PARTS];
    let parts = numbers.chunks_exact(PARTS);
    let rest = parts.remainder();
    for part in parts {
        all.iter_mut().zip(part).for_each(|(one, number)| *one = step(*one, *number));
    }
    let rest = rest.iter().fold(start, |one, number| step(one, *number));
    all.into_iter().fold(rest, join)
}

/// `y · Φ(y)`, with the distribution function of the normal distribution.
#[inline(always)]
pub(super) fn gelu(y: f32) -> f32 {
    y * (0.5 + 0.5 * erf(y * FRAC_1_SQRT_2))
}

/// Computes the error function, as a ratio of polynomials with an error below 1e-6 everywhere. The
/// coefficients are those of Eigen and XLA for `f32`.
#[inline(always)]
fn erf(x: f32) -> f32 {
    const ABOVE: [f32; 5] =
        [2.290_506_6e-4, 3.408_291e-3, 5.095_569_5e-2, 0.185_208_32, FRAC_2_SQRT_PI];
    const BELOW: [f32; 7] = [
        -1.179_160_3e-7,
        2.354_796_6e-5,
        1.017_962_5e-3,
        1.407_047e-2,
        0.110_985_05,
        0.497_469_25,
        1.0,
    ];
    let x = x.clamp(-3.743_921_2, 3.743_921_2);
    let square = x * x;
    x * polynomial(&ABOVE, square) / polynomial(&BELOW, square)
}

/// Computes `e` to the power of a number that is not above 0, with a relative error of at most 1e-7. Below
/// [`EXP_IS_0_BELOW`] it is 0: there the exact value is below 2^-125. NaN stays NaN.
///
/// The exponent is a whole number n of `ln 2`, and a rest of at most half of it: 2^n sets the
/// floating-point exponent, and a polynomial gives the power of the rest. `ln 2` is in two parts,
/// and n times the first is exact. All constants are those of Cephes (Moshier, 1992).
#[inline(always)]
pub(super) fn exp_below_0(x: f32) -> f32 {
    /// A number added to it is rounded to a whole number, in the lowest bits of the sum.
    const ROUNDER: f32 = 12_582_912.0;
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const OF_REST: [f32; 6] =
        [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5];
    const MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;
    let shifted = x * LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    let rest = x - whole * LN_2[0] - whole * LN_2[1];
    let power_of_rest = polynomial(&OF_REST, rest) * rest * rest + rest + 1.0;
    let exponent = shifted.to_bits().wrapping_add(f32::MAX_EXP as u32 - 1);
    let power = power_of_rest * f32::from_bits(exponent << MANTISSA_BITS);
    if x < EXP_IS_0_BELOW { 0.0 } else { power }
}

/// The relative error; a test tries one of a thousand numbers, or all.
#[cfg(test)]
const EXP_IS_OFF_BY: f64 = 1e-7;

/// The lower limit of [`exp_below_0`]: slightly above the exponent of the smallest normal power.
const EXP_IS_0_BELOW: f32 = -87.3;

#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f32; N], x: f32) -> f32 {
    coefficients.iter().fold(0.0, |value, coefficient| value * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::{EXP_IS_0_BELOW, EXP_IS_OFF_BY, dot, exp_below_0, gelu, largest, sum};

    /// Returns every number from -0 down to where powers are 0, at a distance; every number if
    /// `POOL_ENCODER_STRIDE` is 1.
    fn negatives() -> impl Iterator<Item = f32> {
        let given = std::env::var("POOL_ENCODER_STRIDE").ok();
        let stride = given.map_or(1009, |stride| stride.parse().unwrap());
        let [first, last] = [-0.0, EXP_IS_0_BELOW].map(f32::to_bits);
        (first..=last).step_by(stride).map(f32::from_bits)
    }

    #[test]
    fn powers_are_near_those_in_double_precision() {
        let (mut worst, mut at) = (0.0, 0.0);
        for x in negatives() {
            let off = (f64::from(exp_below_0(x)) / f64::from(x).exp() - 1.0).abs();
            // NaN counts as worse than all others.
            if off.is_nan() || off > worst {
                (worst, at) = (off, x);
            }
        }
        println!("FIGURE: powers are off by {worst:e} at most, at {at}");
        assert!(worst <= EXP_IS_OFF_BY, "{worst:e} at {at}");
    }

    #[test]
    fn powers_at_the_ends() {
        assert_eq!(exp_below_0(0.0), 1.0);
        assert_eq!(exp_below_0(-0.0), 1.0);
        assert!(exp_below_0(EXP_IS_0_BELOW) > f32::MIN_POSITIVE);
        for x in [EXP_IS_0_BELOW.next_down(), -1e3, -1e30, f32::NEG_INFINITY] {
            assert_eq!(exp_below_0(x), 0.0, "{x}");
        }
        assert!(exp_below_0(f32::NAN).is_nan());
    }

    #[test]
    fn parts_are_all_of_a_row() {
        for length in [0_u8, 1, 15, 16, 17, 40] {
            let numbers: Vec<f32> = (0..length).map(f32::from).collect();
            let right: u32 = (0..u32::from(length)).sum();
            let squares: u32 = (0..u32::from(length)).map(|number| number * number).sum();
            assert_eq!(f64::from(sum(&numbers)), f64::from(right));
            assert_eq!(f64::from(dot(&numbers)), f64::from(squares));
            let last = numbers.last().copied().unwrap_or(f32::NEG_INFINITY);
            assert_eq!(largest(&numbers), last);
        }
    }

    #[test]
    fn gelu_far_from_0_is_the_number_or_nothing() {
        for y in [6.0, 1e3, 1e30] {
            assert!((gelu(y) / y - 1.0).abs() < 1e-6, "{y}");
            assert!((gelu(-y) / y).abs() < 1e-6, "{y}");
        }
    }
}

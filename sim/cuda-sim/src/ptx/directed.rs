//! Directed rounding. Sums of `.f32` are computed exactly with more bits and then rounded once;
//! `.f64` is rounded towards zero.

use super::float::single;
use super::function::{Three, Two};
use super::rounding::{Round, SINGLE, narrow, odd_sum};

/// Returns `a * b + c` for `.f32`, rounded in the given direction.
fn directed<const DOWN: bool, const UP: bool>(a: u64, b: u64, c: u64) -> u64 {
    let round = match (DOWN, UP) {
        (true, _) => Round::Down,
        (_, true) => Round::Up,
        _ => Round::Zero,
    };
    let [a, b, c] = [a, b, c].map(|bits| f64::from(single(bits, false)));
    let (product, sum) = (a * b, odd_sum(a * b, c));
    // A sum of zero is -0 when rounding down, unless both terms are +0.
    if sum == 0.0 && DOWN && (product != 0.0 || product.is_sign_negative() || c.is_sign_negative())
    {
        return 1 << 31;
    }
    narrow(sum, SINGLE, round)
}

/// Returns `a * b + c` for `.f32` with directed rounding.
pub(crate) fn fused(round: Round) -> Option<Three> {
    match round {
        Round::Nearest => None,
        Round::Zero => Some(directed::<false, false>),
        Round::Down => Some(directed::<true, false>),
        Round::Up => Some(directed::<false, true>),
    }
}

/// Returns the sum or difference of two `.f64`, rounded towards zero.
pub(crate) fn double(name: &str, round: Round) -> Option<Two> {
    match (name, round) {
        ("add", Round::Zero) => Some(|a, b| sum_towards_zero(f64::from_bits(a), f64::from_bits(b))),
        ("sub", Round::Zero) => {
            Some(|a, b| sum_towards_zero(f64::from_bits(a), -f64::from_bits(b)))
        }
        _ => None,
    }
}

fn sum_towards_zero(a: f64, b: f64) -> u64 {
    let sum = a + b;
    if !a.is_finite() || !b.is_finite() {
        return sum.to_bits();
    }
    if sum.is_infinite() {
        return f64::MAX.copysign(sum).to_bits();
    }
    // The error of rounding to nearest can be represented, and is computed exactly if the larger
    // operand comes first.
    let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
    let rest = small - (sum - large);
    let is_too_far = rest != 0.0 && rest.is_sign_negative() != sum.is_sign_negative();
    if is_too_far { sum.to_bits() - 1 } else { sum.to_bits() }
}

/// Returns the sum, difference or product of two `.f32`, with directed rounding.
pub(crate) fn binary(name: &str, round: Round) -> Option<Two> {
    const ONE: u64 = 0x3F80_0000;
    const SIGN: u64 = 1 << 31;
    fn add<const DOWN: bool, const UP: bool>(a: u64, b: u64) -> u64 {
        directed::<DOWN, UP>(a, ONE, b)
    }
    fn subtract<const DOWN: bool, const UP: bool>(a: u64, b: u64) -> u64 {
        directed::<DOWN, UP>(a, ONE, b ^ SIGN)
    }
    fn multiply<const DOWN: bool, const UP: bool>(a: u64, b: u64) -> u64 {
        let round = if DOWN {
            Round::Down
        } else if UP {
            Round::Up
        } else {
            Round::Zero
        };
        narrow(f64::from(single(a, false)) * f64::from(single(b, false)), SINGLE, round)
    }
    Some(match (name, round) {
        ("add", Round::Zero) => add::<false, false>,
        ("add", Round::Down) => add::<true, false>,
        ("add", Round::Up) => add::<false, true>,
        ("sub", Round::Zero) => subtract::<false, false>,
        ("sub", Round::Down) => subtract::<true, false>,
        ("sub", Round::Up) => subtract::<false, true>,
        ("mul", Round::Zero) => multiply::<false, false>,
        ("mul", Round::Down) => multiply::<true, false>,
        ("mul", Round::Up) => multiply::<false, true>,
        _ => return None,
    })
}

//! Exact rounding to a binary format of IEEE 754 in any direction that PTX defines, using integers.

/// A rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// To the nearest value, with ties to even.
    Nearest,
    Zero,
    Down,
    Up,
}

/// A format, described by the number of bits in its fraction and its exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    fraction: u32,
    exponent: u32,
}

pub(crate) const HALF: Layout = Layout { fraction: 10, exponent: 5 };
pub(crate) const BRAIN: Layout = Layout { fraction: 7, exponent: 8 };
pub(crate) const SINGLE: Layout = Layout { fraction: 23, exponent: 8 };
pub(crate) const DOUBLE: Layout = Layout { fraction: 52, exponent: 11 };

impl Layout {
    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.fraction + self.exponent)
    }

    /// Returns the only NaN that PTX produces: every bit is set except the sign.
    fn not_a_number(self) -> u64 {
        (1 << (self.fraction + self.exponent)) - 1
    }
}

/// Returns the bits of `magnitude * 2^scale` with a sign, after rounding.
pub(crate) fn pack(
    negative: bool,
    magnitude: u64,
    scale: i32,
    layout: Layout,
    round: Round,
) -> u64 {
    let sign = layout.sign(negative);
    if magnitude == 0 {
        return sign;
    }
    let fraction = signed(layout.fraction);
    let bias = (1_i32 << (layout.exponent - 1)) - 1;
    let top = 63 - signed(magnitude.leading_zeros()) + scale;
    let exponent = top.max(1 - bias);
    let shift = exponent - fraction - scale;
    let kept = rounded(magnitude, shift, negative, round);
    // The leading bit of `kept` adds one to the exponent. Without that bit, the number is
    // subnormal. A number that was rounded up to the next power of two also carries into the
    // exponent.
    let biased = u64::try_from(exponent + bias - 1).unwrap_or(0);
    let infinity = layout.infinity();
    let bits = biased
        .checked_mul(1 << layout.fraction)
        .and_then(|bits| bits.checked_add(kept))
        .unwrap_or(infinity);
    if bits < infinity {
        return sign | bits;
    }
    let away = match round {
        Round::Nearest => true,
        Round::Zero => false,
        Round::Down => negative,
        Round::Up => !negative,
    };
    sign | if away { infinity } else { infinity - 1 }
}

/// Returns `magnitude / 2^shift`, rounded. A negative shift multiplies.
fn rounded(magnitude: u64, shift: i32, negative: bool, round: Round) -> u64 {
    if shift <= 0 {
        return magnitude << shift.unsigned_abs().min(63);
    }
    let shift = shift.unsigned_abs().min(127);
    let wide = u128::from(magnitude);
    let (kept, rest, half) = (wide >> shift, wide & ((1 << shift) - 1), 1 << (shift - 1));
    let up = match round {
        Round::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Round::Zero => false,
        Round::Down => negative && rest > 0,
        Round::Up => !negative && rest > 0,
    };
    u64::try_from(kept).unwrap_or(u64::MAX) + u64::from(up)
}

/// Returns the bits of a number in a format that is at most as wide.
pub(crate) fn narrow(value: f64, layout: Layout, round: Round) -> u64 {
    let negative = value.is_sign_negative();
    if value.is_nan() {
        return layout.not_a_number();
    }
    if value.is_infinite() {
        return layout.sign(negative) | layout.infinity();
    }
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let biased = i32::try_from(bits >> 52 & 0x7FF).unwrap_or(0);
    let hidden = u64::from(biased > 0) << 52;
    pack(negative, fraction | hidden, biased.max(1) - 1075, layout, round)
}

/// Returns `a + b`, rounded to odd. If the result is later rounded to a narrower format, it is the
/// same as after a single rounding (Boldo and Melquiond, "Emulation of FMA and correctly rounded
/// sums", 2008).
pub(crate) fn odd_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    let bits = sum.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        return sum;
    }
    let outward = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if outward { bits + 1 } else { bits - 1 })
}

/// Returns a bit count as a signed number.
fn signed(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "conversions under test")]
mod tests {
    use half::{bf16, f16};
    use proptest::prelude::*;

    use super::{BRAIN, DOUBLE, HALF, Round, SINGLE, narrow, odd_sum, pack};

    proptest! {
        #[test]
        fn to_nearest_is_what_rust_does(bits: u64, small: u32) {
            for value in [f64::from_bits(bits), f64::from(f32::from_bits(small)) * 1.000_000_1] {
                if value.is_nan() {
                    continue;
                }
                let single = u64::from((value as f32).to_bits());
                prop_assert_eq!(narrow(value, SINGLE, Round::Nearest), single);
                prop_assert_eq!(narrow(value, DOUBLE, Round::Nearest), value.to_bits());
            }
        }

        #[test]
        fn halves_are_what_the_half_crate_says(bits: u32) {
            let value = f32::from_bits(bits);
            if !value.is_nan() {
                let wide = f64::from(value);
                let half = u64::from(f16::from_f32(value).to_bits());
                let brain = u64::from(bf16::from_f32(value).to_bits());
                prop_assert_eq!(narrow(wide, HALF, Round::Nearest), half);
                prop_assert_eq!(narrow(wide, BRAIN, Round::Nearest), brain);
            }
        }

        #[test]
        fn directions_enclose_the_number(bits: u64) {
            let value = f64::from_bits(bits);
            if !value.is_nan() {
                let to = |round| f64::from(f32::from_bits(narrow(value, SINGLE, round) as u32));
                let (down, up, zero) = (to(Round::Down), to(Round::Up), to(Round::Zero));
                prop_assert!(down <= value && value <= up && zero.abs() <= value.abs());
                let inward = if value < 0.0 { up } else { down };
                prop_assert!(zero == inward);
            }
        }

        #[test]
        fn whole_numbers_are_rounded_as_rust_does(value: u64) {
            let packed = |layout| pack(false, value, 0, layout, Round::Nearest);
            prop_assert_eq!(packed(SINGLE), u64::from((value as f32).to_bits()));
            prop_assert_eq!(packed(DOUBLE), (value as f64).to_bits());
        }

        #[test]
        fn a_fused_sum_is_rounded_once(a: u32, b: u32, c: u32) {
            let [a, b, c] = [a, b, c].map(f32::from_bits);
            let exact = a.mul_add(b, c);
            if !exact.is_nan() {
                let sum = odd_sum(f64::from(a) * f64::from(b), f64::from(c));
                prop_assert_eq!(narrow(sum, SINGLE, Round::Nearest), u64::from(exact.to_bits()));
            }
        }
    }
}

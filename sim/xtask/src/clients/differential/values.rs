//! Values as bits, their meaning, and their rounding. This code was written only for this test and
//! uses other methods than the simulated driver, so the two do not share mistakes.

/// A type of CUDA C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    Bf16,
    F32,
    F64,
    /// Two `F16` in one register.
    F16x2,
}

pub(super) const TYPES: [Type; 11] = [
    Type::U16,
    Type::S16,
    Type::U32,
    Type::S32,
    Type::U64,
    Type::S64,
    Type::F16,
    Type::Bf16,
    Type::F32,
    Type::F64,
    Type::F16x2,
];

/// A rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Nearest,
    Zero,
    Down,
    Up,
}

/// The rounding directions, by their suffixes in PTX.
pub(super) const DIRECTIONS: [(&str, Direction); 4] = [
    ("n", Direction::Nearest),
    ("z", Direction::Zero),
    ("m", Direction::Down),
    ("p", Direction::Up),
];

impl Type {
    /// Returns the type's name in C++, and the letter of its registers in inline PTX.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::U16 => ("unsigned short", "h"),
            Self::S16 => ("short", "h"),
            Self::U32 => ("unsigned", "r"),
            Self::S32 => ("int", "r"),
            Self::U64 => ("unsigned long long", "l"),
            Self::S64 => ("long long", "l"),
            Self::F16 => ("__half", "h"),
            Self::Bf16 => ("__nv_bfloat16", "h"),
            Self::F32 => ("float", "f"),
            Self::F64 => ("double", "d"),
            Self::F16x2 => ("__half2", "r"),
        }
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::S32 | Self::F32 | Self::F16x2 => 32,
            Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Self::S16 | Self::S32 | Self::S64)
    }

    /// Returns the least and the greatest integer of the type.
    pub(super) fn range(self) -> (i128, i128) {
        range(self.bits(), self.is_signed())
    }

    /// Returns the bits that belong to the type.
    pub(super) fn mask(self, bits: u64) -> u64 {
        bits & (u64::MAX >> (64 - self.bits()))
    }

    /// Returns the integer that these bits represent.
    pub(super) fn whole(self, bits: u64) -> i128 {
        let value = i128::from(self.mask(bits));
        if value > self.range().1 { value - (1 << self.bits()) } else { value }
    }

    /// Returns the floating-point number that these bits represent. An `f64` can represent every
    /// number of each type.
    pub(super) fn float(self, bits: u64) -> f64 {
        let bits = self.mask(bits);
        match self {
            Self::F64 => f64::from_bits(bits),
            Self::F32 => f64::from(f32::from_bits(low(bits))),
            Self::Bf16 => f64::from(f32::from_bits(low(bits << 16))),
            _ => {
                let (exponent, fraction) = (bits >> 10 & 31, bits & 1023);
                let magnitude = match exponent {
                    0 => fraction as f64 * power(-24),
                    31 if fraction == 0 => f64::INFINITY,
                    31 => f64::NAN,
                    _ => {
                        (1024 + fraction) as f64 * power(i32::try_from(exponent).unwrap_or(0) - 25)
                    }
                };
                if bits >> 15 == 1 { -magnitude } else { magnitude }
            }
        }
    }

    /// Returns the bits of a number that the type can represent.
    pub(super) fn of_float(self, value: f64) -> u64 {
        match self {
            Self::F64 => value.to_bits(),
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::Bf16 if value.is_nan() => 0x7FFF,
            Self::Bf16 => u64::from((value as f32).to_bits() >> 16),
            _ => {
                let sign = u64::from(value.is_sign_negative()) << 15;
                let magnitude = value.abs();
                sign | match exponent_of(magnitude) {
                    _ if value.is_nan() => 0x7FFF,
                    _ if value.is_infinite() => 0x7C00,
                    exponent if exponent < -14 => (magnitude * power(24)) as u64,
                    exponent => {
                        let fraction = (magnitude * power(10 - exponent)) as u64 - 1024;
                        u64::try_from(exponent + 15).unwrap_or(0) << 10 | fraction
                    }
                }
            }
        }
    }

    /// Returns the number of bits in the fraction, including the implicit bit, the least exponent,
    /// and the greatest number.
    fn format(self) -> (i32, i32, f64) {
        match self {
            Self::F64 => (53, -1022, f64::MAX),
            Self::F32 => (24, -126, f64::from(f32::MAX)),
            Self::Bf16 => (8, -126, 255.0 * power(120)),
            _ => (11, -14, 65504.0),
        }
    }

    /// Rounds a number to one that the type can represent.
    pub(super) fn rounded(self, value: f64, direction: Direction) -> u64 {
        let (digits, least, _) = self.format();
        if self == Self::F64 || value == 0.0 || !value.is_finite() {
            return self.of_float(value);
        }
        let unit = power(exponent_of(value).max(least) - digits + 1);
        self.limited(to_whole(value / unit, direction) * unit, direction)
    }

    /// Rounds an integer to a floating-point number of the type.
    pub(super) fn of_whole(self, value: i128, direction: Direction) -> u64 {
        let (digits, _, _) = self.format();
        let magnitude = value.unsigned_abs();
        let more = i32::try_from(128 - magnitude.leading_zeros()).unwrap_or(0) - digits;
        if more <= 0 {
            return self.limited(value as f64, direction);
        }
        let (kept, rest) = (magnitude >> more, magnitude & ((1 << more) - 1));
        let half = 1_u128 << (more - 1);
        let up = match direction {
            Direction::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Direction::Zero => false,
            Direction::Down => value < 0 && rest > 0,
            Direction::Up => value > 0 && rest > 0,
        };
        let rounded = (kept + u128::from(up)) as f64 * power(more);
        self.limited(if value < 0 { -rounded } else { rounded }, direction)
    }

    /// Returns the result for a number that exceeds the greatest number of the type.
    fn limited(self, value: f64, direction: Direction) -> u64 {
        let (_, _, greatest) = self.format();
        if value.abs() <= greatest || value.is_nan() {
            return self.of_float(value);
        }
        let outward = match direction {
            Direction::Nearest => true,
            Direction::Zero => false,
            Direction::Down => value < 0.0,
            Direction::Up => value > 0.0,
        };
        let magnitude = if outward { f64::INFINITY } else { greatest };
        self.of_float(magnitude.copysign(value))
    }
}

pub(super) fn range(bits: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// Returns the low half of the bits.
pub(super) fn low(bits: u64) -> u32 {
    bits as u32
}

/// Returns two to the power of the exponent, within the range of normal `f64`.
pub(super) fn power(exponent: i32) -> f64 {
    f64::from_bits(u64::try_from(exponent + 1023).unwrap_or(0) << 52)
}

/// Returns the exponent of a nonzero number. For subnormal numbers, the result is too small.
fn exponent_of(value: f64) -> i32 {
    i32::try_from(value.to_bits() >> 52 & 0x7FF).unwrap_or(0) - 1023
}

/// Rounds a number to an integer.
pub(super) fn to_whole(value: f64, direction: Direction) -> f64 {
    match direction {
        Direction::Nearest => value.round_ties_even(),
        Direction::Zero => value.trunc(),
        Direction::Down => value.floor(),
        Direction::Up => value.ceil(),
    }
}

/// The difference that is allowed between a result and the host's result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    /// The bits must be equal. All NaNs are treated as equal.
    Exact,
    /// A relative and an absolute error, as stated in PTX's manual.
    Within { relative: f64, absolute: f64 },
}

/// Returns `true` if a result agrees with the host's result.
pub(super) fn agrees(ty: Type, found: u64, expected: u64, bound: Bound) -> bool {
    if ty == Type::F16x2 {
        let half = |shift: u32| agrees(Type::F16, found >> shift, expected >> shift, bound);
        return half(0) && half(16);
    }
    if ty.is_float() {
        let (found, expected) = (ty.float(found), ty.float(expected));
        if found.is_nan() || expected.is_nan() {
            return found.is_nan() && expected.is_nan();
        }
        if let Bound::Within { relative, absolute } = bound {
            let is_near = (found - expected).abs() <= relative * expected.abs() + absolute;
            return is_near || found == expected;
        }
    }
    ty.mask(found) == ty.mask(expected)
}

#[cfg(test)]
mod tests {
    use super::{Bound, Direction, Type, agrees};

    #[test]
    fn every_short_number_is_read_and_written() {
        for ty in [Type::F16, Type::Bf16] {
            for bits in 0..=0xFFFF {
                let value = ty.float(bits);
                assert!(value.is_nan() || ty.of_float(value) == bits, "{ty:?} {bits:x}");
            }
        }
    }

    #[test]
    fn numbers_are_rounded_as_the_host_does_and_in_directions() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let value = f64::from(f32::from_bits(random.u32(..))) * 1.000_000_01;
            let nearest = Type::F32.rounded(value, Direction::Nearest);
            assert!(agrees(Type::F32, nearest, u64::from((value as f32).to_bits()), Bound::Exact));
            let whole = i128::from(random.i64(..));
            let of_host = u64::from((whole as f32).to_bits());
            assert_eq!(Type::F32.of_whole(whole, Direction::Nearest), of_host);
        }
        let of = |value: f64, direction| Type::F16.float(Type::F16.rounded(value, direction));
        assert_eq!(of(1e6, Direction::Zero), 65504.0);
        assert_eq!(of(-1e6, Direction::Down), f64::NEG_INFINITY);
        assert_eq!(of(2049.0, Direction::Nearest), 2048.0);
        assert_eq!(of(2049.0, Direction::Up), 2050.0);
        assert_eq!(of(1e-9, Direction::Up), 2_f64.powi(-24));
        assert_eq!(Type::F16.of_whole(70_000, Direction::Down), 0x7BFF);
    }
}

//! `cvt`: conversions between any two types, with a rounding direction and saturation.

#![expect(clippy::cast_possible_truncation, reason = "the low bits of a register are the number")]

use half::{bf16, f16};

use super::float;
use super::rounding::{BRAIN, DOUBLE, HALF, Layout, Round, SINGLE, narrow, pack};
use super::types::Type;

/// A `cvt` with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) to: Type,
    pub(crate) from: Type,
    pub(crate) round: Round,
    /// `true` if the value is rounded to an integer, as with `.rni` and its variants.
    pub(crate) whole: bool,
    pub(crate) flush: bool,
    pub(crate) saturate: bool,
}

impl Conversion {
    /// Converts the bits of a value.
    pub(crate) fn apply(self, bits: u64) -> u64 {
        match (self.from.is_float(), self.to.is_float()) {
            (false, false) => self.whole_to_whole(whole(self.from, bits)),
            (false, true) => self.whole_to_float(whole(self.from, bits)),
            (true, false) => self.float_to_whole(self.float(bits)),
            (true, true) => self.float_to_float(self.float(bits)),
        }
    }

    /// Returns `true` if `to` can represent every integer of `from`, in which case nothing
    /// saturates.
    pub(crate) fn is_within(from: Type, to: Type) -> bool {
        if from.is_float() || to.is_float() {
            return false;
        }
        let ((least, greatest), (bottom, top)) = (range(from), range(to));
        bottom <= least && greatest <= top
    }

    fn float(self, bits: u64) -> f64 {
        match self.from {
            Type::F16 => f64::from(f16::from_bits(bits as u16)),
            Type::Bf16 => f64::from(bf16::from_bits(bits as u16)),
            Type::F32 => f64::from(float::single(bits, self.flush)),
            _ => f64::from_bits(bits),
        }
    }

    fn whole_to_whole(self, value: i128) -> u64 {
        let (least, greatest) = range(self.to);
        let value = if self.saturate { value.clamp(least, greatest) } else { value };
        put_whole(self.to, value)
    }

    fn whole_to_float(self, value: i128) -> u64 {
        let magnitude = u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX);
        let bits = pack(value < 0, magnitude, 0, layout(self.to), self.round);
        if self.saturate { self.put_float(as_float(self.to, bits)) } else { bits }
    }

    fn float_to_whole(self, value: f64) -> u64 {
        if value.is_nan() {
            return 0;
        }
        let (least, greatest) = range(self.to);
        // Rust's conversion clamps to the 128-bit range, and `clamp` to the range of the type.
        let value = (to_whole(value, self.round) as i128).clamp(least, greatest);
        put_whole(self.to, value)
    }

    fn float_to_float(self, value: f64) -> u64 {
        self.put_float(if self.whole { to_whole(value, self.round) } else { value })
    }

    fn put_float(self, value: f64) -> u64 {
        let value = match self.saturate {
            true if value.is_nan() || value <= 0.0 => 0.0,
            true => value.min(1.0),
            false => value,
        };
        let round = if self.whole { Round::Nearest } else { self.round };
        let bits = narrow(value, layout(self.to), round);
        let subnormal = self.to == Type::F32 && bits & 0x7F80_0000 == 0;
        if self.flush && subnormal { bits & 1 << 31 } else { bits }
    }
}

/// Packs two `.f32` into a pair of 16-bit floats. The first becomes the upper half.
pub(crate) fn pair(to: Type, round: Round, upper: u64, lower: u64) -> u64 {
    let to = if to == Type::F16x2 { Type::F16 } else { Type::Bf16 };
    let conversion =
        Conversion { to, from: Type::F32, round, whole: false, flush: false, saturate: false };
    conversion.apply(upper) << 16 | conversion.apply(lower)
}

/// Rounds a floating-point number to an integer in the given direction.
fn to_whole(value: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => value.round_ties_even(),
        Round::Zero => value.trunc(),
        Round::Down => value.floor(),
        Round::Up => value.ceil(),
    }
}

fn layout(ty: Type) -> Layout {
    match ty {
        Type::F16 => HALF,
        Type::Bf16 => BRAIN,
        Type::F32 => SINGLE,
        _ => DOUBLE,
    }
}

fn as_float(ty: Type, bits: u64) -> f64 {
    match ty {
        Type::F16 => f64::from(f16::from_bits(bits as u16)),
        Type::Bf16 => f64::from(bf16::from_bits(bits as u16)),
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

fn bit_count(ty: Type) -> u32 {
    ty.bytes() as u32 * 8
}

fn range(ty: Type) -> (i128, i128) {
    let bits = bit_count(ty);
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// Returns the integer that is stored in the low bits.
fn whole(ty: Type, bits: u64) -> i128 {
    let free = 64 - bit_count(ty);
    if ty.is_signed() {
        i128::from((bits << free) as i64 >> free)
    } else {
        i128::from(bits << free >> free)
    }
}

/// Returns the bits of the integer, sign-extended to the register's width.
fn put_whole(ty: Type, value: i128) -> u64 {
    whole(ty, value as u64) as u64
}

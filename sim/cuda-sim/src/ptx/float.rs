//! Floating-point arithmetic on `.f32`, `.f64`, `.f16`, `.bf16` and pairs of 16-bit floats. Each
//! operation is a function on the bits of registers.
//!
//! Sums, products, quotients, square roots and fused multiply-adds are rounded once. They are
//! rounded to nearest unless the instruction names a direction. PTX's approximate instructions are
//! computed as precisely as the host can.

#![expect(clippy::cast_possible_truncation, reason = "the low bits of a register are the number")]

use half::{bf16, f16};

use super::function::{One, Three, Two};
use super::rounding::{BRAIN, HALF, Round, narrow, odd_sum};
use super::types::Type;

/// The encoding of a number in a register.
trait Format {
    type Raw: Raw;
    fn get(bits: u64) -> Self::Raw;
    fn put(value: Self::Raw) -> u64;
    fn fused(a: u64, b: u64, c: u64) -> u64 {
        Self::put(Self::get(a).fused(Self::get(b), Self::get(c)))
    }
}

/// The type in which arithmetic is computed.
trait Raw: Copy + PartialOrd {
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn divide(self, other: Self) -> Self;
    fn fused(self, factor: Self, summand: Self) -> Self;
    fn root(self) -> Self;
    fn negative(self) -> bool;
    fn turned(self) -> Self;
    /// Applies a function of a wider type.
    fn by(self, function: fn(f64) -> f64) -> Self;
    fn signed_as(self, other: Self) -> Self;
    /// Clamps to the range from 0 to 1. NaN becomes 0.
    fn saturated(self) -> Self;
    fn is_number(self) -> bool;
    fn none() -> Self;
}

macro_rules! raw {
    ($type:ident, $by:expr) => {
        impl Raw for $type {
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn subtract(self, other: Self) -> Self {
                self - other
            }
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            fn divide(self, other: Self) -> Self {
                self / other
            }
            fn fused(self, factor: Self, summand: Self) -> Self {
                self.mul_add(factor, summand)
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn negative(self) -> bool {
                self.is_sign_negative()
            }
            fn turned(self) -> Self {
                -self
            }
            fn by(self, function: fn(f64) -> f64) -> Self {
                $by(self, function)
            }
            fn signed_as(self, other: Self) -> Self {
                self.copysign(other)
            }
            fn saturated(self) -> Self {
                if self.is_nan() || self <= 0.0 { 0.0 } else { self.min(1.0) }
            }
            fn is_number(self) -> bool {
                !self.is_nan()
            }
            fn none() -> Self {
                $type::NAN
            }
        }
    };
}

raw!(f32, |value, function: fn(f64) -> f64| function(f64::from(value)) as f32);
raw!(f64, |value, function: fn(f64) -> f64| function(value));

struct Single;
/// Flushes subnormal operands and results to zero.
struct Flushed;
struct Double;
struct Half;
struct Brain;
/// Clamps results to the range from 0 to 1.
struct Saturated<F>(F);

fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0_f32.copysign(value) } else { value }
}

fn single_bits(value: f32) -> u64 {
    // The only NaN that PTX produces.
    u64::from(if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() })
}

impl Format for Single {
    type Raw = f32;
    fn get(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn put(value: f32) -> u64 {
        single_bits(value)
    }
}

impl Format for Flushed {
    type Raw = f32;
    fn get(bits: u64) -> f32 {
        flush(f32::from_bits(bits as u32))
    }
    fn put(value: f32) -> u64 {
        single_bits(flush(value))
    }
}

impl Format for Double {
    type Raw = f64;
    fn get(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn put(value: f64) -> u64 {
        value.to_bits()
    }
}

// For two 16-bit operands, rounding a sum, product or quotient to 53 bits first does not change the
// result (Figueroa, "When is double rounding innocuous?", 1995). This does not hold for three
// operands.
impl Format for Half {
    type Raw = f64;
    fn get(bits: u64) -> f64 {
        f64::from(f16::from_bits(bits as u16))
    }
    fn put(value: f64) -> u64 {
        narrow(value, HALF, Round::Nearest)
    }
    fn fused(a: u64, b: u64, c: u64) -> u64 {
        Self::put(odd_sum(Self::get(a) * Self::get(b), Self::get(c)))
    }
}

impl Format for Brain {
    type Raw = f64;
    fn get(bits: u64) -> f64 {
        f64::from(bf16::from_bits(bits as u16))
    }
    fn put(value: f64) -> u64 {
        narrow(value, BRAIN, Round::Nearest)
    }
    fn fused(a: u64, b: u64, c: u64) -> u64 {
        Self::put(odd_sum(Self::get(a) * Self::get(b), Self::get(c)))
    }
}

impl<F: Format> Format for Saturated<F> {
    type Raw = F::Raw;
    fn get(bits: u64) -> F::Raw {
        F::get(bits)
    }
    fn put(value: F::Raw) -> u64 {
        F::put(value.saturated())
    }
    fn fused(a: u64, b: u64, c: u64) -> u64 {
        // Rounding is monotone, and every format represents 0 and 1 exactly.
        Self::put(F::get(F::fused(a, b, c)))
    }
}

/// A function of one number, and a function of two.
trait Unary {
    fn apply<R: Raw>(a: R) -> R;
}

trait Binary {
    fn apply<R: Raw>(a: R, b: R) -> R;
}

macro_rules! functions {
    ($kind:ident: $($name:ident($($operand:ident),*) = $body:expr;)*) => {
        $(
            struct $name;
            impl $kind for $name {
                fn apply<R: Raw>($($operand: R),*) -> R {
                    $body
                }
            }
        )*
    };
}

functions! { Unary:
    Negate(a) = a.turned();
    Absolute(a) = if a.negative() { a.turned() } else { a };
    Root(a) = a.root();
    InverseRoot(a) = a.by(|a| 1.0 / a.sqrt());
    Inverse(a) = a.by(|a| 1.0 / a);
    PowerOfTwo(a) = a.by(f64::exp2);
    LogarithmOfTwo(a) = a.by(f64::log2);
    Sine(a) = a.by(f64::sin);
    Cosine(a) = a.by(f64::cos);
    Tangent(a) = a.by(f64::tanh);
}

functions! { Binary:
    Add(a, b) = a.add(b);
    Subtract(a, b) = a.subtract(b);
    Multiply(a, b) = a.multiply(b);
    Divide(a, b) = a.divide(b);
    Least(a, b) = least(a, b);
    Greatest(a, b) = least(a.turned(), b.turned()).turned();
    LeastOrNone(a, b) = if a.is_number() && b.is_number() { least(a, b) } else { R::none() };
    GreatestOrNone(a, b) = if a.is_number() && b.is_number() {
        least(a.turned(), b.turned()).turned()
    } else {
        R::none()
    };
    SignOf(a, b) = b.signed_as(a);
}

/// Returns the minimum. If one operand is NaN, the result is the other operand. -0 is less than +0.
fn least<R: Raw>(a: R, b: R) -> R {
    if !a.is_number() || b < a || (a == b && b.negative()) {
        return if b.is_number() { b } else { a };
    }
    a
}

fn one<O: Unary, F: Format>(a: u64) -> u64 {
    F::put(O::apply(F::get(a)))
}

fn two<O: Binary, F: Format>(a: u64, b: u64) -> u64 {
    F::put(O::apply(F::get(a), F::get(b)))
}

fn one_pair<O: Unary, F: Format>(a: u64) -> u64 {
    one::<O, F>(a) | one::<O, F>(a >> 16) << 16
}

fn two_pair<O: Binary, F: Format>(a: u64, b: u64) -> u64 {
    two::<O, F>(a, b) | two::<O, F>(a >> 16, b >> 16) << 16
}

fn fused_pair<F: Format>(a: u64, b: u64, c: u64) -> u64 {
    F::fused(a, b, c) | F::fused(a >> 16, b >> 16, c >> 16) << 16
}

/// The modifiers that apply to operands and results.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    pub(crate) flush: bool,
    pub(crate) saturate: bool,
}

macro_rules! by_format {
    ($type:expr, $style:expr, $single:ident, $pair:ident $(, $operation:ty)?) => {{
        let Style { flush, saturate } = $style;
        Some(match ($type, flush, saturate) {
            (Type::F32, false, false) => $single::<$($operation,)? Single>,
            (Type::F32, true, false) => $single::<$($operation,)? Flushed>,
            (Type::F32, false, true) => $single::<$($operation,)? Saturated<Single>>,
            (Type::F32, true, true) => $single::<$($operation,)? Saturated<Flushed>>,
            (Type::F64, false, false) => $single::<$($operation,)? Double>,
            (Type::F16, false, false) => $single::<$($operation,)? Half>,
            (Type::F16, false, true) => $single::<$($operation,)? Saturated<Half>>,
            (Type::Bf16, false, false) => $single::<$($operation,)? Brain>,
            (Type::F16x2, false, false) => $pair::<$($operation,)? Half>,
            (Type::F16x2, false, true) => $pair::<$($operation,)? Saturated<Half>>,
            (Type::Bf16x2, false, false) => $pair::<$($operation,)? Brain>,
            _ => return None,
        })
    }};
}

/// Returns a function of one number by its PTX name.
pub(crate) fn unary(name: &str, ty: Type, style: Style) -> Option<One> {
    fn of<O: Unary>(ty: Type, style: Style) -> Option<One> {
        by_format!(ty, style, one, one_pair, O)
    }
    match name {
        "neg" => of::<Negate>(ty, style),
        "abs" => of::<Absolute>(ty, style),
        "sqrt" => of::<Root>(ty, style),
        "rsqrt" => of::<InverseRoot>(ty, style),
        "rcp" => of::<Inverse>(ty, style),
        "ex2" => of::<PowerOfTwo>(ty, style),
        "lg2" => of::<LogarithmOfTwo>(ty, style),
        "sin" => of::<Sine>(ty, style),
        "cos" => of::<Cosine>(ty, style),
        "tanh" => of::<Tangent>(ty, style),
        _ => None,
    }
}

/// Returns a function of two numbers by its PTX name. `min_nan` and `max_nan` are the variants with
/// `.NaN`.
pub(crate) fn binary(name: &str, ty: Type, style: Style) -> Option<Two> {
    fn of<O: Binary>(ty: Type, style: Style) -> Option<Two> {
        by_format!(ty, style, two, two_pair, O)
    }
    match name {
        "add" => of::<Add>(ty, style),
        "sub" => of::<Subtract>(ty, style),
        "mul" => of::<Multiply>(ty, style),
        "div" => of::<Divide>(ty, style),
        "min" => of::<Least>(ty, style),
        "max" => of::<Greatest>(ty, style),
        "min_nan" => of::<LeastOrNone>(ty, style),
        "max_nan" => of::<GreatestOrNone>(ty, style),
        "copysign" => of::<SignOf>(ty, style),
        _ => None,
    }
}

/// Returns the fused multiply-add.
pub(crate) fn fused(ty: Type, style: Style) -> Option<Three> {
    fn single<F: Format>(a: u64, b: u64, c: u64) -> u64 {
        F::fused(a, b, c)
    }
    by_format!(ty, style, single, fused_pair)
}

/// Returns `rcp.approx.ftz.f64` or `rsqrt.approx.ftz.f64`. The low half of the result is zero.
pub(crate) fn short_double(name: &str) -> Option<One> {
    const HIGH: u64 = 0xFFFF_FFFF_0000_0000;
    fn inverse(a: u64) -> u64 {
        (1.0 / f64::from_bits(a)).to_bits() & HIGH
    }
    fn inverse_root(a: u64) -> u64 {
        (1.0 / f64::from_bits(a).sqrt()).to_bits() & HIGH
    }
    match name {
        "rcp" => Some(inverse),
        "rsqrt" => Some(inverse_root),
        _ => None,
    }
}

/// Returns `ex2.approx.ftz` for `.bf16` and pairs of `.bf16`. The results are never subnormal.
pub(crate) fn flushed_power(ty: Type) -> Option<One> {
    fn power(a: u64) -> u64 {
        let bits = one::<PowerOfTwo, Brain>(a);
        if bits & 0x7F80 == 0 { bits & 0x8000 } else { bits }
    }
    match ty {
        Type::Bf16 => Some(power),
        Type::Bf16x2 => Some(|a| power(a) | power(a >> 16) << 16),
        _ => None,
    }
}

/// Returns `testp`, which classifies a number.
pub(crate) fn test(name: &str, ty: Type) -> Option<One> {
    macro_rules! tests {
        ($get:expr) => {
            match name {
                "finite" => |bits| u64::from($get(bits).is_finite()),
                "infinite" => |bits| u64::from($get(bits).is_infinite()),
                "number" => |bits| u64::from(!$get(bits).is_nan()),
                "notanumber" => |bits| u64::from($get(bits).is_nan()),
                "normal" => |bits| u64::from($get(bits).is_normal()),
                "subnormal" => |bits| u64::from($get(bits).is_subnormal()),
                _ => return None,
            }
        };
    }
    Some(match ty {
        Type::F32 => tests!(Single::get),
        Type::F64 => tests!(Double::get),
        _ => return None,
    })
}

/// Reads an `.f32`. If `flush_it` is set, subnormal numbers become zero.
pub(crate) fn single(bits: u64, flush_it: bool) -> f32 {
    if flush_it { Flushed::get(bits) } else { Single::get(bits) }
}

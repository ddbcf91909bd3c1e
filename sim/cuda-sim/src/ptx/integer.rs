//! Integer and bit arithmetic, as functions on the bits of registers.

#![expect(clippy::cast_possible_truncation, reason = "the low bits of a register are the number")]

use super::function::{Four, One, Three, Two};
use super::types::Type;

/// An integer type of PTX.
pub(crate) trait Integer: Copy + Ord {
    const BITS: u32;
    fn get(bits: u64) -> Self;
    /// Returns the sign-extended bits, so a wider register holds the same number.
    fn put(self) -> u64;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn add_saturated(self, other: Self) -> Self;
    fn subtract_saturated(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    /// Returns the upper half of the product.
    fn multiply_high(self, other: Self) -> Self;
    /// Returns the full product, twice as wide.
    fn multiply_wide(self, other: Self) -> u64;
    /// Divides. Division by 0 sets every bit, as on NVIDIA's devices; PTX leaves the result
    /// undefined.
    fn divide(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
    fn negate(self) -> Self;
    fn absolute(self) -> Self;
    fn shift_left(self, count: u32) -> Self;
    /// Shifts to the right. Signed numbers keep their sign.
    fn shift_right(self, count: u32) -> Self;
    /// Returns the same bits as an unsigned number.
    fn bits(self) -> u64;
    fn is_negative(self) -> bool;
}

macro_rules! integer {
    ($($type:ident, $unsigned:ident, $wide:ident, $negative:expr, $absolute:expr;)*) => {
        $(
            #[allow(clippy::cast_lossless, trivial_numeric_casts, reason = "the same for every type")]
            impl Integer for $type {
                const BITS: u32 = $type::BITS;
                fn get(bits: u64) -> Self {
                    bits as $type
                }
                fn put(self) -> u64 {
                    self as u64
                }
                fn add(self, other: Self) -> Self {
                    self.wrapping_add(other)
                }
                fn subtract(self, other: Self) -> Self {
                    self.wrapping_sub(other)
                }
                fn add_saturated(self, other: Self) -> Self {
                    self.saturating_add(other)
                }
                fn subtract_saturated(self, other: Self) -> Self {
                    self.saturating_sub(other)
                }
                fn multiply(self, other: Self) -> Self {
                    self.wrapping_mul(other)
                }
                fn multiply_high(self, other: Self) -> Self {
                    ((self as $wide * other as $wide) >> $type::BITS) as $type
                }
                fn multiply_wide(self, other: Self) -> u64 {
                    (self as $wide * other as $wide) as u64
                }
                fn divide(self, other: Self) -> Self {
                    if other == 0 { !0 } else { self.wrapping_div(other) }
                }
                fn remainder(self, other: Self) -> Self {
                    if other == 0 { self } else { self.wrapping_rem(other) }
                }
                fn negate(self) -> Self {
                    self.wrapping_neg()
                }
                fn absolute(self) -> Self {
                    $absolute(self)
                }
                fn shift_left(self, count: u32) -> Self {
                    self.checked_shl(count).unwrap_or(0)
                }
                fn shift_right(self, count: u32) -> Self {
                    let last = self >> ($type::BITS - 1);
                    self.checked_shr(count).unwrap_or(if $negative(self) { last } else { 0 })
                }
                fn bits(self) -> u64 {
                    (self as $unsigned) as u64
                }
                fn is_negative(self) -> bool {
                    $negative(self)
                }
            }
        )*
    };
}

integer! {
    u8, u8, u16, |_| false, |value| value;
    u16, u16, u32, |_| false, |value| value;
    u32, u32, u64, |_| false, |value| value;
    u64, u64, u128, |_| false, |value| value;
    i8, u8, i16, |value: i8| value < 0, i8::wrapping_abs;
    i16, u16, i32, |value: i16| value < 0, i16::wrapping_abs;
    i32, u32, i64, |value: i32| value < 0, i32::wrapping_abs;
    i64, u64, i128, |value: i64| value < 0, i64::wrapping_abs;
}

/// Calls a function with the Rust integer of a PTX type. Untyped bits are treated as unsigned.
macro_rules! by_integer {
    ($type:expr, $function:ident) => {
        match $type {
            Type::U16 | Type::B16 => $function::<u16>,
            Type::U32 | Type::B32 => $function::<u32>,
            Type::U64 | Type::B64 => $function::<u64>,
            Type::S16 => $function::<i16>,
            Type::S32 => $function::<i32>,
            Type::S64 => $function::<i64>,
            _ => return None,
        }
    };
}

pub(super) use by_integer;

macro_rules! two {
    ($type:expr, $a:ident, $b:ident, $body:expr) => {{
        fn function<I: Integer>(a: u64, b: u64) -> u64 {
            let ($a, $b) = (I::get(a), I::get(b));
            $body
        }
        Some(by_integer!($type, function))
    }};
}

/// Returns a function of two integers by its PTX name.
pub(crate) fn binary(name: &str, ty: Type) -> Option<Two> {
    match name {
        "add" => two!(ty, a, b, a.add(b).put()),
        "sub" => two!(ty, a, b, a.subtract(b).put()),
        "add_sat" => two!(ty, a, b, a.add_saturated(b).put()),
        "sub_sat" => two!(ty, a, b, a.subtract_saturated(b).put()),
        "mul_lo" => two!(ty, a, b, a.multiply(b).put()),
        "mul_hi" => two!(ty, a, b, a.multiply_high(b).put()),
        "mul_wide" => two!(ty, a, b, a.multiply_wide(b)),
        "div" => two!(ty, a, b, a.divide(b).put()),
        "rem" => two!(ty, a, b, a.remainder(b).put()),
        "min" => two!(ty, a, b, a.min(b).put()),
        "max" => two!(ty, a, b, a.max(b).put()),
        _ => None,
    }
}

/// Returns a shift. The distance always has 32 bits.
pub(crate) fn shift(name: &str, ty: Type) -> Option<Two> {
    fn left<I: Integer>(a: u64, b: u64) -> u64 {
        I::get(a).shift_left(b as u32).put()
    }
    fn right<I: Integer>(a: u64, b: u64) -> u64 {
        I::get(a).shift_right(b as u32).put()
    }
    Some(match name {
        "shl" => by_integer!(ty, left),
        "shr" => by_integer!(ty, right),
        _ => return None,
    })
}

/// Returns a bitwise function. A predicate is a single bit.
pub(crate) fn logic(name: &str) -> Option<Two> {
    Some(match name {
        "and" => |a, b| a & b,
        "or" => |a, b| a | b,
        "xor" => |a, b| a ^ b,
        _ => return None,
    })
}

/// Returns a function of one integer by its PTX name.
pub(crate) fn unary(name: &str, ty: Type) -> Option<One> {
    macro_rules! one {
        ($a:ident, $body:expr) => {{
            fn function<I: Integer>(a: u64) -> u64 {
                let $a = I::get(a);
                $body
            }
            by_integer!(ty, function)
        }};
    }
    Some(match name {
        "neg" => one!(a, a.negate().put()),
        "abs" => one!(a, a.absolute().put()),
        "not" if ty == Type::Pred => |a| a ^ 1,
        "not" => one!(a, I::get(!a.put()).put()),
        "popc" => one!(a, u64::from(a.bits().count_ones())),
        "clz" => one!(a, u64::from(a.bits().leading_zeros() - (64 - I::BITS))),
        "brev" => one!(a, a.bits().reverse_bits() >> (64 - I::BITS)),
        "bfind" => one!(a, {
            let bits = if a.is_negative() { I::get(!a.put()).bits() } else { a.bits() };
            u64::from(63_u32.wrapping_sub(bits.leading_zeros()))
        }),
        "bfind_shiftamt" => one!(a, {
            let bits = if a.is_negative() { I::get(!a.put()).bits() } else { a.bits() };
            // The distance of a left shift that moves the found bit to the highest position.
            let distance = bits.leading_zeros().wrapping_sub(64 - I::BITS);
            u64::from(if bits == 0 { u32::MAX } else { distance })
        }),
        "cnot" => one!(a, u64::from(a.bits() == 0)),
        _ => return None,
    })
}

/// Returns `mad` or `sad`.
pub(crate) fn ternary(name: &str, ty: Type) -> Option<Three> {
    macro_rules! three {
        ($a:ident, $b:ident, $c:ident, $body:expr) => {{
            fn function<I: Integer>(a: u64, b: u64, $c: u64) -> u64 {
                let ($a, $b) = (I::get(a), I::get(b));
                $body
            }
            by_integer!(ty, function)
        }};
    }
    Some(match name {
        "mad_lo" => three!(a, b, c, a.multiply(b).add(I::get(c)).put()),
        "mad_hi" => three!(a, b, c, a.multiply_high(b).add(I::get(c)).put()),
        "mad_wide" => three!(a, b, c, a.multiply_wide(b).wrapping_add(c)),
        "sad" => three!(a, b, c, {
            let distance = if a < b { b.subtract(a) } else { a.subtract(b) };
            distance.add(I::get(c)).put()
        }),
        _ => return None,
    })
}

/// Returns `bfe`, which extracts a field given by its position and length.
pub(crate) fn extract(ty: Type) -> Option<Three> {
    fn function<I: Integer>(a: u64, place: u64, len: u64) -> u64 {
        let (value, place, len) = (I::get(a), place as u32 & 0xFF, len as u32 & 0xFF);
        if len == 0 {
            return 0;
        }
        // Bits past the end are copies of the sign bit.
        let field = value.shift_right(place.min(I::BITS));
        if len >= I::BITS {
            return field.put();
        }
        let beyond = place + len > I::BITS;
        let free = I::BITS - len;
        if beyond { field.put() } else { field.shift_left(free).shift_right(free).put() }
    }
    Some(by_integer!(ty, function))
}

/// Returns `bfi`, which inserts the low bits of one number into a field of another.
pub(crate) fn insert(ty: Type) -> Option<Four> {
    fn function<I: Integer>(a: u64, b: u64, place: u64, len: u64) -> u64 {
        let (place, len) = (place as u32 & 0xFF, len as u32 & 0xFF);
        if place >= I::BITS {
            return I::get(b).put();
        }
        let mask = 1_u64.checked_shl(len).map_or(u64::MAX, |bit| bit - 1) << place;
        I::get(b & !mask | a << place & mask).put()
    }
    Some(match ty {
        Type::B32 => function::<u32>,
        Type::B64 => function::<u64>,
        _ => return None,
    })
}

/// Computes `lop3`: any function of three bits, given by its truth table.
pub(crate) fn three_bits(a: u64, b: u64, c: u64, table: u64) -> u64 {
    let row = |index: u64| {
        let pick = |value: u64, bit: u64| if index & bit == 0 { !value } else { value };
        pick(a, 4) & pick(b, 2) & pick(c, 1)
    };
    let rows = (0..8).filter(|index| table >> index & 1 == 1);
    rows.fold(0, |all, index| all | row(index)) & 0xFFFF_FFFF
}

/// Computes `prmt`: selects four bytes out of eight.
pub(crate) fn permute(a: u64, b: u64, selection: u64) -> u64 {
    let bytes = (a & 0xFFFF_FFFF) | b << 32;
    let byte = |index: u64| {
        let chosen = selection >> (4 * index) & 0xF;
        let byte = bytes >> (8 * (chosen & 7)) & 0xFF;
        let sign = if byte & 0x80 == 0 { 0 } else { 0xFF };
        (if chosen & 8 == 0 { byte } else { sign }) << (8 * index)
    };
    (0..4).fold(0, |all, index| all | byte(index))
}

/// Returns `shf`, which shifts a pair of registers and returns 32 bits. The arguments select the
/// direction, and whether the count is clamped or wraps.
pub(crate) fn funnel(left: bool, wraps: bool) -> Three {
    fn pair(a: u64, b: u64) -> u64 {
        (a & 0xFFFF_FFFF) | b << 32
    }
    fn count(c: u64, wraps: bool) -> u64 {
        if wraps { c & 31 } else { (c & 0xFFFF_FFFF).min(32) }
    }
    match (left, wraps) {
        (true, true) => |a, b, c| (pair(a, b) << count(c, true)) >> 32,
        (true, false) => |a, b, c| (pair(a, b) << count(c, false)) >> 32,
        (false, true) => |a, b, c| pair(a, b) >> count(c, true) & 0xFFFF_FFFF,
        (false, false) => |a, b, c| pair(a, b) >> count(c, false) & 0xFFFF_FFFF,
    }
}

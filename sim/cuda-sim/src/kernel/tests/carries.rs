//! Results of carries, sums of products, bit searches and comparisons of short integers.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "registers hold the low bits, and converted values fit"
)]

use half::{bf16, f16};

use super::instructions::Case;
use super::whole::{s32, u32_};

/// Joins registers into a 128-bit value.
fn long(low: u64, high: u64) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

fn high(value: u128) -> u64 {
    (value >> 64) as u64
}

/// Joins the low words of two registers into a 64-bit value.
fn words(low: u64, high: u64) -> u64 {
    (low & 0xFFFF_FFFF) | high << 32
}

fn byte(value: u64, index: u32) -> i64 {
    i64::from((value >> (8 * index)) as u8)
}

fn signed_byte(value: u64, index: u32) -> i64 {
    i64::from((value >> (8 * index)) as i8)
}

fn low(sum: i64) -> u64 {
    u64::from(sum as u32)
}

fn halves(value: u64) -> [u16; 2] {
    [value as u16, (value >> 16) as u16]
}

fn pair(of: [u16; 2]) -> u64 {
    u64::from(of[0]) | u64::from(of[1]) << 16
}

fn halves_compared(a: u64, b: u64, truth: u16, test: fn(f16, f16) -> bool) -> u64 {
    let (a, b) = (halves(a).map(f16::from_bits), halves(b).map(f16::from_bits));
    pair([0, 1].map(|index| if test(a[index], b[index]) { truth } else { 0 }))
}

/// Returns the sum of an integer and 2^40 times another one, truncated to 53 bits.
fn cut(a: u64, b: u64) -> u64 {
    let sum = i128::from(a as i64 >> 11) + (i128::from(b as i64 >> 11) << 40);
    let beyond = (128 - sum.unsigned_abs().leading_zeros()).saturating_sub(53);
    let kept = (sum.unsigned_abs() >> beyond << beyond) as f64;
    (if sum < 0 { -kept } else { kept }).to_bits()
}

pub(super) const CARRIES: &[Case] = &[
    ("add.cc.u64 %l6, %l1, %l2; addc.u64 %l7, %l2, %l3;", "%l7", |a, b, c| {
        high(long(a, b).wrapping_add(long(b, c)))
    }),
    (
        "add.cc.s64 %l6, %l1, %l2; addc.cc.s64 %l7, %l2, %l3; addc.u32 %r7, 0, 0;",
        "%r7",
        |a, b, c| u64::from(long(a, b).checked_add(long(b, c)).is_none()),
    ),
    (
        "add.cc.u32 %r5, %r1, %r2; addc.u32 %r6, %r2, %r3; mov.b64 %l7, {%r5, %r6};",
        "%l7",
        |a, b, c| words(a, b).wrapping_add(words(b, c)),
    ),
    ("sub.cc.u64 %l6, %l1, %l2; subc.u64 %l7, %l2, %l3;", "%l7", |a, b, c| {
        high(long(a, b).wrapping_sub(long(b, c)))
    }),
    (
        "sub.cc.s32 %r5, %r1, %r2; subc.cc.s32 %r6, %r2, %r3; subc.u32 %r7, 0, 0;",
        "%r7",
        |a, b, c| {
            if words(a, b) < words(b, c) { 0xFFFF_FFFF } else { 0 }
        },
    ),
    (
        "mad.lo.cc.u32 %r5, %r1, %r2, %r3; madc.hi.u32 %r6, %r1, %r2, %r1; mov.b64 %l7, {%r5, %r6};",
        "%l7",
        |a, b, c| {
            let product = u64::from(u32_(a)) * u64::from(u32_(b));
            product.wrapping_add(words(c, a))
        },
    ),
    ("mad.lo.cc.u64 %l6, %l1, %l2, %l3; madc.hi.u64 %l7, %l1, %l2, %l1;", "%l7", |a, b, c| {
        high((u128::from(a) * u128::from(b)).wrapping_add(long(c, a)))
    }),
    ("mad.hi.cc.s32 %r6, %r1, %r2, %r3; addc.u32 %r7, 0, 0;", "%r7", |a, b, c| {
        let product = (i64::from(s32(a)) * i64::from(s32(b))) >> 32;
        u64::from((product as u32).checked_add(u32_(c)).is_none())
    }),
    (
        "add.cc.u32 %r6, %r1, %r2; xor.b32 %r5, %r1, %r2; madc.lo.cc.u32 %r7, %r1, %r2, %r3;",
        "%r7",
        |a, b, c| {
            let carry = u32::from(u32_(a).checked_add(u32_(b)).is_none());
            u64::from(u32_(a).wrapping_mul(u32_(b)).wrapping_add(u32_(c)).wrapping_add(carry))
        },
    ),
    ("dp4a.u32.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        low((0..4).map(|at| byte(a, at) * byte(b, at)).sum::<i64>() + i64::from(u32_(c)))
    }),
    ("dp4a.s32.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        low((0..4).map(|at| signed_byte(a, at) * byte(b, at)).sum::<i64>() + i64::from(s32(c)))
    }),
    ("dp4a.u32.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        low((0..4).map(|at| byte(a, at) * signed_byte(b, at)).sum::<i64>() + i64::from(s32(c)))
    }),
    ("dp4a.s32.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        low((0..4).map(|at| signed_byte(a, at) * signed_byte(b, at)).sum::<i64>()
            + i64::from(s32(c)))
    }),
    ("dp2a.lo.s32.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        let [first, second] = halves(a).map(|half| i64::from(half as i16));
        low(first * signed_byte(b, 0) + second * signed_byte(b, 1) + i64::from(s32(c)))
    }),
    ("dp2a.hi.u32.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        let [first, second] = halves(a).map(i64::from);
        low(first * signed_byte(b, 2) + second * signed_byte(b, 3) + i64::from(s32(c)))
    }),
    ("dp2a.hi.s32.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        let [first, second] = halves(a).map(|half| i64::from(half as i16));
        low(first * byte(b, 2) + second * byte(b, 3) + i64::from(s32(c)))
    }),
    ("dp2a.lo.u32.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        let [first, second] = halves(a).map(i64::from);
        low(first * byte(b, 0) + second * byte(b, 1) + i64::from(u32_(c)))
    }),
    (
        "shr.s64 %l5, %l1, 11; shr.s64 %l6, %l2, 11;
         cvt.rn.f64.s64 %d5, %l5; cvt.rn.f64.s64 %d6, %l6;
         mul.rn.f64 %d6, %d6, 0d4270000000000000; add.rz.f64 %d7, %d5, %d6;",
        "%d7",
        |a, b, _| cut(a, b),
    ),
    ("bfind.shiftamt.u32 %r7, %r1;", "%r7", |a, _, _| {
        u64::from(if u32_(a) == 0 { u32::MAX } else { u32_(a).leading_zeros() })
    }),
    ("bfind.shiftamt.s32 %r7, %r1;", "%r7", |a, _, _| {
        let bits = if s32(a) < 0 { !u32_(a) } else { u32_(a) };
        u64::from(if bits == 0 { u32::MAX } else { bits.leading_zeros() })
    }),
    ("bfind.shiftamt.u64 %r7, %l1;", "%r7", |a, _, _| {
        u64::from(if a == 0 { u32::MAX } else { a.leading_zeros() })
    }),
    ("bfind.shiftamt.s64 %r7, %l1;", "%r7", |a, _, _| {
        let bits = if a >> 63 == 1 { !a } else { a };
        u64::from(if bits == 0 { u32::MAX } else { bits.leading_zeros() })
    }),
    ("cvt.rn.bf16.f16 %h7, %h1;", "%h7", |a, _, _| {
        let value = f16::from_bits(a as u16);
        u64::from(if value.is_nan() { 0x7FFF } else { bf16::from_f32(value.to_f32()).to_bits() })
    }),
    ("cvt.rn.f16.bf16 %h7, %h1;", "%h7", |a, _, _| {
        let value = bf16::from_bits(a as u16);
        u64::from(if value.is_nan() { 0x7FFF } else { f16::from_f32(value.to_f32()).to_bits() })
    }),
    ("cvt.rz.bf16.f16 %h7, %h1;", "%h7", |a, _, _| {
        let value = f16::from_bits(a as u16);
        // Excess bits are cut off, because `bf16` is the upper half of an `f32`.
        u64::from(if value.is_nan() { 0x7FFF } else { (value.to_f32().to_bits() >> 16) as u16 })
    }),
    ("mov.u32 %r7, WARP_SZ;", "%r7", |_, _, _| 32),
    ("sub.s32 %r7, %r1, WARP_SZ;", "%r7", |a, _, _| u64::from(u32_(a).wrapping_sub(32))),
    ("set.eq.f16.f16 %h7, %h1, %h2;", "%h7", |a, b, _| {
        let [a, b] = [a, b].map(|bits| f16::from_bits(bits as u16));
        u64::from(f16::from_f32(f32::from(u8::from(a == b))).to_bits())
    }),
    ("set.ltu.bf16.bf16 %h7, %h1, %h2;", "%h7", |a, b, _| {
        let [a, b] = [a, b].map(|bits| bf16::from_bits(bits as u16));
        u64::from(bf16::from_f32(f32::from(u8::from(a.is_nan() || b.is_nan() || a < b))).to_bits())
    }),
    ("set.gt.u16.f16 %h7, %h1, %h2;", "%h7", |a, b, _| {
        let [a, b] = [a, b].map(|bits| f16::from_bits(bits as u16));
        if a > b { 0xFFFF } else { 0 }
    }),
    ("set.ne.s32.f16 %r7, %h1, %h2;", "%r7", |a, b, _| {
        let [a, b] = [a, b].map(|bits| f16::from_bits(bits as u16));
        if a != b && !a.is_nan() && !b.is_nan() { 0xFFFF_FFFF } else { 0 }
    }),
    ("set.lt.f16.s32 %h7, %r1, %r2;", "%h7", |a, b, _| if s32(a) < s32(b) { 0x3C00 } else { 0 }),
    ("set.le.f16x2.f16x2 %r7, %r1, %r2;", "%r7", |a, b, _| {
        halves_compared(a, b, 0x3C00, |a, b| a <= b)
    }),
    ("set.geu.u32.f16x2 %r7, %r1, %r2;", "%r7", |a, b, _| {
        halves_compared(a, b, 0xFFFF, |a, b| a.is_nan() || b.is_nan() || a >= b)
    }),
    ("set.eq.bf16x2.bf16x2 %r7, %r1, %r2;", "%r7", |a, b, _| {
        let (a, b) = (halves(a).map(bf16::from_bits), halves(b).map(bf16::from_bits));
        pair([0, 1].map(|index| if a[index] == b[index] { 0x3F80 } else { 0 }))
    }),
];

//! Results of floating-point instructions.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_lossless,
    reason = "registers hold the low bits, and tests cover conversions"
)]

use half::{bf16, f16};

use super::instructions::Case;
use super::whole::{s32, s64, word};

pub(super) fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

pub(super) fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn single(value: f32) -> u64 {
    u64::from(if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() })
}

fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

fn short(value: f32) -> u64 {
    u64::from(if value.is_nan() { 0x7FFF } else { f16::from_f32(value).to_bits() })
}

fn half_of(bits: u64) -> f32 {
    f16::from_bits(bits as u16).to_f32()
}

pub(super) const FLOAT: &[Case] = &[
    ("add.f32 %f7, %f1, %f2;", "%f7", |a, b, _| single(f(a) + f(b))),
    ("add.ftz.f32 %f7, %f1, %f2;", "%f7", |a, b, _| single(flushed(flushed(f(a)) + flushed(f(b))))),
    ("sub.rn.f32 %f7, %f1, %f2;", "%f7", |a, b, _| single(f(a) - f(b))),
    ("mul.f32 %f7, %f1, %f2;", "%f7", |a, b, _| single(f(a) * f(b))),
    ("mul.sat.f32 %f7, %f1, %f2;", "%f7", |a, b, _| {
        let product = f(a) * f(b);
        single(if product.is_nan() { 0.0 } else { product.clamp(0.0, 1.0) + 0.0 })
    }),
    ("fma.rn.f32 %f7, %f1, %f2, %f3;", "%f7", |a, b, c| single(f(a).mul_add(f(b), f(c)))),
    ("div.rn.f32 %f7, %f1, %f2;", "%f7", |a, b, _| single(f(a) / f(b))),
    ("sqrt.rn.f32 %f7, %f1;", "%f7", |a, _, _| single(f(a).sqrt())),
    ("rcp.rn.f32 %f7, %f1;", "%f7", |a, _, _| single(1.0 / f(a))),
    ("neg.f32 %f7, %f1;", "%f7", |a, _, _| single(-f(a))),
    ("abs.f32 %f7, %f1;", "%f7", |a, _, _| single(f(a).abs())),
    ("copysign.f32 %f7, %f1, %f2;", "%f7", |a, b, _| single(f(b).copysign(f(a)))),
    ("testp.finite.f32 %p1, %f1; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, _, _| {
        f(a).is_finite().into()
    }),
    ("testp.subnormal.f64 %p1, %d1; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, _, _| {
        d(a).is_subnormal().into()
    }),
    ("setp.lt.f32 %p1, %f1, %f2; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, b, _| (f(a) < f(b)).into()),
    ("setp.geu.f32 %p1, %f1, %f2; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, b, _| {
        (f(a) >= f(b) || f(a).is_nan() || f(b).is_nan()).into()
    }),
    ("setp.neu.f64 %p1, %d1, %d2; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, b, _| {
        (d(a) != d(b)).into()
    }),
    ("setp.nan.f32 %p1, %f1, %f2; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, b, _| {
        (f(a).is_nan() || f(b).is_nan()).into()
    }),
    ("add.f64 %d7, %d1, %d2;", "%d7", |a, b, _| (d(a) + d(b)).to_bits()),
    ("mul.f64 %d7, %d1, %d2;", "%d7", |a, b, _| (d(a) * d(b)).to_bits()),
    ("fma.rn.f64 %d7, %d1, %d2, %d3;", "%d7", |a, b, c| d(a).mul_add(d(b), d(c)).to_bits()),
    ("div.rn.f64 %d7, %d1, %d2;", "%d7", |a, b, _| (d(a) / d(b)).to_bits()),
    ("sqrt.rn.f64 %d7, %d1;", "%d7", |a, _, _| d(a).sqrt().to_bits()),
    ("add.f16 %h7, %h1, %h2;", "%h7", |a, b, _| short(half_of(a) + half_of(b))),
    ("mul.rn.f16 %h7, %h1, %h2;", "%h7", |a, b, _| short(half_of(a) * half_of(b))),
    ("sub.f16x2 %r7, %r1, %r2;", "%r7", |a, b, _| {
        short(half_of(a) - half_of(b)) | short(half_of(a >> 16) - half_of(b >> 16)) << 16
    }),
    ("cvt.f32.f16 %f7, %h1;", "%f7", |a, _, _| single(half_of(a))),
    ("cvt.rn.f16.f32 %h7, %f1;", "%h7", |a, _, _| short(f(a))),
    ("cvt.rn.bf16.f32 %h7, %f1;", "%h7", |a, _, _| {
        u64::from(if f(a).is_nan() { 0x7FFF } else { bf16::from_f32(f(a)).to_bits() })
    }),
    ("cvt.rn.f16x2.f32 %r7, %f1, %f2;", "%r7", |a, b, _| short(f(a)) << 16 | short(f(b))),
    ("cvt.rzi.s32.f32 %r7, %f1;", "%r7", |a, _, _| word(f(a) as i32)),
    ("cvt.rzi.u32.f32 %r7, %f1;", "%r7", |a, _, _| u64::from(f(a) as u32)),
    ("cvt.rzi.s64.f64 %l7, %d1;", "%l7", |a, _, _| d(a) as i64 as u64),
    ("cvt.rni.s32.f32 %r7, %f1;", "%r7", |a, _, _| word(f(a).round_ties_even() as i32)),
    ("cvt.rmi.s32.f64 %r7, %d1;", "%r7", |a, _, _| word(d(a).floor() as i32)),
    ("cvt.rpi.f32.f32 %f7, %f1;", "%f7", |a, _, _| single(f(a).ceil())),
    ("cvt.rn.f32.s32 %f7, %r1;", "%f7", |a, _, _| single(s32(a) as f32)),
    ("cvt.rn.f32.u64 %f7, %l1;", "%f7", |a, _, _| single(a as f32)),
    ("cvt.rn.f64.s64 %d7, %l1;", "%d7", |a, _, _| (s64(a) as f64).to_bits()),
    ("cvt.rn.f32.f64 %f7, %d1;", "%f7", |a, _, _| single(d(a) as f32)),
    ("cvt.f64.f32 %d7, %f1;", "%d7", |a, _, _| {
        if f(a).is_nan() { (1 << 63) - 1 } else { f64::from(f(a)).to_bits() }
    }),
    ("cvt.sat.f32.f32 %f7, %f1;", "%f7", |a, _, _| {
        single(if f(a).is_nan() { 0.0 } else { f(a).clamp(0.0, 1.0) + 0.0 })
    }),
    ("cvt.sat.u8.s32 %r7, %r1;", "%r7", |a, _, _| s32(a).clamp(0, 255) as u64),
    ("cvt.s32.s8 %r7, %r1;", "%r7", |a, _, _| word(a as i8 as i32)),
    ("cvt.u64.u32 %l7, %r1;", "%l7", |a, _, _| a & 0xFFFF_FFFF),
    ("cvt.s64.s32 %l7, %r1;", "%l7", |a, _, _| s32(a) as i64 as u64),
    ("cvt.u16.u32 %h7, %r1;", "%h7", |a, _, _| a & 0xFFFF),
];

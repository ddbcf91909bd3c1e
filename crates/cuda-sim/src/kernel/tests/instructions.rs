//! Instructions one by one, against what Rust computes.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_lossless,
    reason = "registers hold the low bits, and conversions are what is tested"
)]

use std::sync::Arc;

use half::{bf16, f16};
use proptest::prelude::*;

use super::{Flat, START, programs};
use crate::kernel::{Launch, run};
use crate::world::Random;

/// An instruction on registers 1 to 3, the register of its result, and what it is to be.
type Case = (&'static str, &'static str, fn(u64, u64, u64) -> u64);

fn s32(bits: u64) -> i32 {
    bits as i32
}

fn u32_(bits: u64) -> u32 {
    bits as u32
}

fn s64(bits: u64) -> i64 {
    bits as i64
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn word(value: i32) -> u64 {
    u64::from(value as u32)
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

/// A field of bits, bit by bit, as the manual has it.
fn field(a: u64, place: u64, len: u64, width: u64, signed: bool) -> u64 {
    let (place, len) = (place & 0xFF, len & 0xFF);
    let bit = |index: u64| a >> index & 1;
    let last = (place + len).saturating_sub(1).min(width - 1);
    let sign = if signed && len > 0 { bit(last) } else { 0 };
    let each = |index: u64| {
        let inside = index < len && place + index < width;
        if inside { bit(place + index) } else { sign }
    };
    (0..width).fold(0, |all, index| all | each(index) << index)
}

const WHOLE: &[Case] = &[
    ("add.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).wrapping_add(s32(b)))),
    ("add.sat.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).saturating_add(s32(b)))),
    ("sub.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).wrapping_sub(s32(b)))),
    ("mul.lo.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).wrapping_mul(s32(b)))),
    ("mul.hi.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word((s32(a) as i64 * s32(b) as i64 >> 32) as i32)),
    ("mul.hi.u32 %r7, %r1, %r2;", "%r7", |a, b, _| (a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF) >> 32),
    ("mul.wide.s32 %l7, %r1, %r2;", "%l7", |a, b, _| (s32(a) as i64 * s32(b) as i64) as u64),
    ("mul.wide.u32 %l7, %r1, %r2;", "%l7", |a, b, _| (a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)),
    ("mul.wide.u16 %r7, %h1, %h2;", "%r7", |a, b, _| (a & 0xFFFF) * (b & 0xFFFF)),
    ("mul.wide.s16 %r7, %h1, %h2;", "%r7", |a, b, _| word(a as i16 as i32 * b as i16 as i32)),
    ("mad.lo.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| word(s32(a).wrapping_mul(s32(b)).wrapping_add(s32(c)))),
    ("mad.hi.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        u64::from((((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF) >> 32) as u32).wrapping_add(u32_(c)))
    }),
    ("mad.wide.u32 %l7, %r1, %r2, %l3;", "%l7", |a, b, c| ((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)).wrapping_add(c)),
    ("mad.wide.s32 %l7, %r1, %r2, %l3;", "%l7", |a, b, c| (s32(a) as i64 * s32(b) as i64).wrapping_add(s64(c)) as u64),
    ("div.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(if s32(b) == 0 { -1 } else { s32(a).wrapping_div(s32(b)) })),
    ("div.u32 %r7, %r1, %r2;", "%r7", |a, b, _| u64::from(u32_(a).checked_div(u32_(b)).unwrap_or(u32::MAX))),
    ("rem.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(if s32(b) == 0 { s32(a) } else { s32(a).wrapping_rem(s32(b)) })),
    ("rem.u32 %r7, %r1, %r2;", "%r7", |a, b, _| u64::from(u32_(a).checked_rem(u32_(b)).unwrap_or(u32_(a)))),
    ("neg.s32 %r7, %r1;", "%r7", |a, _, _| word(s32(a).wrapping_neg())),
    ("abs.s32 %r7, %r1;", "%r7", |a, _, _| word(s32(a).wrapping_abs())),
    ("min.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).min(s32(b)))),
    ("max.u32 %r7, %r1, %r2;", "%r7", |a, b, _| u64::from(u32_(a).max(u32_(b)))),
    ("sad.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| u64::from(u32_(a).abs_diff(u32_(b)).wrapping_add(u32_(c)))),
    ("shl.b32 %r7, %r1, %r2;", "%r7", |a, b, _| u64::from(u32_(a).checked_shl(u32_(b)).unwrap_or(0))),
    ("shr.u32 %r7, %r1, %r2;", "%r7", |a, b, _| u64::from(u32_(a).checked_shr(u32_(b)).unwrap_or(0))),
    ("shr.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a) >> u32_(b).min(31))),
    ("shr.s16 %h7, %h1, %r2;", "%h7", |a, b, _| u64::from((a as i16 >> u32_(b).min(15)) as u16)),
    ("and.b32 %r7, %r1, %r2;", "%r7", |a, b, _| a & b & 0xFFFF_FFFF),
    ("or.b64 %l7, %l1, %l2;", "%l7", |a, b, _| a | b),
    ("xor.b32 %r7, %r1, %r2;", "%r7", |a, b, _| (a ^ b) & 0xFFFF_FFFF),
    ("not.b32 %r7, %r1;", "%r7", |a, _, _| !a & 0xFFFF_FFFF),
    ("not.b64 %l7, %l1;", "%l7", |a, _, _| !a),
    ("popc.b32 %r7, %r1;", "%r7", |a, _, _| u64::from(u32_(a).count_ones())),
    ("popc.b64 %r7, %l1;", "%r7", |a, _, _| u64::from(a.count_ones())),
    ("clz.b32 %r7, %r1;", "%r7", |a, _, _| u64::from(u32_(a).leading_zeros())),
    ("clz.b64 %r7, %l1;", "%r7", |a, _, _| u64::from(a.leading_zeros())),
    ("brev.b32 %r7, %r1;", "%r7", |a, _, _| u64::from(u32_(a).reverse_bits())),
    ("brev.b64 %l7, %l1;", "%l7", |a, _, _| a.reverse_bits()),
    ("bfind.u32 %r7, %r1;", "%r7", |a, _, _| u64::from(u32_(a).checked_ilog2().unwrap_or(u32::MAX))),
    ("bfe.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| field(a, b, c, 32, false)),
    ("bfe.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| field(a, b, c, 32, true)),
    ("bfe.s64 %l7, %l1, %r2, %r3;", "%l7", |a, b, c| field(a, b, c, 64, true)),
    ("bfi.b32 %r7, %r1, %r2, %r3, 5;", "%r7", |a, b, c| {
        let mask = 0x1F_u64.checked_shl((c & 0xFF) as u32).unwrap_or(0) & 0xFFFF_FFFF;
        (b & !mask | a.checked_shl((c & 0xFF) as u32).unwrap_or(0) & mask) & 0xFFFF_FFFF
    }),
    ("prmt.b32 %r7, %r1, %r2, 0x7531;", "%r7", |a, b, _| {
        let bytes: Vec<u8> = (a as u32).to_le_bytes().into_iter().chain((b as u32).to_le_bytes()).collect();
        u64::from(u32::from_le_bytes([bytes[1], bytes[3], bytes[5], bytes[7]]))
    }),
    ("shf.l.wrap.b32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        u64::from(((((a & 0xFFFF_FFFF) | b << 32) << (c & 31)) >> 32) as u32)
    }),
    ("shf.r.clamp.b32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        u64::from((((a & 0xFFFF_FFFF) | b << 32) >> u32_(c).min(32)) as u32)
    }),
    ("lop3.b32 %r7, %r1, %r2, %r3, 0x96;", "%r7", |a, b, c| (a ^ b ^ c) & 0xFFFF_FFFF),
    ("lop3.b32 %r7, %r1, %r2, %r3, 0xE8;", "%r7", |a, b, c| (a & b | a & c | b & c) & 0xFFFF_FFFF),
    ("add.s64 %l7, %l1, %l2;", "%l7", |a, b, _| a.wrapping_add(b)),
    ("sub.s64 %l7, %l1, %l2;", "%l7", |a, b, _| a.wrapping_sub(b)),
    ("mul.lo.u64 %l7, %l1, %l2;", "%l7", |a, b, _| a.wrapping_mul(b)),
    ("mul.hi.u64 %l7, %l1, %l2;", "%l7", |a, b, _| (u128::from(a) * u128::from(b) >> 64) as u64),
    ("mul.hi.s64 %l7, %l1, %l2;", "%l7", |a, b, _| (i128::from(s64(a)) * i128::from(s64(b)) >> 64) as u64),
    ("div.u64 %l7, %l1, %l2;", "%l7", |a, b, _| a.checked_div(b).unwrap_or(u64::MAX)),
    ("rem.s64 %l7, %l1, %l2;", "%l7", |a, b, _| if b == 0 { a } else { s64(a).wrapping_rem(s64(b)) as u64 }),
    ("min.s64 %l7, %l1, %l2;", "%l7", |a, b, _| s64(a).min(s64(b)) as u64),
    ("shl.b64 %l7, %l1, %r2;", "%l7", |a, b, _| a.checked_shl(u32_(b)).unwrap_or(0)),
    ("shr.s64 %l7, %l1, %r2;", "%l7", |a, b, _| (s64(a) >> u32_(b).min(63)) as u64),
    ("add.s16 %h7, %h1, %h2;", "%h7", |a, b, _| u64::from((a as u16).wrapping_add(b as u16))),
    ("setp.lt.s32 %p1, %r1, %r2; selp.b32 %r7, %r1, %r2, %p1;", "%r7", |a, b, _| word(s32(a).min(s32(b)))),
    ("setp.hi.u32 %p1|%p2, %r1, %r2; selp.u32 %r7, 1, 2, %p2;", "%r7", |a, b, _| if u32_(a) > u32_(b) { 2 } else { 1 }),
    ("setp.ne.and.s64 %p1, %l1, %l2, %p0; selp.u32 %r7, 1, 2, %p1;", "%r7", |a, b, c| {
        if a != b && u32_(c) != 0 { 1 } else { 2 }
    }),
    ("set.lt.u32.s32 %r7, %r1, %r2;", "%r7", |a, b, _| if s32(a) < s32(b) { 0xFFFF_FFFF } else { 0 }),
    ("slct.b32.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| if s32(c) >= 0 { a & 0xFFFF_FFFF } else { b & 0xFFFF_FFFF }),
    ("mov.b64 {%r5, %r6}, %l1; mov.b64 %l7, {%r6, %r5};", "%l7", |a, _, _| a.rotate_left(32)),
    ("mov.b32 {%h5, %h6}, %r1; mov.b32 %r7, {%h6, %h5};", "%r7", |a, _, _| u64::from(u32_(a).rotate_left(16))),
];

const FLOAT: &[Case] = &[
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
    ("testp.finite.f32 %p1, %f1; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, _, _| f(a).is_finite().into()),
    ("testp.subnormal.f64 %p1, %d1; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, _, _| d(a).is_subnormal().into()),
    ("setp.lt.f32 %p1, %f1, %f2; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, b, _| (f(a) < f(b)).into()),
    ("setp.geu.f32 %p1, %f1, %f2; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, b, _| (f(a) >= f(b) || f(a).is_nan() || f(b).is_nan()).into()),
    ("setp.neu.f64 %p1, %d1, %d2; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, b, _| (d(a) != d(b)).into()),
    ("setp.nan.f32 %p1, %f1, %f2; selp.u32 %r7, 1, 0, %p1;", "%r7", |a, b, _| (f(a).is_nan() || f(b).is_nan()).into()),
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

fn bits(register: &str) -> u32 {
    match register.as_bytes()[1] {
        b'h' => 16,
        b'r' | b'f' => 32,
        _ => 64,
    }
}

/// A kernel that stores what each of the instructions gives, one after the other.
fn table(cases: &[Case]) -> Launch {
    let mut body = String::new();
    for (index, (instruction, register, _)) in cases.iter().enumerate() {
        let (bits, place) = (bits(register), index * 8);
        body += &format!("{instruction}\nst.global.b{bits} [%l0+{place}], {register};\n");
    }
    let text = format!(
        ".visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c) {{
        .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .f64 %d<8>;
        .reg .b64 %l<8>;
        ld.param.u64 %l0, [out]; ld.param.u64 %l1, [a]; ld.param.u64 %l2, [b]; ld.param.u64 %l3, [c];
        ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; ld.param.u32 %r3, [c];
        ld.param.u16 %h1, [a]; ld.param.u16 %h2, [b];
        ld.param.f32 %f1, [a]; ld.param.f32 %f2, [b]; ld.param.f32 %f3, [c];
        ld.param.f64 %d1, [a]; ld.param.f64 %d2, [b]; ld.param.f64 %d3, [c];
        setp.ne.u32 %p0, %r3, 0;
        {body} ret; }}"
    );
    let program = programs(&text).unwrap_or_else(|error| panic!("{}", error.with_text(&text)));
    super::launch(program.into_iter().next().unwrap(), 1, 1)
}

fn check(cases: &[Case], launch: &Launch, [a, b, c]: [u64; 3]) -> Result<(), TestCaseError> {
    let parameters = [START, a, b, c].into_iter().flat_map(u64::to_le_bytes).collect();
    let launch = Launch { parameters, program: Arc::clone(&launch.program), ..*launch };
    let mut memory = Flat { bytes: vec![0; cases.len() * 8] };
    let ending = run(&launch, &mut memory, Random::new(0));
    prop_assert_eq!((ending.reports, ending.fault), (vec![], None));
    for ((instruction, register, expected), found) in cases.iter().zip(memory.bytes.chunks_exact(8)) {
        let found = u64::from_le_bytes(found.try_into().unwrap_or_default());
        let expected = expected(a, b, c);
        if bits(register) == 64 && d(expected).is_nan() && register.starts_with("%d") {
            prop_assert!(d(found).is_nan(), "{instruction}");
            continue;
        }
        prop_assert_eq!(found, expected, "{} with {:#x}, {:#x}, {:#x}", instruction, a, b, c);
    }
    Ok(())
}

/// Any bits, numbers near zero and near the ends, and floats that people use.
fn operand() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0_u64..70,
        (0_u64..70).prop_map(|value| value.wrapping_neg()),
        Just(0x8000_0000),
        Just(1 << 63),
        Just(i64::MAX as u64),
        any::<i16>().prop_map(|value| u64::from((f32::from(value) / 256.0).to_bits())),
        any::<i32>().prop_map(|value| (f64::from(value) / 65536.0).to_bits()),
        any::<i16>().prop_map(|value| u64::from(f16::from_f32(f32::from(value) / 64.0).to_bits()) * 0x1_0001),
        (any::<u32>(), 0_u32..3).prop_map(|(bits, kind)| {
            u64::from(bits & 0x807F_FFFF | [0, 0x7F80_0000, 0x0080_0000][kind as usize])
        }),
    ]
}

#[test]
fn whole_numbers_are_computed_as_rust_does() {
    let launch = table(WHOLE);
    proptest!(|(a in operand(), b in operand(), c in operand())| check(WHOLE, &launch, [a, b, c])?);
}

#[test]
fn numbers_with_a_point_are_computed_as_rust_does() {
    let launch = table(FLOAT);
    proptest!(|(a in operand(), b in operand(), c in operand())| check(FLOAT, &launch, [a, b, c])?);
}

#[test]
fn a_direction_of_rounding_is_kept() {
    const CASES: &[Case] = &[
        ("fma.rm.f32 %f7, %f1, %f2, %f3;", "%f7", |_, _, _| 0),
        ("fma.rp.f32 %f7, %f1, %f2, %f3;", "%f7", |_, _, _| 0),
        ("fma.rz.f32 %f7, %f1, %f2, %f3;", "%f7", |_, _, _| 0),
        ("add.rz.f32 %f7, %f1, %f2;", "%f7", |_, _, _| 0),
        ("mul.rp.f32 %f7, %f1, %f2;", "%f7", |_, _, _| 0),
    ];
    let launch = table(CASES);
    // 1 + 2^-30, -1 - 2^-30, and a product that no float holds.
    let run_on = |a: f32, b: f32, c: f32| {
        let values = [a, b, c].map(|value| u64::from(value.to_bits()));
        let parameters =
            [START, values[0], values[1], values[2]].into_iter().flat_map(u64::to_le_bytes);
        let launch = Launch {
            parameters: parameters.collect(),
            program: Arc::clone(&launch.program),
            ..launch
        };
        let mut memory = Flat { bytes: vec![0; CASES.len() * 8] };
        run(&launch, &mut memory, Random::new(0));
        let found = memory.bytes.chunks_exact(8).map(|found| {
            f(u64::from_le_bytes(found.try_into().unwrap_or_default()))
        });
        found.collect::<Vec<f32>>()
    };
    let tiny = 2.0_f32.powi(-30);
    let next = 1.0 + f32::EPSILON;
    assert_eq!(run_on(1.0, tiny, 1.0), [1.0, next, 1.0, 1.0, tiny]);
    assert_eq!(run_on(1.0, -tiny, -1.0), [-next, -1.0, -1.0, 1.0 - f32::EPSILON / 2.0, -tiny]);
    assert_eq!(run_on(next, next, 0.0)[0], 1.0 + 2.0 * f32::EPSILON);
    assert_eq!(run_on(next, next, 0.0)[1], 1.0 + 3.0 * f32::EPSILON);
    assert_eq!(run_on(1.0, 1.0, -1.0)[0].to_bits(), (-0.0_f32).to_bits());
}

#[test]
fn fused_short_numbers_are_rounded_once() {
    const CASES: &[Case] = &[("fma.rn.f16 %h7, %h1, %h2, %h1;", "%h7", |_, _, _| 0)];
    let launch = table(CASES);
    proptest!(|(a: u16, b: u16)| {
        let [x, y] = [a, b].map(|bits| f16::from_bits(bits));
        let parameters = [START, a.into(), b.into(), 0].into_iter().flat_map(u64::to_le_bytes);
        let launch = Launch { parameters: parameters.collect(), program: Arc::clone(&launch.program), ..launch };
        let mut memory = Flat { bytes: vec![0; 8] };
        run(&launch, &mut memory, Random::new(0));
        let found = f16::from_bits(u16::from_le_bytes([memory.bytes[0], memory.bytes[1]]));
        if x.is_finite() && y.is_finite() {
            // In units of 2^-48 every such sum is a whole number, and so is the distance to it.
            let units = |value: f64| (value * 2_f64.powi(48)) as i128;
            let exact = units(f64::from(x) * f64::from(y)) + units(f64::from(x));
            let distance = |value: f16| (units(f64::from(value)) - exact).abs();
            if found.is_finite() {
                for bits in [found.to_bits().wrapping_add(1), found.to_bits().wrapping_sub(1)] {
                    let beside = f16::from_bits(bits);
                    let nearer = beside.is_finite() && distance(beside) < distance(found);
                    prop_assert!(!nearer, "{x} * {y} + {x} is nearer to {beside} than to {found}");
                }
            } else {
                prop_assert!(exact.abs() >= units(65520.0), "{x} * {y} + {x} is finite");
            }
        }
    });
}

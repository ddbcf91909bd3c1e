//! Results of integer and bit instructions.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_lossless,
    reason = "registers hold the low bits, and tests cover conversions"
)]

use super::instructions::Case;

pub(super) fn s32(bits: u64) -> i32 {
    bits as i32
}

pub(super) fn u32_(bits: u64) -> u32 {
    bits as u32
}

pub(super) fn s64(bits: u64) -> i64 {
    bits as i64
}

pub(super) fn word(value: i32) -> u64 {
    u64::from(value as u32)
}

/// Extracts a bit field one bit at a time, as the manual defines the operation.
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

pub(super) const WHOLE: &[Case] = &[
    ("add.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).wrapping_add(s32(b)))),
    ("add.sat.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).saturating_add(s32(b)))),
    ("sub.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).wrapping_sub(s32(b)))),
    ("mul.lo.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).wrapping_mul(s32(b)))),
    ("mul.hi.s32 %r7, %r1, %r2;", "%r7", |a, b, _| {
        word(((s32(a) as i64 * s32(b) as i64) >> 32) as i32)
    }),
    ("mul.hi.u32 %r7, %r1, %r2;", "%r7", |a, b, _| ((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)) >> 32),
    ("mul.wide.s32 %l7, %r1, %r2;", "%l7", |a, b, _| (s32(a) as i64 * s32(b) as i64) as u64),
    ("mul.wide.u32 %l7, %r1, %r2;", "%l7", |a, b, _| (a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)),
    ("mul.wide.u16 %r7, %h1, %h2;", "%r7", |a, b, _| (a & 0xFFFF) * (b & 0xFFFF)),
    ("mul.wide.s16 %r7, %h1, %h2;", "%r7", |a, b, _| word(a as i16 as i32 * b as i16 as i32)),
    ("mad.lo.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        word(s32(a).wrapping_mul(s32(b)).wrapping_add(s32(c)))
    }),
    ("mad.hi.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        u64::from(((((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)) >> 32) as u32).wrapping_add(u32_(c)))
    }),
    ("mad.wide.u32 %l7, %r1, %r2, %l3;", "%l7", |a, b, c| {
        ((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)).wrapping_add(c)
    }),
    ("mad.wide.s32 %l7, %r1, %r2, %l3;", "%l7", |a, b, c| {
        (s32(a) as i64 * s32(b) as i64).wrapping_add(s64(c)) as u64
    }),
    ("div.s32 %r7, %r1, %r2;", "%r7", |a, b, _| {
        word(if s32(b) == 0 { -1 } else { s32(a).wrapping_div(s32(b)) })
    }),
    ("div.u32 %r7, %r1, %r2;", "%r7", |a, b, _| {
        u64::from(u32_(a).checked_div(u32_(b)).unwrap_or(u32::MAX))
    }),
    ("rem.s32 %r7, %r1, %r2;", "%r7", |a, b, _| {
        word(if s32(b) == 0 { s32(a) } else { s32(a).wrapping_rem(s32(b)) })
    }),
    ("rem.u32 %r7, %r1, %r2;", "%r7", |a, b, _| {
        u64::from(u32_(a).checked_rem(u32_(b)).unwrap_or(u32_(a)))
    }),
    ("neg.s32 %r7, %r1;", "%r7", |a, _, _| word(s32(a).wrapping_neg())),
    ("abs.s32 %r7, %r1;", "%r7", |a, _, _| word(s32(a).wrapping_abs())),
    ("min.s32 %r7, %r1, %r2;", "%r7", |a, b, _| word(s32(a).min(s32(b)))),
    ("max.u32 %r7, %r1, %r2;", "%r7", |a, b, _| u64::from(u32_(a).max(u32_(b)))),
    ("sad.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        u64::from(u32_(a).abs_diff(u32_(b)).wrapping_add(u32_(c)))
    }),
    ("shl.b32 %r7, %r1, %r2;", "%r7", |a, b, _| {
        u64::from(u32_(a).checked_shl(u32_(b)).unwrap_or(0))
    }),
    ("shr.u32 %r7, %r1, %r2;", "%r7", |a, b, _| {
        u64::from(u32_(a).checked_shr(u32_(b)).unwrap_or(0))
    }),
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
    ("bfind.u32 %r7, %r1;", "%r7", |a, _, _| {
        u64::from(u32_(a).checked_ilog2().unwrap_or(u32::MAX))
    }),
    ("bfe.u32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| field(a, b, c, 32, false)),
    ("bfe.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| field(a, b, c, 32, true)),
    ("bfe.s64 %l7, %l1, %r2, %r3;", "%l7", |a, b, c| field(a, b, c, 64, true)),
    ("bfi.b32 %r7, %r1, %r2, %r3, 5;", "%r7", |a, b, c| {
        let mask = 0x1F_u64.checked_shl((c & 0xFF) as u32).unwrap_or(0) & 0xFFFF_FFFF;
        (b & !mask | a.checked_shl((c & 0xFF) as u32).unwrap_or(0) & mask) & 0xFFFF_FFFF
    }),
    ("prmt.b32 %r7, %r1, %r2, 0x7531;", "%r7", |a, b, _| {
        let bytes: Vec<u8> =
            (a as u32).to_le_bytes().into_iter().chain((b as u32).to_le_bytes()).collect();
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
    ("mul.hi.u64 %l7, %l1, %l2;", "%l7", |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64),
    ("mul.hi.s64 %l7, %l1, %l2;", "%l7", |a, b, _| {
        ((i128::from(s64(a)) * i128::from(s64(b))) >> 64) as u64
    }),
    ("div.u64 %l7, %l1, %l2;", "%l7", |a, b, _| a.checked_div(b).unwrap_or(u64::MAX)),
    (
        "rem.s64 %l7, %l1, %l2;",
        "%l7",
        |a, b, _| if b == 0 { a } else { s64(a).wrapping_rem(s64(b)) as u64 },
    ),
    ("min.s64 %l7, %l1, %l2;", "%l7", |a, b, _| s64(a).min(s64(b)) as u64),
    ("shl.b64 %l7, %l1, %r2;", "%l7", |a, b, _| a.checked_shl(u32_(b)).unwrap_or(0)),
    ("shr.s64 %l7, %l1, %r2;", "%l7", |a, b, _| (s64(a) >> u32_(b).min(63)) as u64),
    ("add.s16 %h7, %h1, %h2;", "%h7", |a, b, _| u64::from((a as u16).wrapping_add(b as u16))),
    ("setp.lt.s32 %p1, %r1, %r2; selp.b32 %r7, %r1, %r2, %p1;", "%r7", |a, b, _| {
        word(s32(a).min(s32(b)))
    }),
    ("setp.hi.u32 %p1|%p2, %r1, %r2; selp.u32 %r7, 1, 2, %p2;", "%r7", |a, b, _| {
        if u32_(a) > u32_(b) { 2 } else { 1 }
    }),
    ("setp.ne.and.s64 %p1, %l1, %l2, %p0; selp.u32 %r7, 1, 2, %p1;", "%r7", |a, b, c| {
        if a != b && u32_(c) != 0 { 1 } else { 2 }
    }),
    (
        "set.lt.u32.s32 %r7, %r1, %r2;",
        "%r7",
        |a, b, _| if s32(a) < s32(b) { 0xFFFF_FFFF } else { 0 },
    ),
    ("slct.b32.s32 %r7, %r1, %r2, %r3;", "%r7", |a, b, c| {
        if s32(c) >= 0 { a & 0xFFFF_FFFF } else { b & 0xFFFF_FFFF }
    }),
    ("mov.b64 {%r5, %r6}, %l1; mov.b64 %l7, {%r6, %r5};", "%l7", |a, _, _| a.rotate_left(32)),
    ("mov.b32 {%h5, %h6}, %r1; mov.b32 %r7, {%h6, %h5};", "%r7", |a, _, _| {
        u64::from(u32_(a).rotate_left(16))
    }),
];

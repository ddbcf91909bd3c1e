//! Operations on integers and bits.

use super::operation::Operation;
use super::values::{Type, low};

const UNSIGNED: [Type; 3] = [Type::U16, Type::U32, Type::U64];
const ALL: [(Type, &str); 6] = [
    (Type::U16, "u16"),
    (Type::S16, "s16"),
    (Type::U32, "u32"),
    (Type::S32, "s32"),
    (Type::U64, "u64"),
    (Type::S64, "s64"),
];

/// Returns the low bits of a number.
fn bits(value: i128) -> u64 {
    value as u64
}

/// Returns the upper half of the product.
fn upper(ty: Type, a: &[u64]) -> i128 {
    let (first, second) = (ty.whole(a[0]), ty.whole(a[1]));
    if ty.is_signed() {
        return (first * second) >> ty.bits();
    }
    // The product of two unsigned 64-bit numbers has 128 bits.
    ((first as u128 * second as u128) >> ty.bits()) as i128
}

/// Returns all integer and bit operations.
pub(super) fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    for (ty, suffix) in ALL {
        arithmetic(&mut all, ty, suffix);
    }
    for ty in UNSIGNED {
        logic(&mut all, ty);
    }
    fields(&mut all);
    words(&mut all);
    carries(&mut all);
    all
}

/// Adds sums, products, quotients and comparisons.
fn arithmetic(all: &mut Vec<Operation>, ty: Type, suffix: &'static str) {
    let (name, width) = (ty.names().0, ty.bits());
    let w = move |bits: u64| ty.whole(bits);
    let unsigned = match width {
        16 => "unsigned",
        32 => "unsigned",
        _ => "unsigned long long",
    };
    // The C++ code uses unsigned arithmetic, in which an overflow is defined.
    for (sign, function) in [
        ("+", i128::wrapping_add as fn(i128, i128) -> i128),
        ("-", i128::wrapping_sub),
        ("*", i128::wrapping_mul),
    ] {
        let text = format!("({name})(({unsigned})$0 {sign} ({unsigned})$1)");
        all.push(Operation::expression(&text, &[ty; 2], ty, move |a| {
            bits(function(w(a[0]), w(a[1])))
        }));
    }
    // The quotient of the least number and -1 is undefined, so the divisor is never -1.
    let divisor = if ty.is_signed() { "($1 & 0xFF | 1)" } else { "($1 | 1)" };
    let by = move |bits: u64| if ty.is_signed() { (w(bits) & 0xFF) | 1 } else { w(bits) | 1 };
    all.push(Operation::expression(&format!("({name})($0 / {divisor})"), &[ty; 2], ty, move |a| {
        bits(w(a[0]) / by(a[1]))
    }));
    all.push(Operation::expression(&format!("({name})($0 % {divisor})"), &[ty; 2], ty, move |a| {
        bits(w(a[0]) % by(a[1]))
    }));
    let shift = format!("({name})($0 >> ($1 & {}))", width - 1);
    all.push(Operation::expression(&shift, &[ty, Type::U32], ty, move |a| {
        bits(w(a[0]) >> (low(a[1]) & (width - 1)))
    }));
    for (sign, test) in [
        ("<", i128::lt as fn(&i128, &i128) -> bool),
        ("<=", i128::le),
        (">", i128::gt),
        (">=", i128::ge),
        ("==", i128::eq),
        ("!=", i128::ne),
    ] {
        let choice = format!("($0 {sign} $1 ? $2 : $3)");
        all.push(Operation::expression(&choice, &[ty; 4], ty, move |a| {
            if test(&w(a[0]), &w(a[1])) { a[2] } else { a[3] }
        }));
        let flag = format!("($0 {sign} $1 ? 1u : 0u)");
        all.push(Operation::expression(&flag, &[ty; 2], Type::U32, move |a| {
            u64::from(test(&w(a[0]), &w(a[1])))
        }));
    }
    let instruction = |name: &str| format!("{name}.{suffix}");
    all.push(Operation::instruction(&instruction("min"), &[ty; 2], ty, move |a| {
        bits(w(a[0]).min(w(a[1])))
    }));
    all.push(Operation::instruction(&instruction("max"), &[ty; 2], ty, move |a| {
        bits(w(a[0]).max(w(a[1])))
    }));
    all.push(Operation::instruction(&instruction("mul.hi"), &[ty; 2], ty, move |a| {
        bits(upper(ty, a))
    }));
    all.push(Operation::instruction(&instruction("mad.hi"), &[ty; 3], ty, move |a| {
        bits(upper(ty, a) + w(a[2]))
    }));
    all.push(Operation::instruction(&instruction("mad.lo"), &[ty; 3], ty, move |a| {
        bits(w(a[0]).wrapping_mul(w(a[1])).wrapping_add(w(a[2])))
    }));
    all.push(Operation::instruction(&instruction("sad"), &[ty; 3], ty, move |a| {
        bits((w(a[0]) - w(a[1])).abs() + w(a[2]))
    }));
    // Counts that exceed the width have the same effect as the width.
    all.push(Operation::instruction(&instruction("shr"), &[ty, Type::U32], ty, move |a| {
        bits(w(a[0]) >> low(a[1]).min(width))
    }));
    if ty.is_signed() {
        all.push(Operation::instruction(&instruction("neg"), &[ty], ty, move |a| bits(-w(a[0]))));
        all.push(Operation::instruction(&instruction("abs"), &[ty], ty, move |a| {
            bits(w(a[0]).abs())
        }));
    }
    let wide = match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        _ => return,
    };
    all.push(Operation::instruction(&instruction("mul.wide"), &[ty; 2], wide, move |a| {
        bits(w(a[0]) * w(a[1]))
    }));
    all.push(Operation::instruction(&instruction("mad.wide"), &[ty, ty, wide], wide, move |a| {
        bits(w(a[0]) * w(a[1]) + wide.whole(a[2]))
    }));
}

fn logic(all: &mut Vec<Operation>, ty: Type) {
    let (name, width) = (ty.names().0, ty.bits());
    for (sign, function) in [
        ("&", (|a, b| a & b) as fn(u64, u64) -> u64),
        ("|", |a, b| a | b),
        ("^", |a, b| a ^ b),
        ("& ~", |a, b| a & !b),
    ] {
        let text = format!("({name})($0 {sign}$1)");
        all.push(Operation::expression(&text, &[ty; 2], ty, move |a| function(a[0], a[1])));
    }
    all.push(Operation::expression(&format!("({name})~$0"), &[ty], ty, |a| !a[0]));
    let shift = format!("({name})($0 << ($1 & {}))", width - 1);
    all.push(Operation::expression(&shift, &[ty, Type::U32], ty, move |a| {
        a[0] << (low(a[1]) & (width - 1))
    }));
    let zero_when = move |a: &[u64]| u64::from(ty.mask(a[0]) == 0);
    all.push(Operation::instruction(&format!("cnot.b{width}"), &[ty], ty, zero_when));
    all.push(Operation::instruction(&format!("shl.b{width}"), &[ty, Type::U32], ty, move |a| {
        a[0].checked_shl(low(a[1])).unwrap_or(0)
    }));
}

/// Adds bit fields, and searches for bits.
fn fields(all: &mut Vec<Operation>) {
    for (ty, suffix) in ALL.into_iter().filter(|(ty, _)| ty.bits() >= 32) {
        let width = ty.bits();
        all.push(Operation::instruction(
            &format!("bfe.{suffix}"),
            &[ty, Type::U32, Type::U32],
            ty,
            move |a| {
                let (place, len) = (low(a[1]) & 0xFF, low(a[2]) & 0xFF);
                // The field is computed bit by bit, as the manual defines it.
                let sign_place = (place + len).saturating_sub(1).min(width - 1);
                let bit = |at: u32| ty.mask(a[0]) >> at & 1;
                let sign = if !ty.is_signed() || len == 0 { 0 } else { bit(sign_place) };
                (0..width).fold(0, |field, at| {
                    let inside = at < len && place + at < width;
                    field | (if inside { bit(place + at) } else { sign }) << at
                })
            },
        ));
        all.push(Operation::instruction(&format!("bfind.{suffix}"), &[ty], Type::U32, move |a| {
            let value = if ty.whole(a[0]) < 0 { ty.mask(!a[0]) } else { ty.mask(a[0]) };
            u64::from(value.checked_ilog2().unwrap_or(u32::MAX))
        }));
        all.push(Operation::instruction(
            &format!("bfind.shiftamt.{suffix}"),
            &[ty],
            Type::U32,
            move |a| {
                let value = if ty.whole(a[0]) < 0 { ty.mask(!a[0]) } else { ty.mask(a[0]) };
                u64::from(value.checked_ilog2().map_or(u32::MAX, |place| width - 1 - place))
            },
        ));
    }
    for (ty, width) in [(Type::U32, 32_u32), (Type::U64, 64)] {
        let operands = [ty, ty, Type::U32, Type::U32];
        all.push(Operation::instruction(&format!("bfi.b{width}"), &operands, ty, move |a| {
            let (place, len) = (low(a[2]) & 0xFF, low(a[3]) & 0xFF);
            (0..width).fold(0, |field, at| {
                let inside = at >= place && at < place + len;
                field | (if inside { a[0] >> (at - place) } else { a[1] >> at } & 1) << at
            })
        }));
        all.push(Operation::instruction(&format!("popc.b{width}"), &[ty], Type::U32, move |a| {
            (0..width).map(|at| a[0] >> at & 1).sum()
        }));
        all.push(Operation::instruction(&format!("clz.b{width}"), &[ty], Type::U32, move |a| {
            u64::from(width - ty.mask(a[0]).checked_ilog2().map_or(0, |place| place + 1))
        }));
        all.push(Operation::instruction(&format!("brev.b{width}"), &[ty], ty, move |a| {
            (0..width).fold(0, |all, at| all | (a[0] >> at & 1) << (width - 1 - at))
        }));
    }
}

/// Adds operations that only exist for 32-bit words.
fn words(all: &mut Vec<Operation>) {
    let (u, s) = (Type::U32, Type::S32);
    for (name, add) in [("add.sat.s32", true), ("sub.sat.s32", false)] {
        all.push(Operation::instruction(name, &[s; 2], s, move |a| {
            let (a, b) = (s.whole(a[0]), s.whole(a[1]));
            bits((if add { a + b } else { a - b }).clamp(s.range().0, s.range().1))
        }));
    }
    all.push(Operation::expression("__byte_perm($0, $1, $2)", &[u; 3], u, |a| {
        let bytes = [low(a[0]).to_le_bytes(), low(a[1]).to_le_bytes()].concat();
        let byte = |at: u32| u64::from(bytes[(low(a[2]) >> (4 * at) & 7) as usize]) << (8 * at);
        (0..4).map(byte).sum()
    }));
    all.push(Operation::instruction("prmt.b32", &[u; 3], u, |a| {
        let bytes = [low(a[0]).to_le_bytes(), low(a[1]).to_le_bytes()].concat();
        let byte = |at: u32| {
            let selector = low(a[2]) >> (4 * at) & 15;
            let byte = bytes[(selector & 7) as usize];
            let of_sign = if byte > 127 { 255_u8 } else { 0 };
            u64::from(if selector > 7 { of_sign } else { byte }) << (8 * at)
        };
        (0..4).map(byte).sum()
    }));
    for (mode, count) in [("wrap", (|c| c % 32) as fn(u32) -> u32), ("clamp", |c| c.min(32))] {
        let pair =
            |a: &[u64]| u128::from(a[0] & 0xFFFF_FFFF) | u128::from(a[1] & 0xFFFF_FFFF) << 32;
        all.push(Operation::instruction(&format!("shf.l.{mode}.b32"), &[u; 3], u, move |a| {
            ((pair(a) << count(low(a[2]))) >> 32) as u64
        }));
        all.push(Operation::instruction(&format!("shf.r.{mode}.b32"), &[u; 3], u, move |a| {
            (pair(a) >> count(low(a[2]))) as u64
        }));
    }
    for table in [0x1B_u32, 0x96, 0xE8, 0xCA, 0x7F] {
        let text = format!("lop3.b32 %0, %1, %2, %3, {table};");
        all.push(Operation::instruction(&text, &[u; 3], u, move |a| {
            (0..32).fold(0, |all, at| {
                let bit = |value: u64| low(value) >> at & 1;
                let row = bit(a[0]) << 2 | bit(a[1]) << 1 | bit(a[2]);
                all | u64::from(table >> row & 1) << at
            })
        }));
    }
    for (name, first, second) in [
        ("dp4a.u32.u32", u, u),
        ("dp4a.s32.s32", s, s),
        ("dp4a.s32.u32", s, u),
        ("dp4a.u32.s32", u, s),
    ] {
        let result = if first == u && second == u { u } else { s };
        all.push(Operation::instruction(name, &[first, second, result], result, move |a| {
            let byte = |value: u64, ty: Type, at: u32| match ty.is_signed() {
                true => i128::from((value >> (8 * at)) as i8),
                false => i128::from((value >> (8 * at)) as u8),
            };
            let products = (0..4).map(|at| byte(a[0], first, at) * byte(a[1], second, at));
            bits(products.sum::<i128>() + result.whole(a[2]))
        }));
    }
    for (half, shift) in [("lo", 0_u32), ("hi", 16)] {
        all.push(Operation::instruction(&format!("dp2a.{half}.s32.s32"), &[s; 3], s, move |a| {
            let word = |at: u32| i128::from((a[0] >> (16 * at)) as i16);
            let byte = |at: u32| i128::from((a[1] >> (8 * at + shift)) as i8);
            bits(word(0) * byte(0) + word(1) * byte(1) + s.whole(a[2]))
        }));
    }
    for (ty, suffix) in ALL.into_iter().filter(|(ty, _)| ty.bits() >= 32) {
        let operands = [ty, ty, s];
        all.push(Operation::instruction(&format!("slct.{suffix}.s32"), &operands, ty, move |a| {
            if s.whole(a[2]) >= 0 { a[0] } else { a[1] }
        }));
    }
}

/// Adds 64-bit sums and products that are built from 32-bit operations.
fn carries(all: &mut Vec<Operation>) {
    const SPLIT: &str = "{ .reg .b32 a, b, c, d; mov.b64 {a, b}, %1; mov.b64 {c, d}, %2; ";
    let u = Type::U64;
    let text = format!("{SPLIT} add.cc.u32 a, a, c; addc.u32 b, b, d; mov.b64 %0, {{a, b}}; }}");
    all.push(Operation::instruction(&text, &[u; 2], u, |a| a[0].wrapping_add(a[1])));
    let text = format!("{SPLIT} sub.cc.u32 a, a, c; subc.u32 b, b, d; mov.b64 %0, {{a, b}}; }}");
    all.push(Operation::instruction(&text, &[u; 2], u, |a| a[0].wrapping_sub(a[1])));
    let text = format!(
        "{SPLIT} .reg .b32 l, h; mul.lo.u32 l, a, c; mul.hi.u32 h, a, c; mad.lo.cc.u32 h, a, d, h; \
         madc.lo.u32 h, 0, 0, h; mad.lo.u32 h, b, c, h; sub.u32 h, h, 0; mov.b64 %0, {{l, h}}; }}"
    );
    all.push(Operation::instruction(&text, &[u; 2], u, |a| {
        let (first, second) = (a[0], a[1]);
        let carried = (first & 0xFFFF_FFFF).wrapping_mul(second >> 32) & 0xFFFF_FFFF;
        let high = ((first & 0xFFFF_FFFF) * (second & 0xFFFF_FFFF)) >> 32;
        let carry = (carried + high) >> 32;
        first.wrapping_mul(second).wrapping_add(carry << 32)
    }));
}

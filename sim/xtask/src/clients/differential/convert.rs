//! Conversions between all types, with all rounding directions.

use super::operation::Operation;
use super::values::{DIRECTIONS, Direction, Type, low, range, to_whole};

const WHOLE: [(Type, &str); 6] = [
    (Type::U16, "u16"),
    (Type::S16, "s16"),
    (Type::U32, "u32"),
    (Type::S32, "s32"),
    (Type::U64, "u64"),
    (Type::S64, "s64"),
];
const POINT: [(Type, &str); 4] =
    [(Type::F16, "f16"), (Type::Bf16, "bf16"), (Type::F32, "f32"), (Type::F64, "f64")];

/// Returns all conversions.
pub(super) fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    for (from, from_name) in WHOLE {
        for (to, to_name) in WHOLE {
            whole_to_whole(&mut all, (from, from_name), (to, to_name));
        }
        for (to, to_name) in POINT {
            for (suffix, direction) in DIRECTIONS {
                let name = format!("cvt.r{suffix}.{to_name}.{from_name}");
                all.push(Operation::instruction(&name, &[from], to, move |a| {
                    to.of_whole(from.whole(a[0]), direction)
                }));
            }
        }
    }
    for from in POINT {
        for to in WHOLE {
            point_to_whole(&mut all, from, to);
        }
        for to in POINT {
            point_to_point(&mut all, from, to);
        }
    }
    bytes(&mut all);
    pairs(&mut all);
    all
}

fn whole_to_whole(
    all: &mut Vec<Operation>,
    (from, from_name): (Type, &str),
    (to, to_name): (Type, &str),
) {
    let plain = format!("({})$0", to.names().0);
    all.push(Operation::expression(&plain, &[from], to, move |a| from.whole(a[0]) as u64));
    let ((least, greatest), (bottom, top)) = (to.range(), from.range());
    if least <= bottom && top <= greatest {
        return;
    }
    let name = format!("cvt.sat.{to_name}.{from_name}");
    all.push(Operation::instruction(&name, &[from], to, move |a| {
        from.whole(a[0]).clamp(least, greatest) as u64
    }));
}

/// A value beyond the range becomes the nearest number in the range, and NaN becomes 0.
fn point_to_whole(
    all: &mut Vec<Operation>,
    (from, from_name): (Type, &str),
    (to, to_name): (Type, &str),
) {
    for (suffix, direction) in DIRECTIONS {
        let name = format!("cvt.r{suffix}i.{to_name}.{from_name}");
        let (least, greatest) = to.range();
        all.push(Operation::instruction(&name, &[from], to, move |a| {
            let value = from.float(a[0]);
            // Rust's conversion clamps to the 128-bit range, and returns 0 for NaN.
            (to_whole(value, direction) as i128).clamp(least, greatest) as u64
        }));
    }
}

fn point_to_point(
    all: &mut Vec<Operation>,
    (from, from_name): (Type, &str),
    (to, to_name): (Type, &str),
) {
    if from == to {
        for (suffix, direction) in DIRECTIONS {
            let name = format!("cvt.r{suffix}i.{to_name}.{from_name}");
            all.push(Operation::instruction(&name, &[from], to, move |a| {
                to.of_float(to_whole(from.float(a[0]), direction))
            }));
        }
        return;
    }
    if to.bits() > from.bits() {
        let name = format!("cvt.{to_name}.{from_name}");
        all.push(Operation::instruction(&name, &[from], to, move |a| {
            to.of_float(from.float(a[0]))
        }));
        return;
    }
    if to.bits() == from.bits() {
        return;
    }
    for (suffix, direction) in DIRECTIONS {
        let name = format!("cvt.r{suffix}.{to_name}.{from_name}");
        all.push(Operation::instruction(&name, &[from], to, move |a| {
            to.rounded(from.float(a[0]), direction)
        }));
        if to == Type::Bf16 {
            continue;
        }
        let name = format!("cvt.r{suffix}.sat.{to_name}.{from_name}");
        all.push(Operation::instruction(&name, &[from], to, move |a| {
            let value = from.float(a[0]);
            to.rounded(if value > 0.0 { value.min(1.0) } else { 0.0 }, direction)
        }));
    }
}

/// Adds operations on bytes that are packed into 32-bit registers.
fn bytes(all: &mut Vec<Operation>) {
    let word = Type::S32;
    for (name, signed) in [("u8", false), ("s8", true)] {
        let (least, greatest) = range(8, signed);
        all.push(Operation::instruction(&format!("cvt.sat.{name}.s32"), &[word], word, move |a| {
            word.whole(a[0]).clamp(least, greatest) as u64
        }));
        all.push(Operation::instruction(&format!("cvt.s32.{name}"), &[word], word, move |a| {
            if signed { a[0] as i8 as u64 } else { a[0] & 0xFF }
        }));
        all.push(Operation::instruction(
            &format!("cvt.rni.{name}.f32"),
            &[Type::F32],
            word,
            move |a| {
                let value = to_whole(Type::F32.float(a[0]), Direction::Nearest);
                (value as i128).clamp(least, greatest) as u64
            },
        ));
        all.push(Operation::instruction(
            &format!("cvt.rn.f32.{name}"),
            &[word],
            Type::F32,
            move |a| {
                let value = if signed { i128::from(a[0] as i8) } else { i128::from(a[0] as u8) };
                Type::F32.of_whole(value, Direction::Nearest)
            },
        ));
    }
}

fn pairs(all: &mut Vec<Operation>) {
    for (suffix, direction) in [("n", Direction::Nearest), ("z", Direction::Zero)] {
        let name = format!("cvt.r{suffix}.f16x2.f32");
        all.push(Operation::instruction(&name, &[Type::F32; 2], Type::F16x2, move |a| {
            let half = |bits: u64| Type::F16.rounded(Type::F32.float(bits), direction);
            half(a[0]) << 16 | half(a[1])
        }));
    }
    let split = |function: fn(u64) -> u64| move |a: &[u64]| function(a[0]);
    all.push(Operation::expression(
        "(unsigned)($0 >> 32)",
        &[Type::U64],
        Type::U32,
        split(|a| a >> 32),
    ));
    let joined = "((unsigned long long)$0 << 32 | $1)";
    all.push(Operation::expression(joined, &[Type::U32; 2], Type::U64, |a| {
        u64::from(low(a[0])) << 32 | u64::from(low(a[1]))
    }));
}

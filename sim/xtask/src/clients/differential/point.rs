//! Floating-point operations: exact operations with each rounding direction, and approximations
//! that are within the bounds of PTX's manual.

use super::operation::Operation;
use super::values::{DIRECTIONS, Direction, Type};

/// Returns all floating-point operations.
pub(super) fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    for ty in [Type::F32, Type::F64] {
        exact(&mut all, ty);
    }
    for ty in [Type::F16, Type::Bf16] {
        short(&mut all, ty);
    }
    pairs(&mut all);
    directed(&mut all);
    singles(&mut all);
    all.extend(approximations());
    all
}

/// Adds operations that the host rounds in the same way as a device.
fn exact(all: &mut Vec<Operation>, ty: Type) {
    let x = move |bits: u64| ty.float(bits);
    // The host computes in the type itself, because an intermediate `f64` would be rounded twice.
    let sum: fn(f64, f64) -> f64 = |a, b| a + b;
    for (sign, of_double, of_single) in [
        ("+", sum, (|a, b| a + b) as fn(f32, f32) -> f32),
        ("-", |a, b| a - b, |a, b| a - b),
        ("*", |a, b| a * b, |a, b| a * b),
        ("/", |a, b| a / b, |a, b| a / b),
    ] {
        let text = format!("($0 {sign} $1)");
        all.push(Operation::expression(&text, &[ty; 2], ty, move |a| match ty {
            Type::F32 => u64::from(of_single(x(a[0]) as f32, x(a[1]) as f32).to_bits()),
            _ => of_double(x(a[0]), x(a[1])).to_bits(),
        }));
    }
    let (fused, root) = match ty {
        Type::F32 => ("fmaf($0, $1, $2)", "sqrtf($0)"),
        _ => ("fma($0, $1, $2)", "sqrt($0)"),
    };
    all.push(Operation::expression(fused, &[ty; 3], ty, move |a| match ty {
        Type::F32 => u64::from((x(a[0]) as f32).mul_add(x(a[1]) as f32, x(a[2]) as f32).to_bits()),
        _ => x(a[0]).mul_add(x(a[1]), x(a[2])).to_bits(),
    }));
    all.push(Operation::expression(root, &[ty], ty, move |a| match ty {
        Type::F32 => u64::from((x(a[0]) as f32).sqrt().to_bits()),
        _ => x(a[0]).sqrt().to_bits(),
    }));
    let suffix = if ty == Type::F32 { "f32" } else { "f64" };
    let instruction = |name: &str| format!("{name}.{suffix}");
    all.push(Operation::instruction(&instruction("rcp.rn"), &[ty], ty, move |a| match ty {
        Type::F32 => u64::from((1.0 / x(a[0]) as f32).to_bits()),
        _ => (1.0 / x(a[0])).to_bits(),
    }));
    all.push(Operation::instruction(&instruction("min"), &[ty; 2], ty, move |a| {
        ty.of_float(least(x(a[0]), x(a[1])))
    }));
    all.push(Operation::instruction(&instruction("max"), &[ty; 2], ty, move |a| {
        ty.of_float(greatest(x(a[0]), x(a[1])))
    }));
    all.push(Operation::instruction(&instruction("neg"), &[ty], ty, move |a| {
        ty.of_float(-x(a[0]))
    }));
    all.push(Operation::instruction(&instruction("abs"), &[ty], ty, move |a| {
        ty.of_float(x(a[0]).abs())
    }));
    comparisons(all, ty, "");
    all.push(Operation::expression("($0 < $1 ? $2 : $3)", &[ty; 4], ty, move |a| {
        if x(a[0]) < x(a[1]) { a[2] } else { a[3] }
    }));
    all.push(Operation::expression(
        "(isnan($0) ? 1u : isinf($0) ? 2u : 0u)",
        &[ty],
        Type::U32,
        move |a| u64::from(x(a[0]).is_nan()) + 2 * u64::from(x(a[0]).is_infinite()),
    ));
}

/// Adds all fourteen comparisons. Their results are words with all bits set or none.
fn comparisons(all: &mut Vec<Operation>, ty: Type, flush: &str) {
    let suffix = match ty {
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::F16 => "f16",
        _ => "bf16",
    };
    let flushes = !flush.is_empty();
    let x = move |bits: u64| if flushes { flushed(ty.float(bits)) } else { ty.float(bits) };
    let test: fn(&f64, &f64) -> bool = f64::lt;
    for (name, test) in [
        ("lt", test),
        ("le", f64::le),
        ("gt", f64::gt),
        ("ge", f64::ge),
        ("eq", f64::eq),
        ("ne", |a, b| a.partial_cmp(b).is_some_and(std::cmp::Ordering::is_ne)),
    ] {
        let word = |holds: bool| if holds { 0xFFFF_FFFF } else { 0 };
        let ordered = format!("set.{name}{flush}.u32.{suffix}");
        all.push(Operation::instruction(&ordered, &[ty; 2], Type::U32, move |a| {
            word(test(&x(a[0]), &x(a[1])))
        }));
        let unordered = format!("set.{name}u{flush}.u32.{suffix}");
        all.push(Operation::instruction(&unordered, &[ty; 2], Type::U32, move |a| {
            word(x(a[0]).is_nan() || x(a[1]).is_nan() || test(&x(a[0]), &x(a[1])))
        }));
    }
}

/// Returns the minimum. The minimum of a number and NaN is the number, and -0 is less than 0.
fn least(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a.total_cmp(&b).is_lt() => a,
        _ => b,
    }
}

fn greatest(a: f64, b: f64) -> f64 {
    -least(-a, -b)
}

/// Adds operations on 16-bit floats. In `f64`, sums, differences and products are exact, or their
/// rounding does not affect the result. Fused operations are rounded from the exact sum.
fn short(all: &mut Vec<Operation>, ty: Type) {
    let x = move |bits: u64| ty.float(bits);
    let put = move |value: f64| ty.rounded(value, Direction::Nearest);
    let sum: fn(f64, f64) -> f64 = |a, b| a + b;
    for (name, function) in [("add", sum), ("sub", |a, b| a - b), ("mul", |a, b| a * b)] {
        let text = format!("__h{name}($0, $1)");
        all.push(Operation::expression(&text, &[ty; 2], ty, move |a| {
            put(function(x(a[0]), x(a[1])))
        }));
    }
    all.push(Operation::expression("__hfma($0, $1, $2)", &[ty; 3], ty, move |a| {
        exact_sum(x(a[0]) * x(a[1]), x(a[2]), ty, Direction::Nearest)
    }));
    all.push(Operation::expression("__hneg($0)", &[ty], ty, move |a| ty.of_float(-x(a[0]))));
    all.push(Operation::expression("__habs($0)", &[ty], ty, move |a| ty.of_float(x(a[0]).abs())));
    all.push(Operation::expression("__hmin($0, $1)", &[ty; 2], ty, move |a| {
        ty.of_float(least(x(a[0]), x(a[1])))
    }));
    all.push(Operation::expression("__hmax($0, $1)", &[ty; 2], ty, move |a| {
        ty.of_float(greatest(x(a[0]), x(a[1])))
    }));
    all.push(Operation::expression("__hmax_nan($0, $1)", &[ty; 2], ty, move |a| {
        let (a, b) = (x(a[0]), x(a[1]));
        ty.of_float(if a.is_nan() || b.is_nan() { f64::NAN } else { greatest(a, b) })
    }));
    all.push(Operation::expression("(__hlt($0, $1) ? 1u : 0u)", &[ty; 2], Type::U32, move |a| {
        u64::from(x(a[0]) < x(a[1]))
    }));
    all.push(Operation::expression("(__hgeu($0, $1) ? 1u : 0u)", &[ty; 2], Type::U32, move |a| {
        // The comparison holds if the first is at least as great, or if either is NaN.
        u64::from(x(a[0]).partial_cmp(&x(a[1])) != Some(std::cmp::Ordering::Less))
    }));
    if ty == Type::F16 {
        all.push(Operation::expression("__hadd_sat($0, $1)", &[ty; 2], ty, move |a| {
            put(clipped(x(a[0]) + x(a[1])))
        }));
        all.push(Operation::expression("__hmul_sat($0, $1)", &[ty; 2], ty, move |a| {
            put(clipped(x(a[0]) * x(a[1])))
        }));
    }
    comparisons(all, ty, "");
}

/// Clamps to the range from 0 to 1. NaN becomes 0.
fn clipped(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

fn pairs(all: &mut Vec<Operation>) {
    let (ty, half) = (Type::F16x2, Type::F16);
    let both = move |function: fn(f64, f64) -> f64, a: &[u64]| {
        let of = |shift: u32| {
            let value = function(half.float(a[0] >> shift), half.float(a[1] >> shift));
            half.rounded(value, Direction::Nearest) << shift
        };
        of(0) | of(16)
    };
    let sum: fn(f64, f64) -> f64 = |a, b| a + b;
    for (name, function) in [
        ("__hadd2($0, $1)", sum),
        ("__hsub2($0, $1)", |a, b| a - b),
        ("__hmul2($0, $1)", |a, b| a * b),
        ("__hmin2($0, $1)", least),
        ("__hmax2($0, $1)", greatest),
        ("__hadd2_sat($0, $1)", |a, b| clipped(a + b)),
        ("__hgt2($0, $1)", |a, b| f64::from(u8::from(a > b))),
        ("__heq2($0, $1)", |a, b| f64::from(u8::from(a == b))),
    ] {
        all.push(Operation::expression(name, &[ty; 2], ty, move |a| both(function, a)));
    }
    all.push(Operation::expression("__hfma2($0, $1, $2)", &[ty; 3], ty, move |a| {
        let of = |shift: u32| {
            let [x, y, z] = [a[0], a[1], a[2]].map(|bits| half.float(bits >> shift));
            exact_sum(x * y, z, half, Direction::Nearest) << shift
        };
        of(0) | of(16)
    }));
    all.push(Operation::expression("__halves2half2($0, $1)", &[half; 2], ty, |a| {
        (a[0] & 0xFFFF) | (a[1] & 0xFFFF) << 16
    }));
    all.push(Operation::expression("__high2half($0)", &[ty], half, |a| a[0] >> 16 & 0xFFFF));
    all.push(Operation::expression("__lowhigh2highlow($0)", &[ty], ty, |a| {
        (a[0] >> 16 & 0xFFFF) | (a[0] & 0xFFFF) << 16
    }));
}

/// Returns the sum of two `f64`, rounded once to a narrower type.
fn exact_sum(a: f64, b: f64, ty: Type, direction: Direction) -> u64 {
    let sum = a + b;
    if sum == 0.0 {
        // If both are zeros of the same sign, the sign is kept. Otherwise the sum is -0 only when
        // rounding down.
        let agree = a == 0.0 && b == 0.0 && a.is_sign_negative() == b.is_sign_negative();
        let negative = if agree { a.is_sign_negative() } else { direction == Direction::Down };
        return ty.of_float(if negative { -0.0 } else { 0.0 });
    }
    if !sum.is_finite() {
        return ty.of_float(sum);
    }
    // The error of the sum is itself an `f64` (Knuth). It matters if the rounded sum lies on a
    // rounding boundary of the narrower type.
    let of_b = sum - a;
    let rest = (a - (sum - of_b)) + (b - of_b);
    if rest == 0.0 {
        return ty.rounded(sum, direction);
    }
    // This odd neighbour lies on the same side of all rounding boundaries of the narrower type as
    // the exact sum.
    let bits = sum.to_bits();
    let towards = if (rest > 0.0) == (sum > 0.0) { bits } else { bits - 1 };
    ty.rounded(f64::from_bits(towards | 1), direction)
}

/// Adds `f32` operations with each rounding direction. The product of two `f32` is exact in `f64`.
fn directed(all: &mut Vec<Operation>) {
    let ty = Type::F32;
    let x = move |bits: u64| ty.float(bits);
    for (suffix, direction) in DIRECTIONS {
        let instruction = |name: &str| format!("{name}.r{suffix}.f32");
        all.push(Operation::instruction(&instruction("add"), &[ty; 2], ty, move |a| {
            exact_sum(x(a[0]), x(a[1]), ty, direction)
        }));
        all.push(Operation::instruction(&instruction("sub"), &[ty; 2], ty, move |a| {
            exact_sum(x(a[0]), -x(a[1]), ty, direction)
        }));
        all.push(Operation::instruction(&instruction("mul"), &[ty; 2], ty, move |a| {
            ty.rounded(x(a[0]) * x(a[1]), direction)
        }));
        all.push(Operation::instruction(&instruction("fma"), &[ty; 3], ty, move |a| {
            exact_sum(x(a[0]) * x(a[1]), x(a[2]), ty, direction)
        }));
    }
    let double = Type::F64;
    for (name, sign) in [("add.rz.f64", 1.0), ("sub.rz.f64", -1.0)] {
        all.push(Operation::instruction(name, &[double; 2], double, move |a| {
            let (a, b) = (double.float(a[0]), sign * double.float(a[1]));
            towards_zero(a, b).to_bits()
        }));
    }
}

/// Returns the sum of two `f64`, rounded towards zero.
fn towards_zero(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        return f64::MAX.copysign(sum);
    }
    let of_b = sum - a;
    let rest = (a - (sum - of_b)) + (b - of_b);
    let is_beyond = sum != 0.0 && sum.is_finite() && rest != 0.0 && (rest > 0.0) != (sum > 0.0);
    if is_beyond { f64::from_bits(sum.to_bits() - 1) } else { sum }
}

/// Flushes a subnormal `f32` to zero.
fn flushed(value: f64) -> f64 {
    if value.abs() < f64::from(f32::MIN_POSITIVE) { 0_f64.copysign(value) } else { value }
}

/// Adds variants of `f32` operations that flush subnormal numbers to zero or clamp results to the
/// range from 0 to 1.
fn singles(all: &mut Vec<Operation>) {
    let ty = Type::F32;
    let x = move |bits: u64| ty.float(bits);
    let put = move |value: f64| ty.of_float(value);
    let flush_bits = move |bits: u64| put(flushed(x(bits)));
    let sum: fn(f32, f32) -> f32 = |a, b| a + b;
    for (name, function) in [("add", sum), ("sub", |a, b| a - b), ("mul", |a, b| a * b)] {
        let of = move |a: f64, b: f64| u64::from(function(a as f32, b as f32).to_bits());
        all.push(Operation::instruction(&format!("{name}.ftz.f32"), &[ty; 2], ty, move |a| {
            flush_bits(of(flushed(x(a[0])), flushed(x(a[1]))))
        }));
        all.push(Operation::instruction(&format!("{name}.sat.f32"), &[ty; 2], ty, move |a| {
            put(clipped(x(of(x(a[0]), x(a[1])))))
        }));
    }
    all.push(Operation::instruction("fma.rn.ftz.f32", &[ty; 3], ty, move |a| {
        let [x, y, z] = [a[0], a[1], a[2]].map(|bits| flushed(x(bits)) as f32);
        flush_bits(u64::from(x.mul_add(y, z).to_bits()))
    }));
    all.push(Operation::instruction("fma.rn.sat.f32", &[ty; 3], ty, move |a| {
        let [a, b, c] = [a[0], a[1], a[2]].map(|bits| x(bits) as f32);
        put(clipped(f64::from(a.mul_add(b, c))))
    }));
    all.push(Operation::instruction("div.rn.ftz.f32", &[ty; 2], ty, move |a| {
        let quotient = flushed(x(a[0])) as f32 / flushed(x(a[1])) as f32;
        flush_bits(u64::from(quotient.to_bits()))
    }));
    all.push(Operation::instruction("sqrt.rn.ftz.f32", &[ty], ty, move |a| {
        u64::from((flushed(x(a[0])) as f32).sqrt().to_bits())
    }));
    all.push(Operation::instruction("min.NaN.f32", &[ty; 2], ty, move |a| {
        let (a, b) = (x(a[0]), x(a[1]));
        put(if a.is_nan() || b.is_nan() { f64::NAN } else { least(a, b) })
    }));
    for (name, ty) in [("copysign.f32", ty), ("copysign.f64", Type::F64)] {
        let sign = 1_u64 << (ty.bits() - 1);
        let copied = move |a: &[u64]| (a[0] & sign) | (a[1] & !sign);
        let copying = Operation::instruction(name, &[ty; 2], ty, copied);
        all.push(Operation { takes_inputs: true, ..copying });
    }
    comparisons(all, ty, ".ftz");
}

/// Returns 2 to the power of `places`.
fn ulps(places: i32) -> f64 {
    2_f64.powi(places)
}

/// Returns operations that a device approximates. Their operands have moderate size: `moderate` in
/// the prelude maps any number to such an operand.
fn approximations() -> Vec<Operation> {
    let ty = Type::F32;
    let one = |name: &str, relative: f64, absolute: f64, function: fn(f64) -> f64| {
        let text = format!("{name}(moderate($0))");
        let of = move |a: &[u64]| ty.of_float(function(moderate(ty.float(a[0]))));
        Operation::expression(&text, &[ty], ty, of).within(relative, absolute)
    };
    // The manual's bound for each instruction, plus one rounding for the host's result.
    vec![
        one("__sinf", 0.0, ulps(-20), f64::sin),
        one("__cosf", 0.0, ulps(-20), f64::cos),
        one("ex2_approx", ulps(-21), 0.0, f64::exp2),
        one("lg2_approx", ulps(-21), ulps(-21), |a| a.abs().log2()),
        one("rcp_approx", ulps(-22), 0.0, |a| 1.0 / a),
        one("rsqrt_approx", ulps(-21), 0.0, |a| 1.0 / a.abs().sqrt()),
        one("sqrt_approx", ulps(-21), 0.0, |a| a.abs().sqrt()),
        one("tanh_approx", ulps(-10), 0.0, f64::tanh),
        Operation::expression("__fdividef(moderate($0), moderate($1))", &[ty; 2], ty, move |a| {
            ty.of_float(moderate(ty.float(a[0])) / moderate(ty.float(a[1])))
        })
        .within(ulps(-21), 0.0),
        Operation::expression("expf(moderate($0))", &[ty], ty, move |a| {
            ty.of_float(moderate(ty.float(a[0])).exp())
        })
        .within(ulps(-21), 0.0),
        Operation::expression("sinf(moderate($0))", &[ty], ty, move |a| {
            ty.of_float(moderate(ty.float(a[0])).sin())
        })
        .within(ulps(-21), ulps(-40)),
        Operation::expression("exp(double(moderate($0)))", &[ty], Type::F64, move |a| {
            moderate(ty.float(a[0])).exp().to_bits()
        })
        .within(ulps(-50), 0.0),
        Operation::expression(
            "log(double(moderate($0)) * moderate($0))",
            &[ty],
            Type::F64,
            move |a| {
                let x = moderate(ty.float(a[0]));
                (x * x).ln().to_bits()
            },
        )
        .within(ulps(-50), ulps(-50)),
    ]
}

/// Returns a number whose size is between 0.25 and 4, like the prelude's function of this name.
fn moderate(value: f64) -> f64 {
    let bits = (value as f32).to_bits();
    let bits = if value.is_nan() { 0 } else { bits };
    let exponent = 125 + (bits >> 23 & 3);
    f64::from(f32::from_bits((bits & 0x807F_FFFF) | exponent << 23))
}

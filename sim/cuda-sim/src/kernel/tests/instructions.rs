//! Single instructions, whose results are compared with results computed in Rust.

#![expect(clippy::cast_possible_truncation, reason = "registers hold the low bits")]

use std::sync::Arc;

use half::f16;
use proptest::prelude::*;

use super::carries::CARRIES;
use super::point::{FLOAT, d, f};
use super::whole::WHOLE;
use super::{Flat, START, programs};
use crate::kernel::{Launch, run};
use crate::random::Random;
use crate::world::INSTRUCTIONS;

/// An instruction that reads registers 1 to 3, its result register, and the expected value.
pub(super) type Case = (&'static str, &'static str, fn(u64, u64, u64) -> u64);

fn bits(register: &str) -> u32 {
    match register.as_bytes()[1] {
        b'h' => 16,
        b'r' | b'f' => 32,
        _ => 64,
    }
}

/// Builds a kernel that stores the results of the instructions one after the other.
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
    let ending = run(&launch, &mut memory, Random::new(0), INSTRUCTIONS);
    prop_assert_eq!((ending.reports, ending.fault), (vec![], None));
    for ((instruction, register, expected), found) in cases.iter().zip(memory.bytes.chunks_exact(8))
    {
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

/// Generates arbitrary bits, integers near zero and near the limits, and common floats.
fn operand() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0_u64..70,
        (0_u64..70).prop_map(u64::wrapping_neg),
        Just(0x8000_0000),
        Just(1 << 63),
        Just(i64::MAX as u64),
        any::<i16>().prop_map(|value| u64::from((f32::from(value) / 256.0).to_bits())),
        any::<i32>().prop_map(|value| (f64::from(value) / 65536.0).to_bits()),
        any::<i16>().prop_map(
            |value| u64::from(f16::from_f32(f32::from(value) / 64.0).to_bits()) * 0x1_0001
        ),
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
fn carries_and_small_numbers_are_computed_as_rust_does() {
    let launch = table(CARRIES);
    proptest!(|(a in operand(), b in operand(), c in operand())| check(CARRIES, &launch, [a, b, c])?);
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
    // 1 + 2^-30, -1 - 2^-30, and a product that `f32` cannot represent.
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
        run(&launch, &mut memory, Random::new(0), INSTRUCTIONS);
        let found = memory
            .bytes
            .chunks_exact(8)
            .map(|found| f(u64::from_le_bytes(found.try_into().unwrap_or_default())));
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
        let [x, y] = [a, b].map(f16::from_bits);
        let parameters = [START, a.into(), b.into(), 0].into_iter().flat_map(u64::to_le_bytes);
        let launch = Launch { parameters: parameters.collect(), program: Arc::clone(&launch.program), ..launch };
        let mut memory = Flat { bytes: vec![0; 8] };
        run(&launch, &mut memory, Random::new(0), INSTRUCTIONS);
        let found = f16::from_bits(u16::from_le_bytes([memory.bytes[0], memory.bytes[1]]));
        if x.is_finite() && y.is_finite() {
            // In units of 2^-48, every such sum is an integer, and so is the distance to it.
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

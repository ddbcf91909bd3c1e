//! Random expressions, which are written as C++ and computed by the host.

use fastrand::Rng;

use super::operation::Operation;
use super::values::{TYPES, Type};

/// The number of inputs that a thread has for each type.
pub(super) const INPUTS: usize = 3;
/// The maximum nesting depth.
const DEPTH: u32 = 3;

/// A tree of operations.
pub(super) enum Expression<'o> {
    /// An input, given by the index of its type and its index among the inputs of that type.
    Input {
        ty: usize,
        index: usize,
    },
    Applied {
        operation: &'o Operation,
        operands: Vec<Self>,
    },
}

impl<'o> Expression<'o> {
    /// Generates a random expression whose outermost operation is `root`.
    pub(super) fn random(root: &'o Operation, all: &'o [Operation], random: &mut Rng) -> Self {
        Self::applied(root, all, DEPTH - 1, random)
    }

    fn applied(
        operation: &'o Operation,
        all: &'o [Operation],
        depth: u32,
        random: &mut Rng,
    ) -> Self {
        let depth = if operation.takes_inputs { 0 } else { depth };
        let operands = operation.operands.iter();
        let operands = operands.map(|ty| Self::of(*ty, all, depth, random)).collect();
        Self::Applied { operation, operands }
    }

    /// Generates a random expression of a type. Operations with an inexact result are only used as
    /// the outermost operation.
    pub(super) fn of(ty: Type, all: &'o [Operation], depth: u32, random: &mut Rng) -> Self {
        let fits = |one: &&Operation| one.result == ty && one.bound == super::values::Bound::Exact;
        let fitting: Vec<&Operation> = all.iter().filter(fits).collect();
        if depth > 0 && random.u8(..) < 200 {
            if let Some(operation) = random.choice(fitting) {
                return Self::applied(operation, all, depth - 1, random);
            }
        }
        let place = TYPES.iter().position(|one| *one == ty).unwrap_or(0);
        Self::Input { ty: place, index: random.usize(..INPUTS) }
    }

    /// Returns the expression as C++, using the input names that the kernel declares.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Input { ty, index } => format!("x{ty}_{index}"),
            Self::Applied { operation, operands } => {
                operation.apply(&operands.iter().map(Self::text).collect::<Vec<_>>())
            }
        }
    }

    /// Returns the value that the host computes. The inputs are bits, sorted by type.
    pub(super) fn value(&self, inputs: &[u64]) -> u64 {
        match self {
            Self::Input { ty, index } => TYPES[*ty].mask(inputs[ty * INPUTS + index]),
            Self::Applied { operation, operands } => {
                let operands: Vec<u64> =
                    operands.iter().map(|operand| operand.value(inputs)).collect();
                operation.result.mask((operation.function)(&operands))
            }
        }
    }
}

/// Generates a number of a type: random bits, a value near zero or a power of two, or a special
/// value.
pub(super) fn input(ty: Type, random: &mut Rng) -> u64 {
    const OF_POINT: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        65504.0,
        1e-6,
        3e-39,
        -1e-45,
        3.4e38,
        255.5,
        f64::INFINITY,
        f64::NAN,
    ];
    let any = random.u64(..);
    match random.u8(..8) {
        0..=2 => any,
        3 | 4 if ty.is_float() => {
            let special = OF_POINT[random.usize(..OF_POINT.len())];
            ty.rounded(special, super::values::Direction::Nearest)
        }
        5..=7 if ty.is_float() => {
            let scale = f64::from(random.i32(-12..12)).exp2();
            let value = (random.f64() - 0.5) * scale;
            ty.rounded(value, super::values::Direction::Nearest)
        }
        3 | 4 if ty == Type::F16x2 => {
            let half = |random: &mut Rng| input(Type::F16, random) & 0xFFFF;
            half(random) | half(random) << 16
        }
        3 | 4 => {
            // The values zero, greatest, least, and their neighbours.
            let edges = [0, u64::MAX, 1 << (ty.bits() - 1), (1 << (ty.bits() - 1)) - 1];
            edges[random.usize(..4)].wrapping_add(random.u64(..5)).wrapping_sub(2)
        }
        5 => any >> random.u32(..64),
        _ => random.u64(..100),
    }
}

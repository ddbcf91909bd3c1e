//! Atomic operations by many threads on few cells. The final values do not depend on the order.

use super::values::Type;

/// An operation, its effect on a cell, and its type.
pub(super) struct Atomic {
    /// C++ code that uses the address `p` and the number `x`.
    pub(super) text: &'static str,
    pub(super) ty: Type,
    /// Computes a thread's number from its input. If sums must be exact, the number is small.
    pub(super) number: fn(u64) -> u64,
    pub(super) change: fn(u64, u64) -> u64,
}

fn any(bits: u64) -> u64 {
    bits
}

fn signed(bits: u64) -> i64 {
    Type::S64.whole(bits) as i64
}

fn word(bits: u64) -> i32 {
    Type::S32.whole(bits) as i32
}

/// Returns an integer below 64 as a floating-point number of a type.
fn small<const TYPE: usize>(bits: u64) -> u64 {
    super::values::TYPES[TYPE].of_float((bits % 64) as f64)
}

fn sum<const TYPE: usize>(a: u64, b: u64) -> u64 {
    let ty = super::values::TYPES[TYPE];
    ty.of_float(ty.float(a) + ty.float(b))
}

/// The indices of types in the list of types.
const F16: usize = 6;
const F32: usize = 8;
const F64: usize = 9;

const fn atomic(
    text: &'static str,
    ty: Type,
    number: fn(u64) -> u64,
    change: fn(u64, u64) -> u64,
) -> Atomic {
    Atomic { text, ty, number, change }
}

/// All atomic operations.
pub(super) const ATOMICS: [Atomic; 26] = [
    atomic("atomicAdd(p, x)", Type::U32, any, u64::wrapping_add),
    atomic("atomicAdd(p, x)", Type::S32, any, u64::wrapping_add),
    atomic("atomicAdd(p, x)", Type::U64, any, u64::wrapping_add),
    atomic("atomicAdd(p, x)", Type::F32, small::<F32>, sum::<F32>),
    atomic("atomicAdd(p, x)", Type::F64, small::<F64>, sum::<F64>),
    atomic("atomicAdd(p, x)", Type::F16, small::<F16>, sum::<F16>),
    atomic("atomicSub(p, x)", Type::U32, any, u64::wrapping_sub),
    atomic("atomicSub(p, x)", Type::S32, any, u64::wrapping_sub),
    atomic("atomicMin(p, x)", Type::U32, any, u64::min),
    atomic("atomicMax(p, x)", Type::U32, any, u64::max),
    atomic("atomicMin(p, x)", Type::S32, any, |a, b| word(a).min(word(b)) as u64),
    atomic("atomicMax(p, x)", Type::S32, any, |a, b| word(a).max(word(b)) as u64),
    atomic("atomicMin(p, x)", Type::U64, any, u64::min),
    atomic("atomicMax(p, x)", Type::U64, any, u64::max),
    atomic("atomicMin(p, x)", Type::S64, any, |a, b| signed(a).min(signed(b)) as u64),
    atomic("atomicMax(p, x)", Type::S64, any, |a, b| signed(a).max(signed(b)) as u64),
    atomic("atomicAnd(p, x)", Type::U32, any, |a, b| a & b),
    atomic("atomicOr(p, x)", Type::U32, any, |a, b| a | b),
    atomic("atomicXor(p, x)", Type::U32, any, |a, b| a ^ b),
    atomic("atomicAnd(p, x)", Type::U64, any, |a, b| a & b),
    atomic("atomicOr(p, x)", Type::U64, any, |a, b| a | b),
    atomic("atomicXor(p, x)", Type::U64, any, |a, b| a ^ b),
    atomic("atomicInc(p, 5u)", Type::U32, any, |a, _| if a >= 5 { 0 } else { a + 1 }),
    atomic("atomicDec(p, 5u)", Type::U32, any, |a, _| if a == 0 || a > 5 { 5 } else { a - 1 }),
    // A compare-and-swap loop.
    atomic(
        "for (unsigned a = *(volatile unsigned *)p, b; (b = atomicCAS(p, a, a * 3 + 1)) != a; a = b) {}",
        Type::U32,
        any,
        |a, _| a.wrapping_mul(3).wrapping_add(1),
    ),
    atomic(
        "for (unsigned long long a = *(volatile unsigned long long *)p, b; (b = atomicCAS(p, a, a + x)) != a; a = b) {}",
        Type::U64,
        any,
        u64::wrapping_add,
    ),
];

impl Atomic {
    /// Returns two kernels: one uses global memory, the other shared memory that is copied in and
    /// out.
    pub(super) fn source(&self, index: usize, cells: usize) -> String {
        let (name, _) = self.ty.names();
        let Self { text, .. } = self;
        format!(
            "extern \"C\" __global__ void global{index}({name} *cells, const {name} *numbers) {{\n\
             int i = threadIdx.x + blockIdx.x * blockDim.x; {name} *p = cells + i % {cells}; {name} x = numbers[i];\n\
             {text};\n}}\n\
             extern \"C\" __global__ void shared{index}({name} *cells, const {name} *numbers) {{\n\
             __shared__ {name} own[{cells}];\n\
             if (threadIdx.x < {cells}) own[threadIdx.x] = cells[threadIdx.x];\n\
             __syncthreads();\n\
             int i = threadIdx.x; {name} *p = own + i % {cells}; {name} x = numbers[i];\n\
             {text};\n\
             __syncthreads();\n\
             if (threadIdx.x < {cells}) cells[threadIdx.x] = own[threadIdx.x];\n}}\n"
        )
    }
}

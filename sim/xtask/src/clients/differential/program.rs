//! Random programs with many threads. They are sequences of operations by warps and blocks, whose
//! operands are expressions of earlier results.
//!
//! If an operation's result is defined for every thread, it replaces an input, so later expressions
//! read it. Operations of a warp run in straight code, in both branches of a divergence by lanes,
//! or in groups of threads that the data determines.

use fastrand::Rng;

use super::collective::{Collective, Member, Party};
use super::expression::{Expression, INPUTS, input};
use super::operation::Operation;
use super::prelude::{bits_of, declarations};
use super::values::{Bound, TYPES, Type, agrees};
use super::warp::LANES;

/// The number of threads in the block: two and a half warps.
pub(super) const THREADS: usize = 80;
/// The maximum nesting depth of an operand.
const DEPTH: u32 = 2;
/// The number of groups that the data can form.
const GROUPS: u64 = 3;

/// A kernel, and the results expected for its steps.
pub(super) struct Program {
    pub(super) text: String,
    pub(super) steps: Vec<Step>,
}

/// An operation by many threads in a program.
pub(super) struct Step {
    /// The operation's C++ code.
    pub(super) text: String,
    pub(super) result: Type,
    /// The result expected for each thread.
    pub(super) expected: Vec<Option<u64>>,
}

/// The control flow through which the threads of a warp reach an operation.
enum Way<'o> {
    All,
    /// The threads of a mask take one branch, and the other threads take the other branch.
    Parted(u32),
    /// All threads are at the same position, and each names the threads whose number equals its
    /// own.
    Grouped(Expression<'o>),
}

/// Generates the inputs of each thread, sorted by type.
pub(super) fn inputs(random: &mut Rng) -> Vec<Vec<u64>> {
    let of_thread = |random: &mut Rng| {
        let types = TYPES.iter().flat_map(|ty| [*ty; INPUTS]);
        types.map(|ty| input(ty, random)).collect()
    };
    (0..THREADS).map(|_| of_thread(random)).collect()
}

impl Program {
    /// Generates a program that contains these operations in this order.
    pub(super) fn random(
        name: &str,
        roots: &[Collective],
        operations: &[Operation],
        inputs: &[Vec<u64>],
        random: &mut Rng,
    ) -> Self {
        let mut state = inputs.to_vec();
        let step = |(index, root)| step((index, root), operations, &mut state, random);
        let steps: Vec<Step> = roots.iter().enumerate().map(step).collect();
        let body: String = steps.iter().map(|step| step.text.as_str()).collect();
        let (full, rest) = (THREADS / LANES * LANES, (1_u32 << (THREADS % LANES)) - 1);
        let text = format!(
            "extern \"C\" __global__ void {name}(unsigned long long *out, const unsigned long long *in) {{\n\
             __shared__ unsigned long long slots[{THREADS}];\n\
             unsigned i = threadIdx.x, lane = i % {LANES}, whole = i < {full} ? 0xFFFFFFFFu : {rest:#x}u;\n{}{body}}}\n",
            declarations()
        );
        Self { text, steps }
    }

    /// Returns the first step whose results differ from the host's results. Later differences may
    /// be consequences of that step.
    pub(super) fn difference(&self, found: &[u64]) -> Option<String> {
        self.steps.iter().zip(found.chunks(THREADS)).find_map(|(step, found)| {
            let differs = |(found, expected): (&u64, &Option<u64>)| {
                expected.is_some_and(|bits| !agrees(step.result, *found, bits, Bound::Exact))
            };
            let thread = found.iter().zip(&step.expected).position(differs)?;
            let expected = step.expected[thread].unwrap_or(0);
            Some(format!(
                "thread {thread} has {:#x} instead of {expected:#x} after\n{}",
                step.result.mask(found[thread]),
                step.text
            ))
        })
    }
}

/// Generates operands and control flow, and computes the results of all threads.
fn step(
    (index, root): (usize, &Collective),
    operations: &[Operation],
    state: &mut [Vec<u64>],
    random: &mut Rng,
) -> Step {
    let operands = root.operands.iter();
    let operands: Vec<_> = operands.map(|ty| operand(*ty, operations, random)).collect();
    let way = match random.u8(..3) {
        _ if root.party == Party::Block => Way::All,
        0 => Way::All,
        1 => Way::Parted(random.u32(..)),
        _ => Way::Grouped(operand(Type::U32, operations, random)),
    };
    let mut expected = vec![None; state.len()];
    for threads in groups(root.party, &way, state) {
        let member = |thread: &usize| Member {
            place: if root.party == Party::Block { *thread } else { thread % LANES },
            operands: operands.iter().map(|operand| operand.value(&state[*thread])).collect(),
        };
        let members: Vec<Member> = threads.iter().map(member).collect();
        let results = (root.function)(&members);
        for (thread, result) in threads.iter().zip(results) {
            expected[*thread] = result.map(|bits| root.result.mask(bits));
        }
    }
    let mut text = written(root, &operands, &way, index);
    let all: Option<Vec<u64>> = expected.iter().copied().collect();
    if let Some(all) = all {
        let (place, which) = (of_type(root.result), random.usize(..INPUTS));
        text.push_str(&format!("x{place}_{which} = value;\n"));
        for (inputs, bits) in state.iter_mut().zip(all) {
            inputs[place * INPUTS + which] = bits;
        }
    }
    text.push_str("}\n");
    Step { text, result: root.result, expected }
}

/// Generates an operand. Integers are expressions. Other operands are inputs, because their bits
/// are known even for NaN.
fn operand<'o>(ty: Type, operations: &'o [Operation], random: &mut Rng) -> Expression<'o> {
    let depth = if ty.is_float() || ty == Type::F16x2 { 0 } else { DEPTH };
    Expression::of(ty, operations, depth, random)
}

/// Returns the groups of threads that take part in an operation together.
fn groups(party: Party, way: &Way<'_>, state: &[Vec<u64>]) -> Vec<Vec<usize>> {
    if party == Party::Block {
        return vec![(0..state.len()).collect()];
    }
    let key = |thread: usize| match way {
        Way::All => 0,
        Way::Parted(mask) => u64::from(mask >> (thread % LANES) & 1),
        Way::Grouped(number) => number.value(&state[thread]) % GROUPS,
    };
    let warps = (0..state.len()).step_by(LANES);
    let of_warp = |first: usize| {
        let end = state.len().min(first + LANES);
        (0..GROUPS).map(move |group| (first..end).filter(|one| key(*one) == group).collect())
    };
    warps.flat_map(of_warp).collect()
}

/// Returns the C++ code of a step, without its closing brace.
fn written(root: &Collective, operands: &[Expression<'_>], way: &Way<'_>, index: usize) -> String {
    let Collective { text: statements, result, .. } = root;
    let mut text = format!("{{ {} value;\n", result.names().0);
    for (place, (operand, ty)) in operands.iter().zip(&root.operands).enumerate() {
        text.push_str(&format!("{} a{place} = {};\n", ty.names().0, operand.text()));
    }
    text.push_str(&match way {
        Way::All => format!("{{ unsigned m = whole; {statements} }}\n"),
        Way::Parted(mask) => {
            let others = !mask;
            format!(
                "if ({mask:#x}u >> lane & 1u) {{ unsigned m = {mask:#x}u & whole; {statements} }}\n\
                 else {{ unsigned m = {others:#x}u & whole; {statements} }}\n"
            )
        }
        Way::Grouped(number) => format!(
            "{{ unsigned m = __match_any_sync(whole, {} % {GROUPS}u); {statements} }}\n",
            number.text()
        ),
    });
    let bits = bits_of(result.bits());
    text.push_str(&format!("out[{index} * {THREADS} + i] = as<{bits}>(value);\n"));
    text
}

fn of_type(ty: Type) -> usize {
    TYPES.iter().position(|one| *one == ty).unwrap_or(0)
}

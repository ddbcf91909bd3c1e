//! A kernel that is ready to run. Its steps refer to registers by number and to positions by index.
//!
//! Constants and special registers are also stored in registers, which are filled before a block
//! starts. Every operand of every step is therefore a register. A number occupies the low bits of
//! its register, and the upper bits are undefined.

use std::sync::Arc;

use super::convert::Conversion;
use super::function::{Four, One, Three, Two};
use super::rounding::Round;
use super::types::{Space, Type};

/// The number of a register.
pub(crate) type Register = usize;

pub(crate) type Test = fn(u64, u64) -> bool;

/// A decoded kernel.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) registers: usize,
    pub(crate) constants: Vec<(Register, u64)>,
    pub(crate) specials: Vec<(Register, Special)>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) parameter_bytes: usize,
    /// The start of dynamic shared memory, and the alignment required there.
    pub(crate) shared_bytes: usize,
    pub(crate) local_bytes: usize,
    pub(crate) most_threads: Option<[u32; 3]>,
    pub(crate) exact_threads: Option<[u32; 3]>,
    /// `true` if the kernel waits for the kernel that it programmatically depends on.
    pub(crate) waits_for_dependency: bool,
    pub(crate) version: u32,
    pub(crate) text: Arc<str>,
}

/// The position of one parameter in a kernel's parameter memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// A decoded instruction.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) line: u32,
    pub(crate) guard: Option<Guard>,
    pub(crate) kind: Kind,
}

/// The predicate that selects the threads that execute an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) register: Register,
    pub(crate) negated: bool,
}

/// A register whose value the device provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// The coordinate of a thread in its block, along one axis.
    Thread(usize),
    Threads(usize),
    Block(usize),
    Blocks(usize),
    Lane,
    Warp,
    Warps,
    LanesEqual,
    LanesBelow,
    LanesUpTo,
    LanesAbove,
    LanesFrom,
    /// Always 0, because there is one multiprocessor and one grid.
    Zero,
    DynamicShared,
    TotalShared,
}

/// The operation of a step.
#[derive(Debug)]
pub(crate) enum Kind {
    Nothing,
    One {
        function: One,
        to: Register,
        a: Register,
    },
    Two {
        function: Two,
        to: Register,
        a: Register,
        b: Register,
    },
    Three {
        function: Three,
        to: Register,
        a: Register,
        b: Register,
        c: Register,
    },
    Four {
        function: Four,
        to: Register,
        sources: [Register; 4],
    },
    /// An addition or subtraction with a carry in and a carry out.
    Carry(Box<Carry>),
    Select {
        to: Register,
        a: Register,
        b: Register,
        by: Guard,
    },
    Convert {
        conversion: Conversion,
        to: Register,
        a: Register,
    },
    ConvertPair {
        ty: Type,
        round: Round,
        to: Register,
        upper: Register,
        lower: Register,
    },
    Compare(Box<Compare>),
    ComparePair(Box<ComparePair>),
    /// Splits a register into parts of equal width, the lowest first.
    Pack {
        to: Register,
        parts: Box<[Register]>,
        bits: u32,
    },
    Unpack {
        parts: Box<[Register]>,
        bits: u32,
        a: Register,
    },
    Clock {
        to: Register,
    },
    Load(Box<Transfer>),
    Store(Box<Transfer>),
    Atomic(Box<Atomic>),
    Fence,
    Branch {
        to: usize,
    },
    BranchIndexed {
        index: Register,
        targets: Box<[usize]>,
    },
    Call(Box<Call>),
    /// A call that reports a failed assertion.
    AssertFail(Box<AssertFail>),
    /// A call of `printf`.
    Print(Box<Print>),
    Return,
    Exit,
    Trap,
    Barrier {
        id: Register,
        votes: Option<BarrierVote>,
    },
    WarpBarrier {
        mask: Register,
    },
    Shuffle(Box<Shuffle>),
    Vote(Box<Vote>),
    Match {
        all: bool,
        wide: bool,
        to: Register,
        agrees: Option<Register>,
        a: Register,
        mask: Register,
    },
    Reduce {
        function: Two,
        to: Register,
        a: Register,
        mask: Register,
    },
    ActiveMask {
        to: Register,
    },
}

/// `setp` and `set`.
#[derive(Debug)]
pub(crate) struct Compare {
    pub(crate) test: Test,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) combine: Option<(Two, Guard)>,
    pub(crate) to: Register,
    /// The bits that stand for true.
    pub(crate) truth: u64,
    /// The register that receives the negated result.
    pub(crate) other: Option<Register>,
}

/// An address that consists of an optional register and an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) base: Option<Register>,
    /// `true` if the register has 64 bits.
    pub(crate) wide: bool,
    pub(crate) offset: i64,
}

/// A load or store of one element or of a vector.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) space: Space,
    pub(crate) place: Place,
    /// The size of an element in bytes.
    pub(crate) bytes: usize,
    pub(crate) signed: bool,
    pub(crate) registers: Vec<Register>,
    /// `true` for volatile, relaxed or stronger accesses. Two such accesses do not race.
    pub(crate) strong: bool,
    /// `true` for `.acquire` and `.release`.
    pub(crate) orders: bool,
}

/// How an atomic operation computes the new value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// A function of the old value and the operand.
    By(Two),
    /// The second operand replaces the old value if the old value equals the first operand.
    IfEqual,
}

/// An atomic operation. It computes the new value from the old value and two operands.
#[derive(Debug)]
pub(crate) struct Atomic {
    pub(crate) space: Space,
    pub(crate) place: Place,
    pub(crate) bytes: usize,
    pub(crate) signed: bool,
    pub(crate) change: Change,
    /// The register that receives the old value; `None` for `red`.
    pub(crate) to: Option<Register>,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) orders: bool,
}

/// A copy within a thread's local memory: source, target, length.
pub(crate) type Move = (usize, usize, usize);

/// A function of three numbers and a carry, which also returns the carry out.
pub(crate) type Carried = fn(u64, u64, u64, u64) -> (u64, u64);

/// An addition or subtraction that reads or produces a carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) function: Carried,
    pub(crate) to: Register,
    pub(crate) sources: [Register; 3],
    /// The register of the carry in, or a constant 0 if there is none.
    pub(crate) carry: Register,
    /// The register that receives the carry out.
    pub(crate) out: Option<Register>,
}

/// A comparison of two pairs of 16-bit floats, half by half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparePair {
    pub(crate) test: Test,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) to: Register,
    /// The bits of a half for which the comparison holds.
    pub(crate) truth: u64,
}

/// The positions of a failed assertion's parameters in the thread's local memory: the addresses of
/// three texts, and a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssertFail {
    pub(crate) message: usize,
    pub(crate) file: usize,
    pub(crate) line: usize,
    pub(crate) function: usize,
}

/// The positions of the parameters and the result of `vprintf` in the thread's local memory. The
/// parameters are the address of the format and the address of the arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Print {
    pub(crate) format: usize,
    pub(crate) arguments: usize,
    pub(crate) result: usize,
}

/// A call. It copies arguments to the function's parameters, and results back.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) target: usize,
    pub(crate) arguments: Vec<Move>,
    pub(crate) results: Vec<Move>,
}

/// A reduction that is part of a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierVote {
    pub(crate) question: Question,
    pub(crate) of: Guard,
    pub(crate) to: Register,
}

/// A reduction over the predicates of several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    All,
    Any,
    Uniform,
    Ballot,
    Count,
}

/// `vote.sync`.
#[derive(Debug)]
pub(crate) struct Vote {
    pub(crate) question: Question,
    pub(crate) of: Guard,
    pub(crate) to: Register,
    pub(crate) mask: Register,
}

/// `shfl.sync`.
#[derive(Debug)]
pub(crate) struct Shuffle {
    pub(crate) mode: ShuffleMode,
    pub(crate) to: Register,
    pub(crate) inside: Option<Register>,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) c: Register,
    pub(crate) mask: Register,
}

/// How a shuffle selects the source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// The base of generic addresses in a block's shared memory. No device memory uses these addresses.
pub(crate) const SHARED_WINDOW: u64 = 0x00B0 << 48;
/// The base of generic addresses for a thread's local memory and for a kernel's parameters.
pub(crate) const LOCAL_WINDOW: u64 = 0x00B1 << 48;
pub(crate) const PARAMETER_WINDOW: u64 = 0x00B2 << 48;

/// Splits a generic address into its state space and the address within that space.
pub(crate) fn from_generic(address: u64) -> (Space, u64) {
    let inside = address & ((1 << 48) - 1);
    match address - inside {
        SHARED_WINDOW => (Space::Shared, inside),
        LOCAL_WINDOW => (Space::Local, inside),
        PARAMETER_WINDOW => (Space::Param, inside),
        _ => (Space::Global, address),
    }
}

impl Program {
    /// Returns the instruction text of a step, with its line.
    pub(crate) fn describe(&self, step: usize) -> String {
        let line = self.steps.get(step).map_or(0, |step| step.line);
        let index = usize::try_from(line).unwrap_or(0).wrapping_sub(1);
        let text = self.text.lines().nth(index).unwrap_or("?").trim();
        format!("line {line} `{text}`")
    }
}

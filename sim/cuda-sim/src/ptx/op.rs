//! A kernel ready to run: steps that name registers by number and places by index.
//!
//! Constants and special registers are registers, too, filled before a block starts: every operand
//! of every step is a register. A number is in the low bits of its register; the upper bits are
//! undefined.

use std::sync::Arc;

use super::convert::Conversion;
use super::function::{Four, One, Three, Two};
use super::rounding::Round;
use super::types::{Space, Type};

/// The number of a register.
pub(crate) type Register = usize;

pub(crate) type Test = fn(u64, u64) -> bool;

/// A kernel.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) registers: usize,
    pub(crate) constants: Vec<(Register, u64)>,
    pub(crate) specials: Vec<(Register, Special)>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) parameter_bytes: usize,
    /// The start of dynamic shared memory, and its alignment there.
    pub(crate) shared_bytes: usize,
    pub(crate) local_bytes: usize,
    pub(crate) most_threads: Option<[u32; 3]>,
    pub(crate) exact_threads: Option<[u32; 3]>,
    /// `true` if it waits for the kernel that it programmatically depends on.
    pub(crate) waits_for_dependency: bool,
    pub(crate) version: u32,
    pub(crate) text: Arc<str>,
}

/// The place of a parameter among a kernel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// An instruction.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) line: u32,
    pub(crate) guard: Option<Guard>,
    pub(crate) kind: Kind,
}

/// The threads that take part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) register: Register,
    pub(crate) negated: bool,
}

/// A register that the device fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// A thread's coordinate in its block, along an axis.
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
    /// Always 0: one multiprocessor, one grid.
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
    /// A sum with a carry in and out.
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
    /// Splits into parts of equal width, the lowest first.
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
    /// A failed assertion.
    AssertFail(Box<AssertFail>),
    /// `printf`.
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
    /// The value for true.
    pub(crate) truth: u64,
    /// The register that gets the negated result.
    pub(crate) other: Option<Register>,
}

/// An address: an optional register, and an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) base: Option<Register>,
    /// `true` if the register has 64 bits.
    pub(crate) wide: bool,
    pub(crate) offset: i64,
}

/// A load or a store of one element or a vector.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) space: Space,
    pub(crate) place: Place,
    /// Bytes of an element.
    pub(crate) bytes: usize,
    pub(crate) signed: bool,
    pub(crate) registers: Vec<Register>,
    /// Volatile, relaxed or stronger: two such accesses do not race.
    pub(crate) strong: bool,
    /// `.acquire` and `.release`.
    pub(crate) orders: bool,
}

/// The new value of an atomic operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// A function of the old value and the operand.
    By(Two),
    /// The second operand, if the old value equals the first.
    IfEqual,
}

/// An atomic operation, which computes the new value from the old one and two operands.
#[derive(Debug)]
pub(crate) struct Atomic {
    pub(crate) space: Space,
    pub(crate) place: Place,
    pub(crate) bytes: usize,
    pub(crate) signed: bool,
    pub(crate) change: Change,
    /// The target of the old value; `None` for `red`.
    pub(crate) to: Option<Register>,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) orders: bool,
}

/// A move within a thread's own memory: source, target, length.
pub(crate) type Move = (usize, usize, usize);

/// A function of three numbers and a carry, which also returns the carry out.
pub(crate) type Carried = fn(u64, u64, u64, u64) -> (u64, u64);

/// An addition or subtraction that reads or leaves a carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) function: Carried,
    pub(crate) to: Register,
    pub(crate) sources: [Register; 3],
    /// The register of the carry in; a constant 0 without one.
    pub(crate) carry: Register,
    /// The target of the carry out.
    pub(crate) out: Option<Register>,
}

/// A comparison of two pairs of short numbers, half by half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparePair {
    pub(crate) test: Test,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) to: Register,
    /// The value of a half for which the comparison holds.
    pub(crate) truth: u64,
}

/// The places of a failed assertion's parameters in a thread's own memory: addresses of three
/// texts, and a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssertFail {
    pub(crate) message: usize,
    pub(crate) file: usize,
    pub(crate) line: usize,
    pub(crate) function: usize,
}

/// The places of the parameters of `vprintf` and its result in a thread's own memory: addresses of
/// the format and of its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Print {
    pub(crate) format: usize,
    pub(crate) arguments: usize,
    pub(crate) result: usize,
}

/// A call, which copies arguments to the function's parameters and results back.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) target: usize,
    pub(crate) arguments: Vec<Move>,
    pub(crate) results: Vec<Move>,
}

/// The reduction of a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierVote {
    pub(crate) question: Question,
    pub(crate) of: Guard,
    pub(crate) to: Register,
}

/// A reduction over the predicates of many threads.
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

/// The choice of the source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// The base of generic addresses of a block's shared memory. No memory of a device is there.
pub(crate) const SHARED_WINDOW: u64 = 0x00B0 << 48;
/// The base of generic addresses of a thread's local memory, and of a kernel's parameters.
pub(crate) const LOCAL_WINDOW: u64 = 0x00B1 << 48;
pub(crate) const PARAMETER_WINDOW: u64 = 0x00B2 << 48;

/// Splits a generic address into its space and the address there.
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
    /// Returns the text of a step's instruction, with its line.
    pub(crate) fn describe(&self, step: usize) -> String {
        let line = self.steps.get(step).map_or(0, |step| step.line);
        let index = usize::try_from(line).unwrap_or(0).wrapping_sub(1);
        let text = self.text.lines().nth(index).unwrap_or("?").trim();
        format!("line {line} `{text}`")
    }
}

//! The one error of the crate: what is wrong with a problem, a file or a plan, with the numbers.

use std::error::Error;
use std::fmt;

use crate::violation::Violation;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// There is nothing to plan.
    Empty,
    /// A buffer's lifetime ends before it begins, or at the same time.
    InvertedLifetime {
        /// The buffer.
        id: String,
        /// Where its lifetime begins.
        lower: i64,
        /// Where its lifetime ends, exclusive.
        upper: i64,
    },
    /// A gap is empty, overlaps the one before it or leaves the buffer's lifetime, or the gaps
    /// leave nothing of the lifetime.
    BadGap {
        /// The buffer.
        id: String,
        /// Where the gap begins.
        lower: i64,
        /// Where the gap ends, exclusive.
        upper: i64,
    },
    /// An alignment is not a power of two.
    BadAlignment {
        /// The buffer.
        id: String,
        /// Its alignment.
        alignment: u64,
    },
    /// A fixed offset is not a multiple of the buffer's alignment.
    MisalignedOffset {
        /// The buffer.
        id: String,
        /// Its fixed offset.
        offset: u64,
        /// Its alignment.
        alignment: u64,
    },
    /// The sizes do not fit the numbers: together with padding and fixed offsets they exceed
    /// `i64::MAX` bytes.
    SizeOverflow {
        /// The buffer at which the sum exceeded the limit.
        id: String,
        /// Its size in bytes.
        size: u64,
        /// The bytes of all buffers before it.
        sum: u64,
    },
    /// Two buffers have the same name.
    DuplicateId {
        /// The name.
        id: String,
        /// Index of the first of them.
        first: usize,
        /// Index of the second.
        second: usize,
    },
    /// There is more of something than the planner takes, which bounds the memory that it takes itself.
    TooMany {
        /// What there is too many of.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// An edge or a buffer names an operation that does not exist.
    UnknownOperation {
        /// The operation.
        operation: usize,
        /// How many operations there are.
        operations: usize,
    },
    /// Edges lead from a free marker of a buffer to its alloc marker: it could have no use.
    FreedBeforeAllocated {
        /// The buffer.
        id: String,
        /// Its alloc marker.
        allocated_by: usize,
        /// The first free marker that comes before it.
        freed_by: usize,
    },
    /// The operations do not form an acyclic graph.
    Cycle {
        /// The operations of one cycle, in order.
        operations: Vec<usize>,
    },
    /// Two buffers with fixed offsets cannot both stay where they are.
    FixedOverlap(Violation),
    /// No plan can fit: some buffers that need memory at once are larger than the capacity.
    Infeasible {
        /// The bytes there are.
        capacity: u64,
        /// The bytes that are needed at least.
        bound: u64,
        /// Indices of the buffers that need them.
        witness: Vec<usize>,
    },
    /// An exhaustive search has shown that no plan fits, though the bound does.
    ProvedInfeasible {
        /// The bytes there are.
        capacity: u64,
        /// The exact lower bound, which does not show it.
        bound: u64,
        /// The peak of the best plan found.
        best: u64,
    },
    /// No plan within the capacity was found in the budget; there may be one.
    NotFound {
        /// The bytes there are.
        capacity: u64,
        /// The exact lower bound.
        bound: u64,
        /// The peak of the best plan found.
        best: u64,
    },
    /// The tolerance is below 1 or not a number.
    BadTolerance {
        /// The tolerance.
        tolerance: f64,
    },
    /// A file does not say what it should.
    Parse {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// What a line of a file asks for cannot be planned.
    Line {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1, of the field that is wrong.
        column: usize,
        /// What is wrong with it.
        error: Box<PlanError>,
    },
    /// The planner made a plan that the validator refuses: a bug in this crate.
    Rejected(Violation),
    /// The planner met a state that it excludes: a bug in this crate.
    Internal {
        /// What it met.
        what: &'static str,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "there are no buffers to plan"),
            Self::InvertedLifetime { id, lower, upper } => {
                write!(f, "buffer {id}: its lifetime [{lower}, {upper}) is empty or inverted")
            }
            Self::BadGap { id, lower, upper } => write!(
                f,
                "buffer {id}: the gap [{lower}, {upper}) must be in order, apart from the others \
                 and inside the lifetime, and leave some of it"
            ),
            Self::BadAlignment { id, alignment } => {
                write!(f, "buffer {id}: alignment {alignment} is not a power of two")
            }
            Self::MisalignedOffset { id, offset, alignment } => {
                write!(f, "buffer {id}: fixed offset {offset} is not a multiple of {alignment}")
            }
            Self::SizeOverflow { id, size, sum } => write!(
                f,
                "buffer {id}: {size} bytes on top of {sum} exceed {} bytes with padding",
                i64::MAX
            ),
            Self::DuplicateId { id, first, second } => {
                write!(f, "buffers {first} and {second} are both called {id}")
            }
            Self::TooMany { what, count, limit } => {
                write!(f, "{count} {what} are more than {limit}, the most that is planned")
            }
            Self::UnknownOperation { operation, operations } => {
                write!(f, "operation {operation} does not exist: there are {operations}, from 0")
            }
            Self::FreedBeforeAllocated { id, allocated_by, freed_by } => write!(
                f,
                "buffer {id}: it is freed by operation {freed_by}, which comes before operation \
                 {allocated_by}, which allocates it"
            ),
            Self::Cycle { operations } => {
                write!(f, "the operations depend on each other in a circle: {operations:?}")
            }
            Self::FixedOverlap(violation) => write!(f, "fixed offsets collide: {violation}"),
            Self::Infeasible { capacity, bound, witness } => write!(
                f,
                "no plan fits {capacity} bytes: {} buffers need {bound} bytes at once",
                witness.len()
            ),
            Self::ProvedInfeasible { capacity, bound, best } => write!(
                f,
                "no plan fits {capacity} bytes: every placement was tried (bound {bound}, best \
                 plan {best})"
            ),
            Self::NotFound { capacity, bound, best } => write!(
                f,
                "no plan within {capacity} bytes was found in the budget (bound {bound}, best \
                 plan {best}): give it more time, or {best} bytes"
            ),
            Self::BadTolerance { tolerance } => {
                write!(f, "tolerance {tolerance} must be a ratio of at least 1")
            }
            Self::Parse { line, column, message } => {
                write!(f, "line {line}, column {column}: {message}")
            }
            Self::Line { line, column, error } => {
                write!(f, "line {line}, column {column}: {error}")
            }
            Self::Rejected(violation) => {
                write!(f, "the planner made an invalid plan, which is a bug in it: {violation}")
            }
            Self::Internal { what } => {
                write!(f, "{what}: this is a bug in pool-plan, please report it")
            }
        }
    }
}

impl Error for PlanError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::FixedOverlap(violation) | Self::Rejected(violation) => Some(violation),
            Self::Line { error, .. } => Some(error),
            _ => None,
        }
    }
}

//! The only error of the crate: the fault of a problem, a file or a plan, with the numbers.

use std::error::Error;
use std::fmt::Write as _;

use thiserror::Error;

use crate::violation::Violation;

/// The reason why there is no plan.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// The problem has no buffers.
    #[error("the problem has no buffers: add at least one buffer")]
    Empty,
    /// A buffer's lifetime ends before it begins, or at the same time.
    #[error("buffer {id}: the lifetime [{lower}, {upper}) is empty or inverted")]
    InvertedLifetime {
        /// The buffer.
        id: String,
        /// The time at which its lifetime begins.
        lower: i64,
        /// The time at which its lifetime ends, exclusive.
        upper: i64,
    },
    /// A gap is empty, overlaps the one before it or leaves the buffer's lifetime, or the gaps
    /// leave nothing of the lifetime.
    #[error(
        "buffer {id}: the gap [{lower}, {upper}) is not valid: gaps must be nonempty, sorted, \
         disjoint and within the lifetime, and must leave part of the lifetime"
    )]
    BadGap {
        /// The buffer.
        id: String,
        /// The time at which the gap begins.
        lower: i64,
        /// The time at which the gap ends, exclusive.
        upper: i64,
    },
    /// An alignment is not a power of two.
    #[error("buffer {id}: alignment {alignment} is not a power of two")]
    BadAlignment {
        /// The buffer.
        id: String,
        /// Its alignment.
        alignment: u64,
    },
    /// A fixed offset is not a multiple of the buffer's alignment.
    #[error("buffer {id}: fixed offset {offset} is not a multiple of {alignment}")]
    MisalignedOffset {
        /// The buffer.
        id: String,
        /// Its fixed offset.
        offset: u64,
        /// Its alignment.
        alignment: u64,
    },
    /// The sizes are too large: together with padding and fixed offsets they exceed `i64::MAX` bytes.
    #[error(
        "buffer {id}: {size} bytes, added to {sum} bytes of earlier buffers, exceed {} bytes with \
         padding",
        i64::MAX
    )]
    SizeOverflow {
        /// The buffer at which the sum exceeded the limit.
        id: String,
        /// Its size in bytes.
        size: u64,
        /// The bytes of all buffers before it.
        sum: u64,
    },
    /// Two buffers have the same name.
    #[error("buffers {first} and {second} are both named {id}: give each buffer its own name")]
    DuplicateId {
        /// The name.
        id: String,
        /// Index of the first of them.
        first: usize,
        /// Index of the second.
        second: usize,
    },
    /// A problem has more buffers, edges, markers or gaps than the planner takes, which bounds the planner's
    /// own memory.
    #[error("the problem has {count} {what}, but the planner accepts at most {limit}")]
    TooMany {
        /// The name of the list that is too long.
        what: &'static str,
        /// The number in the problem.
        count: usize,
        /// The most that the planner takes.
        limit: usize,
    },
    /// An edge or a buffer names an operation that does not exist.
    #[error(
        "there is no operation {operation}: the graph has {operations} operations, numbered from 0"
    )]
    UnknownOperation {
        /// The operation.
        operation: usize,
        /// The number of operations.
        operations: usize,
    },
    /// The number of streams in a record is not that of its operations, or the number of callers or buffers is not that
    /// of its buffers.
    #[error("the number of {what} is {count}, but must be {expected}")]
    WrongCount {
        /// The name of the list.
        what: &'static str,
        /// The length of the list.
        count: usize,
        /// The length that it must have.
        expected: usize,
    },
    /// Edges lead from a free marker of a buffer to its alloc marker: it could have no use.
    #[error(
        "buffer {id}: operation {freed_by} frees the buffer, but comes before operation \
         {allocated_by}, which allocates the buffer"
    )]
    FreedBeforeAllocated {
        /// The buffer.
        id: String,
        /// Its alloc marker.
        allocated_by: usize,
        /// The first free marker that comes before it.
        freed_by: usize,
    },
    /// The operations do not form an acyclic graph.
    #[error("the operations depend on each other in a cycle: {operations:?}")]
    Cycle {
        /// The operations of one cycle, in order.
        operations: Vec<usize>,
    },
    /// Two buffers with fixed offsets share bytes while both are live.
    #[error("fixed offsets collide")]
    FixedOverlap(#[source] Violation),
    /// No plan can fit: some buffers that need memory at once are larger than the capacity.
    #[error(
        "no plan fits in {capacity} bytes: {} buffers need {bound} bytes at once", witness.len()
    )]
    Infeasible {
        /// The capacity in bytes.
        capacity: u64,
        /// The least bytes that are needed.
        bound: u64,
        /// Indices of the buffers that need them.
        witness: Vec<usize>,
    },
    /// An exhaustive search has shown that no plan fits, though the bound does.
    #[error(
        "no plan fits in {capacity} bytes: every placement was tried (lower bound {bound}, best \
         plan {best})"
    )]
    ProvedInfeasible {
        /// The capacity in bytes.
        capacity: u64,
        /// The exact lower bound, which does not show it.
        bound: u64,
        /// The peak of the best plan found.
        best: u64,
    },
    /// No plan within the capacity was found in the budget; there may be one.
    #[error(
        "no plan within {capacity} bytes was found in the time budget (lower bound {bound}, best \
         plan {best}): allow more time, or {best} bytes"
    )]
    NotFound {
        /// The capacity in bytes.
        capacity: u64,
        /// The exact lower bound.
        bound: u64,
        /// The peak of the best plan found.
        best: u64,
    },
    /// A problem of several memories has no memory.
    #[error("the problem has no memories: add at least one memory")]
    NoMemories,
    /// Two memories have the same name.
    #[error("memories {first} and {second} are both named {name}: give each memory its own name")]
    DuplicateMemory {
        /// The name.
        name: String,
        /// Index of the first of them.
        first: usize,
        /// Index of the second.
        second: usize,
    },
    /// A buffer may lie in no memory, or names one twice, or is fixed in one that it may not lie in, or has a
    /// fixed offset and several memories.
    #[error("buffer {id}: {what}")]
    BadMemories {
        /// The buffer.
        id: String,
        /// The fault of its memories.
        what: &'static str,
    },
    /// A buffer names a memory that the problem does not have.
    #[error("buffer {id}: there is no memory {memory}")]
    UnknownMemory {
        /// The buffer.
        id: String,
        /// The name or the index of the memory.
        memory: String,
    },
    /// Costs are too large: a plan could cost more than `i64::MAX`.
    #[error(
        "memory {memory}: a cost of {cost} per byte, times {amount} bytes, exceeds {}",
        i64::MAX
    )]
    CostOverflow {
        /// The memory with the largest cost.
        memory: String,
        /// Its cost of a byte.
        cost: u64,
        /// The bytes of all buffers.
        amount: u64,
    },
    /// The options have a capacity, but each memory of the problem has its own.
    #[error(
        "the options set one capacity of {capacity} bytes for several memories: set the capacity \
         of each memory instead"
    )]
    OneCapacity {
        /// The capacity of the options.
        capacity: u64,
    },
    /// Buffers that are live at once may lie only in memories that are too small for them.
    #[error(
        "memories {memories:?} have {capacity} bytes, but the {} buffers that may use only these \
         memories need {bound} bytes at time {time}",
        witness.len()
    )]
    MemoriesTooSmall {
        /// Indices of the memories.
        memories: Vec<usize>,
        /// The sum of their bytes.
        capacity: u64,
        /// The least bytes that are needed.
        bound: u64,
        /// The time at which the buffers are live.
        time: i64,
        /// Indices of the buffers.
        witness: Vec<usize>,
    },
    /// No plan within the capacities of all memories was found. An exhaustive search proved that there is none, or the
    /// budget ended.
    #[error(
        "no plan for {buffers} buffers within the capacities of {memories} memories {}",
        if *proved {
            "exists: every assignment was tried"
        } else {
            "was found in the time budget: allow more time"
        }
    )]
    Unassigned {
        /// The number of buffers.
        buffers: usize,
        /// The number of memories.
        memories: usize,
        /// `true` if an exhaustive search has proved that there is no plan.
        proved: bool,
    },
    /// The tolerance is below 1 or not a number.
    #[error("the tolerance {tolerance} is not valid: set a ratio of at least 1")]
    BadTolerance {
        /// The tolerance.
        tolerance: f64,
    },
    /// A record does not follow its format.
    #[error("line {line}, column {column}: {message}")]
    Parse {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The fault at that place.
        message: String,
    },
    /// The planner made a plan that the validator refuses: a bug in this crate.
    #[error("this is a bug in pool-plan, please report it: the planner produced an invalid plan")]
    Rejected(#[source] Violation),
    /// The planner reached a state that it excludes: a bug in this crate.
    #[error("this is a bug in pool-plan, please report it: {what}")]
    Internal {
        /// The state that the planner reached.
        what: &'static str,
    },
}

/// Returns an error and its sources in one line: `error: source: source`. In this crate, `Display` of an error omits
/// its sources.
///
/// ```
/// use pool_plan::{Buffer, IntervalProblem, error_chain};
///
/// let mut buffers = vec![Buffer::new("a", 0, 2, 8), Buffer::new("b", 1, 3, 8)];
/// buffers.iter_mut().for_each(|buffer| buffer.offset = Some(0));
/// let error = IntervalProblem::new(buffers).unwrap_err();
/// assert_eq!(error.to_string(), "fixed offsets collide");
/// assert!(error_chain(&error).starts_with("fixed offsets collide: "));
/// ```
#[must_use]
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        // Writing to a string does not fail.
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}

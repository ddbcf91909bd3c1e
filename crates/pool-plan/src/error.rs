//! The crate's error type. Each error describes a mistake in a problem, file, or plan, and includes
//! the values involved.

use std::error::Error;
use std::fmt::Write as _;

use thiserror::Error;

use crate::violation::Violation;

/// The reason why planning failed.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// The problem has no buffers.
    #[error("the problem has no buffers: add at least one buffer")]
    Empty,
    /// A buffer's lifetime ends at or before its start.
    #[error(
        "the lifetime [{lower}, {upper}) of buffer {id} is empty or inverted: the end must be \
         greater than the start"
    )]
    InvertedLifetime {
        /// The buffer's name.
        id: String,
        /// The start of the buffer's lifetime.
        lower: i64,
        /// The exclusive end of the buffer's lifetime.
        upper: i64,
    },
    /// The gaps cover the buffer's whole lifetime, or one of them is empty, overlaps the previous
    /// gap, or extends beyond the lifetime.
    #[error(
        "the gap [{lower}, {upper}) of buffer {id} is invalid: gaps must be nonempty, sorted, \
         disjoint, and inside the lifetime, and must not cover the whole lifetime"
    )]
    BadGap {
        /// The buffer's name.
        id: String,
        /// The gap's start time.
        lower: i64,
        /// The gap's exclusive end.
        upper: i64,
    },
    /// An alignment is not a power of two.
    #[error("buffer {id} has alignment {alignment}, which is not a power of two")]
    BadAlignment {
        /// The buffer's name.
        id: String,
        /// The buffer's alignment.
        alignment: u64,
    },
    /// A fixed offset is not a multiple of the buffer's alignment.
    #[error("buffer {id} has the fixed offset {offset}, which is not a multiple of {alignment}")]
    MisalignedOffset {
        /// The buffer's name.
        id: String,
        /// The buffer's fixed offset.
        offset: u64,
        /// The buffer's alignment.
        alignment: u64,
    },
    /// The sum of the buffers' sizes, padding, and fixed offsets exceeds `i64::MAX` bytes.
    #[error(
        "the problem is too large: the {size} bytes of buffer {id}, the {sum} bytes of earlier \
         buffers, and padding exceed {} bytes in total",
        i64::MAX
    )]
    SizeOverflow {
        /// The name of the buffer that pushed the sum over the limit.
        id: String,
        /// The buffer's size in bytes.
        size: u64,
        /// The total size, in bytes, of all preceding buffers.
        sum: u64,
    },
    /// Two buffers have the same name.
    #[error("buffers {first} and {second} are both named {id}: give each buffer a unique name")]
    DuplicateId {
        /// The name shared by the two buffers.
        id: String,
        /// The first buffer's index.
        first: usize,
        /// The second buffer's index.
        second: usize,
    },
    /// The problem contains more buffers, edges, markers, or gaps than the planner accepts. The
    /// limit bounds the planner's own memory use.
    #[error("the problem has {count} {what}, but the planner accepts at most {limit}")]
    TooMany {
        /// The name of the list with too many entries.
        what: &'static str,
        /// The number of entries in the problem's list.
        count: usize,
        /// The maximum number of entries that the planner accepts.
        limit: usize,
    },
    /// An edge or a buffer refers to a nonexistent operation.
    #[error(
        "there is no operation {operation}: the graph has {operations} operations, numbered from 0"
    )]
    UnknownOperation {
        /// The nonexistent operation's number.
        operation: usize,
        /// The number of operations in the graph.
        operations: usize,
    },
    /// A list in a record has the wrong length. A record must contain one stream for each operation
    /// and one caller for each buffer. If a record's buffers are replaced, the number of buffers
    /// must not change.
    #[error("the number of {what} is {count}, but it must be {expected}")]
    WrongCount {
        /// The name of the list with the wrong length.
        what: &'static str,
        /// The list's length.
        count: usize,
        /// The required length of the list.
        expected: usize,
    },
    /// A path of edges leads from one of a buffer's free markers to its alloc marker. No operation
    /// could use such a buffer, because it would be freed before it is allocated.
    #[error("operation {freed_by} frees buffer {id} before operation {allocated_by} allocates it")]
    FreedBeforeAllocated {
        /// The buffer's name.
        id: String,
        /// The buffer's alloc marker.
        allocated_by: usize,
        /// The first free marker that precedes the alloc marker.
        freed_by: usize,
    },
    /// Some of the edges between operations form a cycle.
    #[error("the dependencies of these operations form a cycle: {operations:?}")]
    Cycle {
        /// The operations on one cycle, in order.
        operations: Vec<usize>,
    },
    /// Two buffers with fixed offsets share bytes and are live at the same time.
    #[error("fixed offsets collide")]
    FixedOverlap(#[source] Violation),
    /// No plan fits within the capacity because buffers that are live at the same time need more
    /// bytes.
    #[error(
        "no plan fits in {capacity} bytes, because {} buffers that are in use at the same time \
         need {bound} bytes",
        witness.len()
    )]
    Infeasible {
        /// The capacity in bytes.
        capacity: u64,
        /// The minimum number of bytes that any plan needs.
        bound: u64,
        /// The indices of the buffers that together need more bytes than the capacity.
        witness: Vec<usize>,
    },
    /// An exhaustive search proved that no plan fits within the capacity, even though the capacity
    /// is at least the lower bound.
    #[error(
        "no plan fits in {capacity} bytes, as an exhaustive search has proved (the lower bound is \
         {bound} bytes, and the best plan needs {best} bytes)"
    )]
    ProvedInfeasible {
        /// The capacity in bytes.
        capacity: u64,
        /// The exact lower bound in bytes, which does not exceed the capacity.
        bound: u64,
        /// The peak, in bytes, of the best plan found by the planner.
        best: u64,
    },
    /// The budget ran out before the planner found a plan that fits within the capacity. There
    /// might still be a plan that fits within the capacity.
    #[error(
        "no plan that fits in {capacity} bytes was found within the time budget (the lower bound \
         is {bound} bytes, and the best plan needs {best} bytes): allow more time, or raise the \
         capacity to {best} bytes"
    )]
    NotFound {
        /// The capacity in bytes.
        capacity: u64,
        /// The exact lower bound.
        bound: u64,
        /// The peak, in bytes, of the best plan found by the planner.
        best: u64,
    },
    /// The problem contains no memories, but at least one is required.
    #[error("the problem has no memories: add at least one memory")]
    NoMemories,
    /// Two memories have the same name.
    #[error("memories {first} and {second} are both named {name}: give each memory a unique name")]
    DuplicateMemory {
        /// The name shared by the two memories.
        name: String,
        /// The first memory's index.
        first: usize,
        /// The second memory's index.
        second: usize,
    },
    /// A buffer's permitted memories are invalid. The list of memories is empty, contains the same
    /// memory twice, or omits the memory that the buffer requires. A buffer with a fixed offset
    /// must not permit several memories.
    #[error("buffer {id}: {what}")]
    BadMemories {
        /// The buffer's name.
        id: String,
        /// A description of the mistake.
        what: &'static str,
    },
    /// A buffer refers to a memory that is not part of the problem.
    #[error("buffer {id} refers to memory {memory}, which does not exist")]
    UnknownMemory {
        /// The buffer's name.
        id: String,
        /// The memory's name or index.
        memory: String,
    },
    /// The costs are so large that a plan could cost more than `i64::MAX`.
    #[error(
        "the cost of memory {memory} is too high: {cost} per byte for {amount} bytes exceeds the \
         maximum of {}",
        i64::MAX
    )]
    CostOverflow {
        /// The name of the memory with the largest cost.
        memory: String,
        /// The memory's cost per byte.
        cost: u64,
        /// The buffers' total size in bytes.
        amount: u64,
    },
    /// The options set a capacity, but each memory in the problem has its own capacity.
    #[error(
        "the options set one capacity of {capacity} bytes for several memories: set the capacity \
         of each memory instead"
    )]
    OneCapacity {
        /// The capacity set by the options, in bytes.
        capacity: u64,
    },
    /// Some buffers are live at the same time, but their permitted memories are too small to hold
    /// all of them.
    #[error(
        "{} buffers need {bound} bytes at time {time}, but they may use only the memories \
         {memories:?}, which have {capacity} bytes in total",
        witness.len()
    )]
    MemoriesTooSmall {
        /// The indices of the memories.
        memories: Vec<usize>,
        /// The total capacity of these memories in bytes.
        capacity: u64,
        /// The minimum number of bytes that the buffers need.
        bound: u64,
        /// A time at which all of these buffers are live.
        time: i64,
        /// The indices of the buffers.
        witness: Vec<usize>,
    },
    /// The planner found no plan that fits within all of the memories' capacities. Either an
    /// exhaustive search proved that there is no such plan, or the budget ran out first.
    #[error(
        "cannot assign {buffers} buffers to {memories} memories within their capacities: {}",
        if *proved {
            "an exhaustive search has proved that no plan exists"
        } else {
            "no plan was found within the time budget; allow more time"
        }
    )]
    Unassigned {
        /// The number of buffers.
        buffers: usize,
        /// The number of memories.
        memories: usize,
        /// `true` if an exhaustive search proved that no plan exists.
        proved: bool,
    },
    /// The tolerance is less than 1 or is not a number.
    #[error("the tolerance {tolerance} is invalid: set a tolerance of at least 1")]
    BadTolerance {
        /// The given tolerance.
        tolerance: f64,
    },
    /// A record's text does not follow the record format.
    #[error("line {line}, column {column}: {message}")]
    Parse {
        /// The line number, starting at 1.
        line: usize,
        /// The column in characters, starting at 1.
        column: usize,
        /// A description of the mistake at this line and column.
        message: String,
    },
    /// The planner computed a plan that the validator rejected. This error indicates a bug in this
    /// crate.
    #[error("the planner produced an invalid plan: this is a bug in pool-plan; please report it")]
    Rejected(#[source] Violation),
    /// The planner reached a state that should be impossible. This error indicates a bug in this
    /// crate.
    #[error("{what}: this is a bug in pool-plan; please report it")]
    Internal {
        /// A description of the state reached by the planner.
        what: &'static str,
    },
}

/// Returns an error and its sources on one line, in the form `error: source: source`. The `Display`
/// implementations of this crate's errors print only the error itself and omit its sources.
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
        // Writing to a string never fails.
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}

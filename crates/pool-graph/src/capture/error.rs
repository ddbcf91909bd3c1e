//! The errors of captures and captured graphs. `Display` prints only an error's own message, and
//! `source` returns its cause.

use pool_core::PoolError;
use pool_core::reserve::NoHostMemory;
use pool_driver::cudarc::driver::{CudaContext, DriverError};
use pool_driver::error::CudaError;
use pool_plan::PlanError;
use thiserror::Error;

use super::invalidation::PossibleCauses;
use super::temporary_name::TemporaryName;
use crate::arena::ArenaPlanError;
use crate::base::error::GraphMemoryError;
use crate::driver::{CaptureMode, NodeKind, UnreadableReason, UpdateRefusal};
use crate::verify::LayoutViolation;

/// The error of sessions and captured graphs. After any error, the stream and the device can be
/// used as before.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CaptureError {
    /// The driver returned an error.
    #[error(transparent)]
    Driver(#[from] CudaError),
    /// An error from the arena or from a lease.
    #[error(transparent)]
    Memory(#[from] GraphMemoryError<CudaError>),
    /// An error from a pool of the body's scopes.
    #[error(transparent)]
    Pool(#[from] PoolError<CudaError>),
    /// The planner found no plan.
    #[error("there is no plan for the capture")]
    Plan(#[from] PlanError),
    /// The capture cannot follow the plan.
    #[error(transparent)]
    ArenaPlan(#[from] ArenaPlanError),
    /// Two temporaries share bytes, but the captured graph does not finish with one of them before
    /// it begins with the other. Their offsets come from a plan for another body, or for another
    /// order.
    #[error(
        "{first} and {second} share bytes, but the graph may still use one of them when the other is acquired: \
         make a stream `wait` before that, or plan with a probe of this body"
    )]
    Unordered {
        /// The temporary with the lower number.
        first: TemporaryName,
        /// The temporary with the higher number.
        second: TemporaryName,
    },
    /// The captured graph does not match the layout of its memory.
    #[error("the graph does not match the layout of its memory")]
    Layout(#[from] LayoutViolation),
    /// The executable graph rejects the changes of an update.
    #[error(transparent)]
    Update(UpdateRefusal),
    /// The stream is a default stream, which cannot be captured: work from other streams would
    /// enter the capture.
    #[error("a default stream cannot be captured: create one with `new_stream`")]
    DefaultStream,
    /// The stream has already been added to the session.
    #[error("the session has stream {stream:#x} already: pass each stream once")]
    StreamTwice {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The stream or the memory belongs to another device or context.
    #[error(
        "the session is on device {session}, and the memory or stream on device {other} or in another \
         context of it. A session has the memory of one context: capture a graph for each device, and \
         order their replays by events"
    )]
    WrongContext {
        /// The ordinal of the session's device.
        session: usize,
        /// The ordinal of the other device.
        other: usize,
    },
    /// The stream is already being captured.
    #[error("stream {stream:#x} is being captured already: end that capture, or use other streams")]
    AlreadyCapturing {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The graph's stream is being captured, and the operation cannot become part of another graph.
    #[error(
        "the graph's stream is being captured, so it cannot {operation}: do it after the capture, or on \
         another stream"
    )]
    Capturing {
        /// The refused operation.
        operation: &'static str,
    },
    /// The arena already belongs to another graph or session.
    #[error(
        "the arena at {address:#x} belongs to another graph: give each graph its own arena, because two of them \
         may run at once"
    )]
    ArenaInUse {
        /// The start of the arena.
        address: u64,
    },
    /// The graphs would share an arena but run on different streams. Graphs may share an arena only
    /// if they run on one stream.
    #[error(
        "the session is on stream {session:#x} and the graph on {graph:#x}: graphs that share an arena \
         run one after the other, on one stream"
    )]
    AnotherStream {
        /// The handle of the session's stream, as a number.
        session: u64,
        /// The handle of the graph's stream.
        graph: u64,
    },
    /// Two graphs on different streams share a block, and at least one of them writes it.
    #[error(
        "a graph on stream {graph:#x} has block {block}, and stream {session:#x} is ordered neither before \
         nor after it: use one stream, or only read the block on both"
    )]
    SharedBlock {
        /// The block's number.
        block: u64,
        /// The handle of the session's stream or of the writing graph's stream, as a number.
        session: u64,
        /// The handle of the other graph's stream, as a number.
        graph: u64,
    },
    /// The session has no such branch.
    #[error("there is no branch {asked}: the session has {branches}, counted from 0")]
    NoSuchBranch {
        /// The requested branch, counted from 0.
        asked: usize,
        /// The number of branches.
        branches: usize,
    },
    /// The view belongs to another capture.
    #[error("the memory belongs to another capture: use memory of this one")]
    ForeignView,
    /// A scope is already open on the stream. A pool has at most one open scope.
    #[error(
        "a scope is open on stream {stream} of the session: call `scope()` on that scope, or end it first"
    )]
    ScopeOpen {
        /// The stream's index: 0 is the session's stream, 1 its first branch.
        stream: usize,
    },
    /// The memory is lent, either to device views, whose uses a capture cannot see, or to a scope
    /// between replays.
    #[error(
        "the memory at {address:#x} is lent: drop the `ViewLoan` before the capture uses it, or end the \
         `CapturedGraph::scope` before a graph of the arena runs"
    )]
    Lent {
        /// The start of the memory, as an address.
        address: u64,
    },
    /// No lease of the session holds the memory.
    #[error(
        "no lease of the session holds the {bytes} bytes at {address:#x}: lease the block before the \
         capture, so that the graph owns it"
    )]
    NotLeased {
        /// The start of the memory.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// The session does not own the memory.
    #[error(
        "the session does not own the {bytes} bytes at {address:#x}: give them to `own` or `own_mut` of this session \
         before the capture"
    )]
    NotOwned {
        /// The start of the memory, as an address.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// A fill or copy in the graph writes to memory that the session owns as read-only.
    #[error(
        "a fill or a copy of {bytes} bytes at {address:#x} writes memory that the session owns for reading: pass \
         memory that graphs write to `own_mut`"
    )]
    ReadOnly {
        /// The start of the written range, as an address.
        address: u64,
        /// The number of bytes that are written.
        bytes: u64,
    },
    /// Two uses of memory that the session owns are not ordered in the captured graph, and at least
    /// one of them writes.
    #[error(
        "two uses of the {bytes} bytes at {address:#x}, which the session owns, are not ordered in the graph, and one of \
         them writes: name the memory in `enqueue`, and leave its order to the capture"
    )]
    UnorderedUses {
        /// The start of the memory, as an address.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// The lengths of the source and the destination differ.
    #[error(
        "cannot copy {from} elements to a destination of {to} elements: the lengths must be equal"
    )]
    LengthMismatch {
        /// The number of elements in the source.
        from: usize,
        /// The number of elements in the destination.
        to: usize,
    },
    /// The source and the destination of a copy are the same memory.
    #[error("the memory at {address:#x} cannot be copied to itself")]
    SameMemory {
        /// The start of the memory, as an address.
        address: u64,
    },
    /// The size exceeds the address space.
    #[error("{elements} elements of {size} bytes exceed the address space")]
    SizeOverflow {
        /// The requested number of elements.
        elements: usize,
        /// The size of each element in bytes.
        size: usize,
    },
    /// The body differs from the dry run of its plan, or from the capture of the graph to be
    /// updated. Using another block, or writing a block that was only read before, also counts as a
    /// difference.
    #[error(
        "step {step} differs from the dry run or graph that the body must follow ({planned} steps): probe or capture \
         the current body again"
    )]
    Diverged {
        /// The number of the first step that differs, counted from 1.
        step: usize,
        /// The number of steps of the dry run or of the earlier capture.
        planned: usize,
    },
    /// In an update, a temporary is at a different offset than in the graph, because views were
    /// dropped in a different order.
    #[error(
        "temporary {temporary} of the update is at offset {now} of the arena, that of the graph at \
         {before}: drop views in the same order, or capture another graph"
    )]
    Moved {
        /// The number of the temporary, counted from 0.
        temporary: usize,
        /// The temporary's offset in the arena, in the captured graph.
        before: u64,
        /// The temporary's offset in the arena, in the update.
        now: u64,
    },
    /// The graph contains nodes that allocate or free memory.
    #[error(
        "the graph has {nodes} nodes that allocate or free memory: the driver may move their allocations \
         between replays, and frees them before each. Acquire from the capture, set a \
         `Capture::workspace` for a library that allocates, or allocate before the capture"
    )]
    MemoryNodes {
        /// The number of such nodes.
        nodes: usize,
    },
    /// The memory that a node uses cannot be read from the graph, so the node cannot be verified.
    /// Its kind is unsupported, such as a conditional node, or it is a copy or fill whose addresses
    /// cannot be computed.
    #[error(
        "the memory of a node of kind {kind:?} cannot be verified: {reason}. Use kernels, fills and copies instead, \
         or run the work outside the graph"
    )]
    UnreadableNode {
        /// The kind of the node.
        kind: NodeKind,
        /// The reason why its memory cannot be read.
        reason: UnreadableReason,
    },
    /// The capture was invalidated while its body ran, or was ended or started again without the
    /// session. The cause is a call in the body, or a call on another thread that the
    /// [mode](crate::CaptureMode) forbids.
    ///
    /// If the responsible call returned an error and the body returns that error, the capture fails
    /// with that error instead, and its text names the cause. Otherwise the driver does not report
    /// which call it was. The text of this error therefore lists all possible calls, with advice
    /// for each.
    #[error(
        "the capture was invalidated while its body ran, by one of these: {}",
        PossibleCauses { mode: *mode, event_tracking: *event_tracking }
    )]
    Invalidated {
        /// The mode of the capture.
        mode: CaptureMode,
        /// `true` if cudarc tracks events in the capture's context.
        event_tracking: bool,
    },
    /// The crate is in a contradictory state. This is a bug in `pool-graph`, not an error of the
    /// caller.
    #[error("this is a bug in pool-graph, please report it: {found}")]
    Internal {
        /// The contradiction.
        found: &'static str,
    },
    /// Work entered a stream of the session without using the capture, and thereby entered the
    /// graph.
    #[error(
        "work entered stream {stream:#x} without the capture, and the graph would not own its memory: \
         put it there by `enqueue`, or on another stream"
    )]
    ForeignWork {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// A node of the graph was added neither by an operation of the capture, nor by a scope, nor by
    /// [enqueued](crate::Capture::enqueue) work. Either other code added it, or its kind is one
    /// that a scope does not add.
    #[error(
        "a node of kind {kind:?} entered the graph, and no operation of the body through the capture \
         added it: add it by `enqueue`, or keep other threads off the streams of the session"
    )]
    ForeignNode {
        /// The kind of the node.
        kind: NodeKind,
    },
    /// A fill or a copy in the graph uses memory that the graph does not own, and no operation of
    /// the capture added it.
    #[error(
        "a fill or a copy of {bytes} bytes at {address:#x} entered the graph, which does not own them: \
         lease the block, or put the work there by `enqueue`"
    )]
    ForeignMemory {
        /// The start of the memory.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// All buffers of the [`StagingPool`](crate::StagingPool) are in use.
    #[error(
        "all {buffers} buffers of the staging pool are in use: tickets hold {held}, and {pending} are being \
         copied. Wait for a ticket, and drop it, or create the pool with more"
    )]
    StagingExhausted {
        /// The number of buffers.
        buffers: usize,
        /// The number of buffers that tickets hold, including forgotten ones.
        held: usize,
        /// The number of buffers with a pending copy and without a ticket. This includes buffers
        /// whose copy entered a graph captured by other code. Those buffers never become free
        /// again.
        pending: usize,
    },
    /// The buffers of the [`StagingPool`](crate::StagingPool) are too small for the copy.
    #[error(
        "{requested} bytes do not fit a buffer of the staging pool, which has {capacity}: create the pool \
         with larger ones"
    )]
    StagingTooSmall {
        /// The requested number of bytes.
        requested: usize,
        /// The size of each buffer in bytes.
        capacity: usize,
    },
    /// The argument belongs to another capture, or its length differs from that of the graph's
    /// argument.
    #[error(
        "host argument {asked} belongs to another capture or has another length: the graph has {arguments}, use \
         those of its own capture"
    )]
    NoSuchArgument {
        /// The index of the requested argument, counted from 0.
        asked: usize,
        /// The number of arguments of the graph.
        arguments: usize,
    },
}

impl CaptureError {
    /// Creates the error of an invalidated capture in `context`.
    pub(crate) fn invalidated(context: &CudaContext, mode: CaptureMode) -> Self {
        Self::Invalidated { mode, event_tracking: context.is_event_tracking() }
    }
}

impl From<NoHostMemory> for CaptureError {
    fn from(no_room: NoHostMemory) -> Self {
        Self::Memory(no_room.into())
    }
}

/// Converts errors that cudarc's own calls return in a body.
impl From<DriverError> for CaptureError {
    fn from(error: DriverError) -> Self {
        Self::Driver(CudaError::Call { call: "a call of cudarc", code: error.into() })
    }
}

#[cfg(test)]
mod tests {
    use pool_core::error_chain;
    use pool_cuda::CudaError;

    use super::CaptureError;
    use crate::base::error::GraphMemoryError;
    use crate::capture::FailedCapture;
    use crate::verify::LayoutViolation;

    /// The text of a forwarded error appears once in the chain, and no cause is lost.
    #[test]
    fn each_text_is_in_the_chain_once() {
        let refused =
            GraphMemoryError::Source { operation: "give memory back", source: CudaError::NoDevice };
        let chain = format!("could not give memory back: {}", CudaError::NoDevice);
        let error = CaptureError::from(refused);
        assert_eq!(error.to_string(), "could not give memory back");
        assert_eq!(error_chain(&error).to_string(), chain);
        let failed = FailedCapture { error, state: () };
        assert_eq!(failed.to_string(), "could not give memory back");
        assert_eq!(error_chain(&failed).to_string(), chain);

        let error = CaptureError::from(LayoutViolation::Circle);
        assert_eq!(error.to_string(), "the graph does not match the layout of its memory");
        let chain = "the graph does not match the layout of its memory: the edges form a circle";
        assert_eq!(error_chain(&error).to_string(), chain);
        let driver = CaptureError::from(CudaError::NoDevice);
        assert_eq!(error_chain(&driver).to_string(), CudaError::NoDevice.to_string());
    }
}

//! The errors of captures and captured graphs. `Display` has an error's own part, `source` the
//! cause below it.

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

/// The error of sessions and captured graphs. After any of them the stream and the device are as
/// usable as before.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CaptureError {
    /// The driver returned an error.
    #[error(transparent)]
    Driver(#[from] CudaError),
    /// An error of the arena, or of a lease.
    #[error(transparent)]
    Memory(#[from] GraphMemoryError<CudaError>),
    /// An error of a pool of the body's scopes.
    #[error(transparent)]
    Pool(#[from] PoolError<CudaError>),
    /// The planner found no plan.
    #[error("there is no plan for the capture")]
    Plan(#[from] PlanError),
    /// The plan cannot be followed.
    #[error(transparent)]
    ArenaPlan(#[from] ArenaPlanError),
    /// Two temporaries share bytes, and the captured graph does not finish with one before it
    /// begins with the other. Their places come from a plan of another body, or of another order.
    #[error(
        "{first} and {second} share bytes, and the graph does not finish with the one before the other is taken: \
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
    /// The executable graph refuses the changes of an update.
    #[error(transparent)]
    Update(UpdateRefusal),
    /// The stream is a default one, which cannot be captured: work of other streams would enter.
    #[error("a default stream cannot be captured: create one with `new_stream`")]
    DefaultStream,
    /// The session has the stream already.
    #[error("the session has stream {stream:#x} already: pass each stream once")]
    StreamTwice {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The stream, or the arena, is of another device or context.
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
    /// A stream is being captured already.
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
    /// The arena belongs to another graph, or to a session.
    #[error(
        "the arena at {address:#x} belongs to another graph: give each graph its own arena, because two of them \
         may run at once"
    )]
    ArenaInUse {
        /// The start of the arena.
        address: u64,
    },
    /// Graphs share an arena only if they run on one stream, and so never at once.
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
    /// Graphs on two streams share a block, and one of them writes it.
    #[error(
        "a graph on stream {graph:#x} has block {block}, and stream {session:#x} is ordered neither before \
         nor after it: use one stream, or only read the block on both"
    )]
    SharedBlock {
        /// The block's number.
        block: u64,
        /// The handle of the session's stream, or of the writing graph's, as a number.
        session: u64,
        /// The handle of the other graph's stream.
        graph: u64,
    },
    /// The session has no such branch.
    #[error("there is no branch {asked}: the session has {branches}, counted from 0")]
    NoSuchBranch {
        /// The requested branch, from 0.
        asked: usize,
        /// The number of branches.
        branches: usize,
    },
    /// The memory belongs to another capture.
    #[error("the memory belongs to another capture: use memory of this one")]
    ForeignView,
    /// A scope is open on the stream: a pool has one at a time.
    #[error(
        "a scope is open on stream {stream} of the session: use `scope.scope()` of that one, or end it \
         first"
    )]
    ScopeOpen {
        /// The stream: 0 is the session's, 1 its first branch.
        stream: usize,
    },
    /// Memory that is lent: to device views, whose uses a capture does not see, or to a scope between replays.
    #[error(
        "the memory at {address:#x} is lent: drop the `ViewLoan` before the capture uses it, or end the \
         `CapturedGraph::scope` before a graph of the arena runs"
    )]
    Lent {
        /// The start of the memory.
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
        /// Its bytes.
        bytes: u64,
    },
    /// Memory that the session does not own.
    #[error(
        "the session does not own the {bytes} bytes at {address:#x}: give them to `own` or `own_mut` of this session \
         before the capture"
    )]
    NotOwned {
        /// The address at which it begins.
        address: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// A fill or a copy of the graph writes memory that the session owns for reading only.
    #[error(
        "a fill or a copy of {bytes} bytes at {address:#x} writes what the session owns to be read: give the memory to \
         `own_mut` where graphs write it"
    )]
    ReadOnly {
        /// The address of the first written byte.
        address: u64,
        /// The number of written bytes.
        bytes: u64,
    },
    /// Two uses of memory that the session owns are not ordered in the captured graph, and one of them writes.
    #[error(
        "two uses of the {bytes} bytes at {address:#x}, which the session owns, are not ordered in the graph, and one of \
         them writes: name the memory in `enqueue`, and leave its order to the capture"
    )]
    UnorderedUses {
        /// The address at which the memory begins.
        address: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// Two lengths differ that must be equal.
    #[error("{from} elements cannot be copied to {to}: the lengths must agree")]
    LengthMismatch {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        to: usize,
    },
    /// A copy has the same memory as source and destination.
    #[error("the memory at {address:#x} cannot be copied to itself")]
    SameMemory {
        /// Its address.
        address: u64,
    },
    /// The size exceeds the address space.
    #[error("{elements} elements of {size} bytes exceed the address space")]
    SizeOverflow {
        /// The requested elements.
        elements: usize,
        /// The bytes of each.
        size: usize,
    },
    /// The body differs from the dry run of its plan, or from the capture of the graph to update.
    /// The use of another block, or a write in place of a read, is a difference, too.
    #[error(
        "step {step} differs from that of the dry run or graph that the body must follow, which had \
         {planned} steps: probe, or capture, the present body again"
    )]
    Diverged {
        /// The number of the step, from 1.
        step: usize,
        /// The number of steps of that run.
        planned: usize,
    },
    /// In an update, a temporary is at another offset than in the graph: views were dropped in
    /// another order.
    #[error(
        "temporary {temporary} of the update is at offset {now} of the arena, that of the graph at \
         {before}: drop views in the same order, or capture another graph"
    )]
    Moved {
        /// The number of the temporary, from 0.
        temporary: usize,
        /// Its offset in the arena, in the graph.
        before: u64,
        /// Its offset in the update.
        now: u64,
    },
    /// The graph has nodes that allocate or free memory.
    #[error(
        "the graph has {nodes} nodes that allocate or free memory: the driver may move their allocations \
         between replays, and frees them before each. Acquire from the capture, set a \
         `Capture::workspace` for a library that allocates, or allocate before the capture"
    )]
    MemoryNodes {
        /// The number of such nodes.
        nodes: usize,
    },
    /// The memory of a node cannot be read from the graph, so it cannot be verified. The node is of
    /// an unsupported kind, such as a conditional one, or a copy or fill whose addresses cannot be
    /// computed.
    #[error(
        "the memory of a node of kind {kind:?} cannot be verified: {reason}. Use kernels, fills and copies instead, \
         or run the work outside the graph"
    )]
    UnreadableNode {
        /// The kind of the node.
        kind: NodeKind,
        /// The reason for which its memory cannot be read.
        reason: UnreadableReason,
    },
    /// The capture was invalidated while its body ran, or ended or begun again without the session:
    /// by a call in the body, or by another thread if the [mode](crate::CaptureMode) forbids its
    /// call.
    ///
    /// If the responsible call returns an error and the body returns that error, it comes in place
    /// of this one, and its text names the cause. The driver does not report the call afterwards.
    /// So the text of this error lists all possible ones, with advice for each.
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
    /// The crate contradicts itself. This is a bug in `pool-graph`, and not the caller's fault.
    #[error("this is a bug in pool-graph, please report it: {found}")]
    Internal {
        /// The contradiction.
        found: &'static str,
    },
    /// Work entered a stream of the session, and so the graph, without the capture.
    #[error(
        "work entered stream {stream:#x} without the capture, and the graph would not own its memory: \
         put it there by `enqueue`, or on another stream"
    )]
    ForeignWork {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// A node of the graph belongs to no operation of the capture, to no scope and to no
    /// [enqueued](crate::Capture::enqueue) work. It was added otherwise, or is of a kind that a
    /// scope does not add.
    #[error(
        "a node of kind {kind:?} entered the graph, and no operation of the body through the capture \
         added it: add it by `enqueue`, or keep other threads off the streams of the session"
    )]
    ForeignNode {
        /// The kind of the node.
        kind: NodeKind,
    },
    /// A fill or a copy in the graph uses memory that the graph does not own, and belongs to no
    /// operation of the capture.
    #[error(
        "a fill or a copy of {bytes} bytes at {address:#x} entered the graph, which does not own them: \
         lease the block, or put the work there by `enqueue`"
    )]
    ForeignMemory {
        /// The start of the memory.
        address: u64,
        /// Its bytes.
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
        /// The number of buffers with a pending copy and without a ticket. It includes those whose
        /// copy entered a graph that other code captured, which are never free again.
        pending: usize,
    },
    /// The buffers of the [`StagingPool`](crate::StagingPool) are too small.
    #[error(
        "{requested} bytes do not fit a buffer of the staging pool, which has {capacity}: create the pool \
         with larger ones"
    )]
    StagingTooSmall {
        /// The requested bytes.
        requested: usize,
        /// The bytes of each buffer.
        capacity: usize,
    },
    /// The graph has no such argument: it belongs to another capture, or has another length.
    #[error(
        "host argument {asked} belongs to another capture or has another length: the graph has {arguments}, use \
         those of its own capture"
    )]
    NoSuchArgument {
        /// The requested argument, from 0.
        asked: usize,
        /// The number of the graph's arguments.
        arguments: usize,
    },
}

impl CaptureError {
    /// Creates the error for an invalidated capture in `context`.
    pub(crate) fn invalidated(context: &CudaContext, mode: CaptureMode) -> Self {
        Self::Invalidated { mode, event_tracking: context.is_event_tracking() }
    }
}

impl From<NoHostMemory> for CaptureError {
    fn from(no_room: NoHostMemory) -> Self {
        Self::Memory(no_room.into())
    }
}

/// Converts the errors of cudarc's own calls in a body.
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

    /// A forwarded error has its text once in the chain, and no cause is lost.
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

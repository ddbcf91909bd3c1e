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
    #[error("no memory plan for the capture was found")]
    Plan(#[from] PlanError),
    /// The capture cannot follow the plan.
    #[error(transparent)]
    ArenaPlan(#[from] ArenaPlanError),
    /// Two temporaries share bytes, but the captured graph does not finish with one of them before
    /// it begins with the other. Their offsets come from a plan for another body, or for another
    /// order.
    #[error(
        "{first} and {second} share bytes, but the graph may still use one of them when the other \
         is acquired: make the stream `wait` before the acquire, or plan with a probe of this body"
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
    #[error("a default stream cannot be captured: create a stream with `new_stream`")]
    DefaultStream,
    /// The stream has already been added to the session.
    #[error("the session already contains stream {stream:#x}: pass each stream only once")]
    StreamTwice {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The stream or the memory belongs to another device or context.
    #[error(
        "the session belongs to device {session}, but the memory or stream belongs to device \
         {other} or to another context of that device: capture one graph for each context, and \
         order the replays with events"
    )]
    WrongContext {
        /// The ordinal of the session's device.
        session: usize,
        /// The ordinal of the other device.
        other: usize,
    },
    /// The stream is already being captured.
    #[error(
        "stream {stream:#x} is already being captured: end that capture, or use another stream"
    )]
    AlreadyCapturing {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The graph's stream is being captured, and the operation cannot become part of another graph.
    #[error(
        "the graph's stream is being captured, so the graph cannot {operation}: call this method \
         after the capture, or capture another stream"
    )]
    Capturing {
        /// The refused operation.
        operation: &'static str,
    },
    /// The arena already belongs to another graph or session.
    #[error(
        "the arena at {address:#x} belongs to another graph: give each graph its own arena, \
         because two graphs may run at once"
    )]
    ArenaInUse {
        /// The start of the arena.
        address: u64,
    },
    /// The graphs would share an arena but run on different streams. Graphs may share an arena only
    /// if they run on one stream.
    #[error(
        "the session uses stream {session:#x}, but the graph uses stream {graph:#x}: capture all \
         graphs that share an arena on the same stream"
    )]
    AnotherStream {
        /// The handle of the session's stream, as a number.
        session: u64,
        /// The handle of the graph's stream.
        graph: u64,
    },
    /// Two graphs on different streams share a block, and at least one of them writes it.
    #[error(
        "block {block} belongs to a graph on stream {graph:#x}, which is not ordered with stream \
         {session:#x}: use the same stream for both graphs, or only read the block in both"
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
    #[error("there is no branch {asked}: the session has {branches} branches, numbered from 0")]
    NoSuchBranch {
        /// The requested branch, counted from 0.
        asked: usize,
        /// The number of branches.
        branches: usize,
    },
    /// The view belongs to another capture.
    #[error("the memory belongs to another capture: use memory of this capture")]
    ForeignView,
    /// A scope is already open on the stream. A pool has at most one open scope.
    #[error(
        "a scope is already open on stream {stream} of the session: call `scope()` on that scope, \
         or end that scope first"
    )]
    ScopeOpen {
        /// The stream's index: 0 is the session's stream, 1 its first branch.
        stream: usize,
    },
    /// The memory is lent, either to device views, whose uses a capture cannot see, or to a scope
    /// between replays.
    #[error(
        "the memory at {address:#x} is still borrowed: drop the `ViewLoan` before the capture uses \
         the memory, or end the `CapturedGraph::scope` before a graph of the arena runs"
    )]
    Lent {
        /// The start of the memory, as an address.
        address: u64,
    },
    /// No lease of the session holds the memory.
    #[error(
        "no lease of the session holds the {bytes} bytes at {address:#x}: lease the block before \
         the capture, so that the graph owns the block"
    )]
    NotLeased {
        /// The start of the memory.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// The session does not own the memory.
    #[error(
        "the session does not own the {bytes} bytes at {address:#x}: pass the memory to `own` or \
         `own_mut` of this session before the capture"
    )]
    NotOwned {
        /// The start of the memory, as an address.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// A fill or copy in the graph writes to memory that the session owns as read-only.
    #[error(
        "a fill or a copy writes {bytes} bytes at {address:#x}, which the session owns only for \
         reading: use `own_mut` for memory that graphs write"
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
        "the graph does not order two uses of the {bytes} bytes at {address:#x}, which the session \
         owns, and at least one of the uses writes: pass the memory to `enqueue`, so that the \
         capture orders the uses"
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
    #[error("the memory at {address:#x} cannot be copied to itself: use two different views")]
    SameMemory {
        /// The start of the memory, as an address.
        address: u64,
    },
    /// The size exceeds the address space.
    #[error(
        "{elements} elements of {size} bytes exceed the address space: check how the length was \
         computed"
    )]
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
        "step {step} of the body differs from the dry run or graph that the body must repeat \
         ({planned} steps): probe or capture the current body again"
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
        "temporary {temporary} is at offset {now} of the arena in the update, but at offset \
         {before} in the graph: drop views in the same order, or capture another graph"
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
        "the graph has {nodes} nodes that allocate or free memory, which the driver frees and may \
         move between replays: acquire from the capture, set a `Capture::workspace` for a library \
         that allocates, or allocate before the capture"
    )]
    MemoryNodes {
        /// The number of such nodes.
        nodes: usize,
    },
    /// The memory that a node uses cannot be read from the graph, so the node cannot be verified.
    /// Its kind is unsupported, such as a conditional node, or it is a copy or fill whose addresses
    /// cannot be computed.
    #[error(
        "the memory of a node of kind {kind:?} cannot be verified, because {reason}: use kernels, \
         fills and copies instead, or run the work outside the graph"
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
        "the capture was invalidated while its body ran; the possible causes are: {}",
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
        "work was submitted to stream {stream:#x} outside the capture, so the graph would not own \
         the memory of the work: submit the work with `enqueue`, or use another stream"
    )]
    ForeignWork {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// A node of the graph was added neither by an operation of the capture, nor by a scope, nor by
    /// [enqueued](crate::Capture::enqueue) work. Either other code added it, or its kind is one
    /// that a scope does not add.
    #[error(
        "the graph contains a node of kind {kind:?} that was not added through the capture: submit \
         the work with `enqueue`, or keep other threads off the session's streams"
    )]
    ForeignNode {
        /// The kind of the node.
        kind: NodeKind,
    },
    /// A fill or a copy in the graph uses memory that the graph does not own, and no operation of
    /// the capture added it.
    #[error(
        "the graph contains a fill or a copy of {bytes} bytes at {address:#x}, which the graph \
         does not own: lease the block, or submit the work with `enqueue`"
    )]
    ForeignMemory {
        /// The start of the memory.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// All buffers of the [`StagingPool`](crate::StagingPool) are in use.
    #[error(
        "all {buffers} buffers of the staging pool are in use: tickets hold {held}, and {pending} \
         are being copied; wait for a ticket and drop the ticket, or create the pool with more \
         buffers"
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
        "{requested} bytes do not fit in a staging buffer of {capacity} bytes: create the staging \
         pool with larger buffers"
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
        "host argument {asked} belongs to another capture or has another length: use one of the \
         {arguments} host arguments of the graph's own capture"
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
        let chain = "the graph does not match the layout of its memory: the edges form a cycle";
        assert_eq!(error_chain(&error).to_string(), chain);
        let driver = CaptureError::from(CudaError::NoDevice);
        assert_eq!(error_chain(&driver).to_string(), CudaError::NoDevice.to_string());
    }
}

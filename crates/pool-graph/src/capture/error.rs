//! Errors from captures and captured graphs. `Display` prints only the error's own message, and
//! `source` returns the underlying error.

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

/// The error type of capture sessions and captured graphs. The stream and the device remain usable
/// after any error.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CaptureError {
    /// The driver or cudarc returned an error.
    #[error(transparent)]
    Driver(#[from] CudaError),
    /// The arena or a lease returned an error.
    #[error(transparent)]
    Memory(#[from] GraphMemoryError<CudaError>),
    /// A pool that belongs to one of the body's scopes returned an error.
    #[error(transparent)]
    Pool(#[from] PoolError<CudaError>),
    /// The planner could not find a plan.
    #[error("the planner found no memory plan for the capture")]
    Plan(#[from] PlanError),
    /// The plan's offsets cannot be used in an arena.
    #[error(transparent)]
    ArenaPlan(#[from] ArenaPlanError),
    /// Two temporaries share bytes, but the captured graph might use one of them while the other is
    /// still in use. This error occurs if the plan was created for a different body or for a
    /// different order of the same operations.
    #[error(
        "{first} and {second} share bytes, but the graph may still be using one when it acquires \
         the other: make the stream `wait` before the second acquire, or create the plan from a \
         probe of this body"
    )]
    Unordered {
        /// The conflicting temporary with the lower number.
        first: TemporaryName,
        /// The conflicting temporary with the higher number.
        second: TemporaryName,
    },
    /// The captured graph does not match its memory layout.
    #[error("the graph does not match the layout of its memory")]
    Layout(#[from] LayoutViolation),
    /// The driver refused to update the executable graph.
    #[error(transparent)]
    Update(UpdateRefusal),
    /// The stream is a default stream. Default streams cannot be captured because work from other
    /// streams would become part of the capture.
    #[error("a default stream cannot be captured: create a stream with `new_stream`")]
    DefaultStream,
    /// The stream has already been added to the session.
    #[error("the session already contains stream {stream:#x}: pass each stream only once")]
    StreamTwice {
        /// The stream's numeric handle.
        stream: u64,
    },
    /// The stream or the memory does not belong to the session's device and context.
    #[error(
        "the session uses a context on device {session}, but the memory or stream belongs to \
         another context, on device {other}: capture one graph for each context, and order the \
         replays with events"
    )]
    WrongContext {
        /// The ordinal of the session's device.
        session: usize,
        /// The ordinal of the device to which the stream or the memory belongs.
        other: usize,
    },
    /// The stream is already being captured.
    #[error(
        "stream {stream:#x} is already being captured: end that capture, or use another stream"
    )]
    AlreadyCapturing {
        /// The stream's numeric handle.
        stream: u64,
    },
    /// The graph's stream is being captured, and the operation cannot become part of that capture.
    #[error(
        "the graph cannot {operation} while its stream is being captured: call this method after \
         the capture, or capture another stream"
    )]
    Capturing {
        /// The operation that was refused.
        operation: &'static str,
    },
    /// The arena already belongs to another graph or session.
    #[error(
        "the arena at {address:#x} already belongs to another graph or session, which may run at \
         the same time: use a separate arena for each graph"
    )]
    ArenaInUse {
        /// The arena's start address.
        address: u64,
    },
    /// The graphs would share an arena even though they run on different streams. Only graphs that
    /// run on the same stream may share an arena.
    #[error(
        "the session uses stream {session:#x}, but the graph that shares its arena uses stream \
         {graph:#x}: capture both graphs on the same stream"
    )]
    AnotherStream {
        /// The numeric handle of the session's stream.
        session: u64,
        /// The numeric handle of the graph's stream.
        graph: u64,
    },
    /// Graphs on different streams share a block, and at least one of them writes to it.
    #[error(
        "two graphs share block {block}, but their streams ({session:#x} and {graph:#x}) are not \
         ordered relative to each other: capture both graphs on the same stream, or make sure that \
         neither graph writes to the block"
    )]
    SharedBlock {
        /// The block's number.
        block: u64,
        /// The numeric handle of the stream that the session or the writing graph uses.
        session: u64,
        /// The numeric handle of the stream that the other graph uses.
        graph: u64,
    },
    /// The session does not contain the requested branch.
    #[error("there is no branch {asked}: the session has {branches} branches, numbered from 0")]
    NoSuchBranch {
        /// The index of the requested branch, counted from 0.
        asked: usize,
        /// The number of branches in the session.
        branches: usize,
    },
    /// The view belongs to another capture.
    #[error("the memory belongs to another capture: use memory from this capture")]
    ForeignView,
    /// A scope is already open on the stream. A pool can have only one open scope at a time.
    #[error(
        "a scope is already open on stream {stream} of the session: call `scope()` on the open \
         scope, or end that scope first"
    )]
    ScopeOpen {
        /// The stream's index in the session, which is 0 for the first stream and 1 for the first
        /// branch.
        stream: usize,
    },
    /// Device views, or a scope that runs between replays, currently borrow the memory. A capture
    /// cannot observe how device views are used.
    #[error(
        "the memory at {address:#x} is still borrowed: drop the `ViewLoan` before the capture uses \
         the memory, or end the `CapturedGraph::scope` before you run a graph that uses the arena"
    )]
    Lent {
        /// The start address of the memory.
        address: u64,
    },
    /// None of the session's leases contain the memory.
    #[error(
        "the session has no lease on the {bytes} bytes at {address:#x}: lease the block before the \
         capture so that the graph owns it"
    )]
    NotLeased {
        /// The start address of the memory.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// The session does not own the memory.
    #[error(
        "the session does not own the {bytes} bytes at {address:#x}: before the capture, pass the \
         memory to the session's method `own` or `own_mut`"
    )]
    NotOwned {
        /// The start address of the memory.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// A fill or a copy in the graph writes to memory that this session's graphs may only read.
    #[error(
        "a fill or a copy writes {bytes} bytes at {address:#x}, but in this session, graphs may \
         only read this memory: use `own_mut` for memory that a graph writes to"
    )]
    ReadOnly {
        /// The start address of the written range.
        address: u64,
        /// The size of the written range in bytes.
        bytes: u64,
    },
    /// The captured graph does not order two uses of session-owned memory, although at least one of
    /// them is a write.
    #[error(
        "two uses of the session's {bytes} bytes at {address:#x} may run at the same time, and at \
         least one of them is a write: pass the memory to `enqueue` so that the capture can order \
         them"
    )]
    UnorderedUses {
        /// The start address of the memory.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// The source and the destination have different lengths.
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
        /// The start address of the memory.
        address: u64,
    },
    /// The size exceeds the device's address space.
    #[error(
        "{elements} elements of {size} bytes each exceed the address space: check how the length \
         was computed"
    )]
    SizeOverflow {
        /// The requested number of elements.
        elements: usize,
        /// The size of each element in bytes.
        size: usize,
    },
    /// The body's steps differ from the recorded steps that it must repeat. A capture must repeat
    /// the steps of the dry run from which its plan was created. An update must repeat the steps of
    /// the captured body. A step also counts as different if it uses a different block or writes to
    /// a block that was previously only read.
    #[error(
        "step {step} of the body does not match the earlier dry run or graph, which had \
         {planned} steps: probe or capture the current body again"
    )]
    Diverged {
        /// The number of the first step that differs, counted from 1.
        step: usize,
        /// The number of steps in the dry run or in the earlier capture.
        planned: usize,
    },
    /// During an update, a temporary's offset changed because views were dropped in a different
    /// order.
    #[error(
        "the update moves temporary {temporary} from offset {before} of the arena to offset {now}: \
         drop the views in the same order as before, or capture another graph"
    )]
    Moved {
        /// The index of the temporary, counted from 0.
        temporary: usize,
        /// The temporary's offset in the captured graph.
        before: u64,
        /// The temporary's offset during the update.
        now: u64,
    },
    /// The graph contains nodes that allocate or free memory.
    #[error(
        "the graph contains {nodes} nodes that allocate or free memory, and the driver may free or \
         move this memory between replays: acquire the memory from the capture, pass a \
         `Capture::workspace` to the library that allocates, or allocate before the capture"
    )]
    MemoryNodes {
        /// The number of nodes that allocate or free memory.
        nodes: usize,
    },
    /// The graph does not reveal which memory a node accesses, so the node cannot be verified. Some
    /// kinds of nodes, such as conditional nodes, are not supported. This error also occurs for a
    /// copy or a fill whose addresses cannot be computed.
    #[error(
        "the memory accesses of a node of kind {kind:?} cannot be verified, because {reason}: use \
         only kernels, fills, and copies, or run the work outside the graph"
    )]
    UnreadableNode {
        /// The node's kind.
        kind: NodeKind,
        /// The reason the node's memory accesses cannot be determined.
        reason: UnreadableReason,
    },
    /// The capture was invalidated while its body was running, or code outside the session ended or
    /// restarted the capture. The cause is a call that the [mode](crate::CaptureMode) forbids, made
    /// either in the body or on another thread.
    ///
    /// The call that invalidated the capture might have returned an error to the body. If the body
    /// returns this error, the capture fails with the same error. The text of the returned error
    /// states the cause. If the body returns no error, the cause is unknown, because the driver
    /// does not report which call invalidated the capture. The error message of `Invalidated` lists
    /// all possible calls, with advice for each one.
    #[error(
        "the capture was invalidated while its body was running. Possible causes: {}",
        PossibleCauses { mode: *mode, event_tracking: *event_tracking }
    )]
    Invalidated {
        /// The capture's mode.
        mode: CaptureMode,
        /// `true` if cudarc tracks events in the capture's context.
        event_tracking: bool,
    },
    /// The crate's internal state is inconsistent. This error indicates a bug in `pool-graph`, not
    /// a mistake by the caller.
    #[error("please report this bug in pool-graph: {found}")]
    Internal {
        /// A description of the inconsistency.
        found: &'static str,
    },
    /// Work was enqueued directly on one of the session's streams, rather than through the capture,
    /// and has become part of the graph.
    #[error(
        "code outside the capture submitted work to stream {stream:#x}, so the graph would not own \
         the memory that this work uses: submit the work with `enqueue`, or use another stream"
    )]
    ForeignWork {
        /// The stream's numeric handle.
        stream: u64,
    },
    /// This node was not added by any of the capture's operations, scopes, or
    /// [enqueued](crate::Capture::enqueue) work. Either other code added the node, or a scope added
    /// a node of an unsupported kind.
    #[error(
        "the graph contains a node of kind {kind:?} that was not added through the capture: submit \
         the work with `enqueue`, or stop other threads from using the session's streams"
    )]
    ForeignNode {
        /// The node's kind.
        kind: NodeKind,
    },
    /// A fill or a copy in the graph accesses memory that the graph does not own. No captured
    /// operation added this node.
    #[error(
        "a fill or a copy in the graph accesses {bytes} bytes at {address:#x}, which the graph \
         does not own: lease the block, or submit the work with `enqueue`"
    )]
    ForeignMemory {
        /// The start address of the memory.
        address: u64,
        /// The size of the memory in bytes.
        bytes: u64,
    },
    /// All buffers of the [`StagingPool`](crate::StagingPool) are in use.
    #[error(
        "all {buffers} buffers of the staging pool are in use (tickets hold {held}, and {pending} \
         are being copied): wait for a ticket to finish and drop it, or create the pool with more \
         buffers"
    )]
    StagingExhausted {
        /// The number of buffers in the pool.
        buffers: usize,
        /// The number of buffers that belong to tickets, including tickets passed to `mem::forget`.
        held: usize,
        /// The number of buffers that do not belong to a ticket but still have a pending copy. If
        /// another graph contains a copy that uses the buffer, the buffer never becomes available
        /// again.
        pending: usize,
    },
    /// The buffers of the [`StagingPool`](crate::StagingPool) are too small for the copy.
    #[error(
        "{requested} bytes do not fit in a staging buffer of {capacity} bytes: create the staging \
         pool with larger buffers"
    )]
    StagingTooSmall {
        /// The number of bytes to be copied.
        requested: usize,
        /// The size of each buffer in bytes.
        capacity: usize,
    },
    /// The argument belongs to another capture, or the new elements have the wrong length.
    #[error(
        "host argument {asked} belongs to another capture or has the wrong length: use one of the \
         {arguments} host arguments from the capture that produced this graph, with its original \
         length"
    )]
    NoSuchArgument {
        /// The index of the requested argument, counted from 0.
        asked: usize,
        /// The number of host arguments in the graph.
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

/// Converts an error that a capture's body received from cudarc.
impl From<DriverError> for CaptureError {
    fn from(error: DriverError) -> Self {
        Self::Driver(CudaError::Call { call: "a cudarc call", code: error.into() })
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

    /// Checks that the error chain contains every cause and that it does not contain any text
    /// twice.
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
        let chain =
            "the graph does not match the layout of its memory: the graph's edges form a cycle";
        assert_eq!(error_chain(&error).to_string(), chain);
        let driver = CaptureError::from(CudaError::NoDevice);
        assert_eq!(error_chain(&driver).to_string(), CudaError::NoDevice.to_string());
    }
}

//! Why a capture, or a captured graph, could not do what it was asked. `Display` says an error's own part,
//! `source` what was below it.

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
    /// The driver refused something.
    #[error(transparent)]
    Driver(#[from] CudaError),
    /// The arena, or a lease.
    #[error(transparent)]
    Memory(#[from] GraphMemoryError<CudaError>),
    /// A pool of the body's scopes.
    #[error(transparent)]
    Pool(#[from] PoolError<CudaError>),
    /// The planner has no plan.
    #[error("there is no plan for the capture")]
    Plan(#[from] PlanError),
    /// The plan cannot be followed.
    #[error(transparent)]
    ArenaPlan(#[from] ArenaPlanError),
    /// Two temporaries share bytes, and the graph that came out does not finish with the one before it begins with
    /// the other. A plan of another body, or of another order, has put them there.
    #[error(
        "{first} and {second} share bytes, and the graph does not finish with the one before the other is taken: \
         make a stream `wait` before that, or plan with a probe of this body"
    )]
    Unordered {
        /// The temporary of the lower number.
        first: TemporaryName,
        /// The other one.
        second: TemporaryName,
    },
    /// The graph that came out is not right for its memory.
    #[error("the graph is not right for its memory")]
    Layout(#[from] LayoutViolation),
    /// The executable graph cannot take what an update brings.
    #[error(transparent)]
    Update(UpdateRefusal),
    /// The stream is the default one, which cannot be captured: what other streams do would enter.
    #[error("a default stream cannot be captured: make one with `new_stream`")]
    DefaultStream,
    /// The session has the stream already.
    #[error("the session has stream {stream:#x} already: give each stream once")]
    StreamTwice {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The stream, or the arena, is one of another device or context.
    #[error(
        "the session is on device {session}, and what it was given on device {other} or in another \
         context of it. A session has the memory of one context: capture a graph for each device, and \
         order their replays by events"
    )]
    WrongContext {
        /// Ordinal of the session's device.
        session: usize,
        /// Ordinal of the other one.
        other: usize,
    },
    /// A stream is being captured already.
    #[error("stream {stream:#x} is being captured already: end that capture, or use other streams")]
    AlreadyCapturing {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// The graph's stream is being captured, and this cannot be a part of another graph.
    #[error(
        "the graph's stream is being captured, so it cannot {operation}: do it after the capture, or on \
         another stream"
    )]
    Capturing {
        /// What was asked.
        operation: &'static str,
    },
    /// The arena belongs to another graph, or to a session.
    #[error(
        "the arena at {address:#x} belongs to another graph: give each graph an arena, for two of them \
         may run at once"
    )]
    ArenaInUse {
        /// Where the arena begins.
        address: u64,
    },
    /// Graphs share an arena only where they run on one stream, one after the other.
    #[error(
        "the session is on stream {session:#x} and the graph on {graph:#x}: graphs that share an arena \
         run one after the other, on one stream"
    )]
    AnotherStream {
        /// The handle of the session's stream, as a number.
        session: u64,
        /// That of the graph's.
        graph: u64,
    },
    /// Graphs on two streams have a block together, and one of them writes it.
    #[error(
        "block {block} is a graph's on stream {graph:#x}, and stream {session:#x} comes neither before \
         nor after that: use one stream, or only read the block on both"
    )]
    SharedBlock {
        /// The block's number.
        block: u64,
        /// The handle of the session's stream, or of the graph's that was to write, as a number.
        session: u64,
        /// That of the other graph's.
        graph: u64,
    },
    /// The session has no such branch.
    #[error("there is no branch {asked}: the session has {branches}, counted from 0")]
    NoSuchBranch {
        /// The branch asked for, from 0.
        asked: usize,
        /// How many there are.
        branches: usize,
    },
    /// What was given belongs to another capture.
    #[error("the memory belongs to another capture: use what this one gave")]
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
        /// Where it begins.
        address: u64,
    },
    /// Memory that no lease of the session holds.
    #[error(
        "no lease of the session holds the {bytes} bytes at {address:#x}: lease the block before the \
         capture, so that the graph owns it"
    )]
    NotLeased {
        /// Where it begins.
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
        /// Where it begins.
        address: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// A fill or a copy of the graph writes memory that the session owns to be read.
    #[error(
        "a fill or a copy of {bytes} bytes at {address:#x} writes what the session owns to be read: give the memory to \
         `own_mut` where graphs write it"
    )]
    ReadOnly {
        /// Where the bytes that are written begin.
        address: u64,
        /// How many are written.
        bytes: u64,
    },
    /// Two uses of memory that the session owns are not ordered in the graph that came out, and one of them writes.
    #[error(
        "two uses of the {bytes} bytes at {address:#x}, which the session owns, are not ordered in the graph, and one of \
         them writes: name the memory in `enqueue`, and leave its order to the capture"
    )]
    UnorderedUses {
        /// Where the memory begins.
        address: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// Two lengths differ that must agree.
    #[error("{from} elements cannot be copied to {to}: the lengths must agree")]
    LengthMismatch {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        to: usize,
    },
    /// A copy of memory to itself.
    #[error("the memory at {address:#x} was to be copied to itself")]
    SameMemory {
        /// Its address.
        address: u64,
    },
    /// More bytes than an address can say.
    #[error("{elements} elements of {size} bytes are more than an address can say")]
    SizeOverflow {
        /// Elements asked for.
        elements: usize,
        /// Bytes of each.
        size: usize,
    },
    /// The body does something else than in the dry run that its plan was made from, or than in the
    /// capture of the graph that it is to update. To use another block, or to write what was read, is
    /// something else.
    #[error(
        "step {step} is not that of the dry run or graph that the body has to follow, which had \
         {planned}: probe, or capture, again with what it does now"
    )]
    Diverged {
        /// Which step it was, from 1.
        step: usize,
        /// How many that run had.
        planned: usize,
    },
    /// In an update, a temporary does not lie where the graph has it: views were dropped in another
    /// order.
    #[error(
        "temporary {temporary} of the update is at offset {now} of the arena, that of the graph at \
         {before}: drop views in the same order, or capture another graph"
    )]
    Moved {
        /// Which temporary, from 0.
        temporary: usize,
        /// Where it lies in the arena, for the graph.
        before: u64,
        /// Where it would lie.
        now: u64,
    },
    /// The graph allocates or frees memory by nodes of its own.
    #[error(
        "the graph has {nodes} nodes that allocate or free memory: the driver may move what they allocate \
         between replays, and takes it back before each. Acquire from the capture, set a \
         `Capture::workspace` where a library allocates, or allocate before it"
    )]
    MemoryNodes {
        /// How many such nodes there are.
        nodes: usize,
    },
    /// The memory that a node uses cannot be told from the graph, so that it cannot be verified: the node is of a kind
    /// that is not supported, as a conditional one, or a copy or fill whose addresses cannot be computed.
    #[error(
        "the memory of a node of kind {kind:?} cannot be verified: {reason}. Use kernels, fills and copies instead, \
         or run the work outside the graph"
    )]
    UnreadableNode {
        /// The kind of the node.
        kind: NodeKind,
        /// Why its memory cannot be told.
        reason: UnreadableReason,
    },
    /// The capture was invalidated while its body ran, or ended or begun anew past the session: by a call in the
    /// body, or of another thread where the [mode](crate::CaptureMode) allows none.
    ///
    /// Where the call that did it returns an error and the body returns that error, it comes in place of this one, and
    /// its text names the cause. The driver does not tell afterwards which call it was. So the text of this error lists
    /// all that are possible, with what to do instead.
    #[error(
        "the capture was invalidated while its body ran, by one of these: {}",
        PossibleCauses { mode: *mode, event_tracking: *event_tracking }
    )]
    Invalidated {
        /// The mode of the capture.
        mode: CaptureMode,
        /// Whether cudarc tracks events in the capture's context.
        event_tracking: bool,
    },
    /// The crate contradicts itself. This is a bug in `pool-graph`, and no fault of the caller's.
    #[error("this is a bug in pool-graph, please report it: {found}")]
    Internal {
        /// What was found that cannot be.
        found: &'static str,
    },
    /// Something came onto a stream of the session, and so into the graph, that the body did not put
    /// there through the capture.
    #[error(
        "work came onto stream {stream:#x} past the capture, and the graph would not own the memory that \
         it names: put it there by `enqueue`, or on another stream"
    )]
    ForeignWork {
        /// The stream's handle, as a number.
        stream: u64,
    },
    /// A node of the graph is of no operation of the capture, of no scope and of no work that was
    /// [enqueued](crate::Capture::enqueue): it came from elsewhere, or is of a kind that a scope does not put
    /// there.
    #[error(
        "a node of kind {kind:?} came into the graph, and nothing that the body did through the capture \
         put it there: put it there by `enqueue`, or keep other threads off the streams of the session"
    )]
    ForeignNode {
        /// What it does.
        kind: NodeKind,
    },
    /// A fill or a copy in the graph names memory that the graph does not own, and that no operation of the
    /// capture answers for.
    #[error(
        "a fill or a copy of {bytes} bytes at {address:#x} came into the graph, which does not own them: \
         lease the block, or put the work there by `enqueue`"
    )]
    ForeignMemory {
        /// Where it begins.
        address: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// All buffers of the [`StagingPool`](crate::StagingPool) are out.
    #[error(
        "all {buffers} buffers of the staging pool are out: tickets hold {held}, and {pending} are being \
         copied. Wait for a ticket, and drop it, or make the pool with more"
    )]
    StagingExhausted {
        /// How many there are.
        buffers: usize,
        /// How many tickets have, also those that were forgotten.
        held: usize,
        /// How many are being copied from or to, without a ticket; also those whose copy went into a graph that
        /// somebody else captured meanwhile, which are never free again.
        pending: usize,
    },
    /// The buffers of the [`StagingPool`](crate::StagingPool) are too small.
    #[error(
        "{requested} bytes do not fit a buffer of the staging pool, which has {capacity}: make the pool \
         with larger ones"
    )]
    StagingTooSmall {
        /// Bytes asked for.
        requested: usize,
        /// Bytes that each has.
        capacity: usize,
    },
    /// The graph has no such argument: it is another capture's, or of another length.
    #[error(
        "host argument {asked} is another capture's or of another length: the graph has {arguments}, use \
         what its own capture gave"
    )]
    NoSuchArgument {
        /// The argument asked for, from 0.
        asked: usize,
        /// How many the graph has.
        arguments: usize,
    },
}

impl CaptureError {
    /// The error for a capture in `context` that is found invalidated.
    pub(crate) fn invalidated(context: &CudaContext, mode: CaptureMode) -> Self {
        Self::Invalidated { mode, event_tracking: context.is_event_tracking() }
    }
}

impl From<NoHostMemory> for CaptureError {
    fn from(no_room: NoHostMemory) -> Self {
        Self::Memory(no_room.into())
    }
}

/// The errors of cudarc's own calls in a body.
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

    /// What is passed on as it is says its text once, and nothing between it and what is below it is lost.
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
        assert_eq!(error.to_string(), "the graph is not right for its memory");
        let chain = "the graph is not right for its memory: the edges form a circle";
        assert_eq!(error_chain(&error).to_string(), chain);
        let driver = CaptureError::from(CudaError::NoDevice);
        assert_eq!(error_chain(&driver).to_string(), CudaError::NoDevice.to_string());
    }
}

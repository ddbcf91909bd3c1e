//! A captured graph that owns its memory and can be replayed.

use std::fmt;
use std::sync::Arc;

use pool_driver::calls::synchronize;
use pool_driver::capture::is_capturing;
use pool_driver::context::bind;
use pool_driver::cudarc::driver::CudaStream;
#[cfg(feature = "record")]
use pool_plan::GraphRecord;

use super::runs::{Parts, Runs};
use crate::capture::copy_buffers::CopyBuffers;
use crate::capture::error::CaptureError;
use crate::capture::footprint::Footprint;
use crate::capture::memory::OwnArena;
#[cfg(feature = "record")]
use crate::capture::record;
use crate::capture::registry::StreamUse;
use crate::capture::retired_graph::RetiredGraphEntry;
use crate::capture::setup::{CaptureSetup, Pattern, VerifiedGraph};
use crate::driver::Executable;
use crate::verify::Verification;

/// A captured graph that is ready to be replayed and owns all memory that its nodes use.
///
/// # Why this is sound
///
/// - *The graph owns the memory at every address in its nodes.* In a capture, safe code can use
///   only views of the arena and views of blocks that the session's leases keep alive. Only graphs
///   on the same stream use the arena. A caller that enqueues other work must use `unsafe` code and
///   must guarantee that the memory used by this work stays valid. The capture records each
///   stream's last nodes to detect work that other code enqueues on its streams. Every node in the
///   graph must belong to a captured operation. No other code can end the capture and run its
///   graph, because the capture begins on a private stream.
/// - *The graph's memory stays in place for as long as the graph exists.* Leases keep the memory
///   alive, even after the pool or arena has been dropped. A leased block can be neither returned
///   nor allocated again. Resetting an arena invalidates its leases, and graphs that hold such a
///   lease can no longer be replayed.
/// - *Memory is freed only after the last run that uses it.* Only this value can launch the
///   executable graph, because its handle is never exposed. All launches use the same stream.
///   Dropping the graph first synchronizes this stream. Afterward, the executable graph, the graph,
///   the state, and the leases are dropped in that order. If another thread is capturing when the
///   graph is dropped, the state and the leases are dropped immediately. The driver's objects are
///   destroyed only after the other thread's capture has ended. If the stream cannot be
///   synchronized, nothing is freed. Synchronization fails if the stream is being captured
///   explicitly, or if the driver returns an error even though the context still exists.
/// - *Two runs never overlap.* All runs of a graph use the same stream, as do the runs of all
///   graphs that [share](crate::CaptureSession::beside) an arena. Graphs on different streams may
///   share a block only if none of them writes to it. Before each write to a block, even during an
///   update, the capture checks that no graph on another stream uses the block.
/// - *Within a run, each byte has only one user at a time.* The verifier has read the nodes and
///   edges of the finished graph. The verifier has checked that full edges order all temporaries
///   that share bytes.
/// - *An update takes effect either completely or not at all.* An update is a separate capture that
///   uses the graph's memory. The update's body performs the same steps as before, and the verifier
///   checks the result, as it did for the original capture. The old nodes and their host memory are
///   destroyed only when no run uses them. By the time the old nodes are destroyed, all earlier
///   runs have completed, and all later runs use the new nodes. If the driver does not report
///   whether the update took place, the graph retains the host memory of both the old and the new
///   nodes.
/// - *Between two runs, the arena's memory may be lent.* A [scope](Self::scope) uses the same
///   stream as the graph, and ends before the next run begins. Before a run, each graph that shares
///   the arena also checks that the arena is not lent.
/// - *Nonblocking copies to and from the graph's blocks run on the graph's stream.* For these
///   copies, the driver accesses no host memory except the buffers of a
///   [`StagingPool`](crate::StagingPool). Each buffer stays unchanged until an event that follows
///   the buffer's copy has completed. The graph retains the copied blocks and their leases until
///   the copies have completed. If a ticket is passed to `mem::forget`, its buffer is never reused.
/// - *The modules of the graph's kernels stay loaded.* Each of the graph's driver handles owns the
///   functions that scopes have launched and the values that were passed to
///   [`keep`](crate::Capture::keep). A handle owns these values until the driver has destroyed the
///   handle. A caller that enqueues other work guarantees that the modules used by this work stay
///   loaded.
///
/// | misuse | outcome |
/// |---|---|
/// | a view or the capture used after the body has ended | does not compile |
/// | a replay during another replay call (`&self`, two threads) | does not compile: `&mut` |
/// | cloning the executable graph, or launching it elsewhere | no such method exists |
/// | returning a block that the graph leases | `LeasedBlock` |
/// | dropping the pool, arena, stream or context before the graph | the graph keeps them alive |
/// | dropping the kernels that a captured scope has launched | the graph keeps their modules loaded |
/// | replaying after the arena was reset | `StaleLease` |
/// | using one arena for two graphs that could run concurrently | `ArenaInUse`, `AnotherStream` |
/// | using a block that a graph writes in a graph on another stream | `SharedBlock` |
/// | putting work on a stream of the session without using the capture | `ForeignWork`, `ForeignMemory`, `ForeignNode` |
/// | ending the capture in its body | an error from cudarc's call; `Invalidated` |
/// | a replay, upload, read or write, blocking or not, while the stream is being captured | `Capturing` |
/// | using a block that a graph was fed with in a graph on another stream | `SharedBlock` |
/// | dropping the graph, stream or staging pool while steps are in flight | the graph and the pool wait; the tickets stay valid |
/// | forgetting a ticket | its buffer is never used again; once no buffer is left, `StagingExhausted` |
/// | a replay, an update or another scope while a [`scope`](Self::scope) uses the arena's memory | `Lent` |
/// | keeping a view of such a scope after the scope has ended | does not compile |
/// | an allocation that became a node | `MemoryNodes` |
/// | dropping or updating a graph during a capture | its memory is freed immediately, its handles are destroyed after the capture |
/// | an update that performs other steps or creates other nodes | `Diverged`, `Update`; the graph is unchanged |
/// | updating a graph from its own body, or while its state is borrowed | does not compile |
///
/// ```compile_fail,E0521
/// # use pool_core::Scope;
/// # use pool_cuda::{Cuda, DeviceViewMut};
/// # use pool_graph::{CaptureError, CapturedGraph};
/// # fn f(mut graph: CapturedGraph<()>) {
/// let mut kept: Option<DeviceViewMut<'_, f32>> = None;
/// graph.scope(|scope: &mut Scope<'_, Cuda>| {
///     kept = Some(scope.try_acquire::<f32, _>(8)?); // a view of idle memory stays in the scope
///     Ok::<(), CaptureError>(())
/// });
/// # }
/// ```
/// ```compile_fail,E0499
/// # use pool_graph::{CaptureError, CapturedGraph};
/// # fn f(mut graph: CapturedGraph<()>) {
/// graph.scope(|_| graph.replay()); // not while its memory is lent
/// # }
/// ```
/// ```compile_fail,E0382
/// # fn f(graph: pool_graph::CapturedGraph<Vec<u8>>) {
/// let state = graph.into_state();
/// graph.footprint(); // the graph is gone with its memory
/// # }
/// ```
/// ```compile_fail,E0596
/// # fn f(graph: &pool_graph::CapturedGraph<()>) {
/// graph.replay(); // one at a time
/// # }
/// ```
/// ```compile_fail,E0599
/// # fn f(graph: &pool_graph::CapturedGraph<()>) {
/// let another = (*graph).clone(); // its runs are its own
/// # }
/// ```
/// ```compile_fail,E0277
/// # use pool_graph::{CaptureError, PreparedCapture};
/// # fn f(prepared: PreparedCapture) {
/// prepared.capture((), |capture, (): &mut ()| {
///     std::thread::scope(|scope| {
///         scope.spawn(|| capture.main()); // the capture is one thread's
///     });
///     Ok::<(), CaptureError>(())
/// });
/// # }
/// ```
/// ```compile_fail,E0599
/// # fn f(lease: &pool_graph::Lease) {
/// let another = (*lease).clone(); // each graph has leases of its own
/// # }
/// ```
/// ```compile_fail,E0382
/// # use pool_graph::{CaptureSession, CudaArena};
/// # fn f(session: CaptureSession, arena: CudaArena) {
/// let prepared = session.prepare(arena);
/// arena.reset(); // the arena is the graph's
/// # }
/// ```
/// ```compile_fail,E0521
/// # use pool_graph::{CaptureError, CaptureView, PreparedCapture};
/// # fn f(prepared: PreparedCapture) {
/// let mut kept: Option<CaptureView<'_, f32>> = None;
/// prepared.capture((), |capture, (): &mut ()| {
///     kept = Some(capture.acquire::<f32>(8)?); // a view stays in the body
///     Ok::<(), CaptureError>(())
/// });
/// # }
/// ```
/// ```compile_fail,E0596
/// # use pool_graph::{CaptureError, CapturedGraph};
/// # fn f(graph: &CapturedGraph<()>) {
/// graph.update(|_, ()| Ok::<(), CaptureError>(())); // replays are of the old nodes or of the new ones
/// # }
/// ```
/// ```compile_fail,E0499
/// # use pool_graph::{CaptureError, CapturedGraph};
/// # fn f(mut graph: CapturedGraph<u32>) {
/// let factor = graph.state().unwrap();
/// graph.update(|_, _: &mut u32| Ok::<(), CaptureError>(())); // its body has the state
/// *factor = 2;
/// # }
/// ```
/// ```compile_fail,E0499
/// # use pool_graph::{CaptureError, CapturedGraph};
/// # fn f(mut graph: CapturedGraph<()>) {
/// graph.update(|_, ()| graph.replay()); // not in its own capture
/// # }
/// ```
/// ```compile_fail,E0521
/// # use pool_graph::{CaptureError, CaptureView, CapturedGraph};
/// # fn f(mut graph: CapturedGraph<()>) {
/// let mut kept: Option<CaptureView<'_, f32>> = None;
/// graph.update(|capture, (): &mut ()| {
///     kept = Some(capture.acquire::<f32>(8)?); // a view stays in the body
///     Ok::<(), CaptureError>(())
/// });
/// # }
/// ```
#[must_use = "a dropped graph frees its memory"]
pub struct CapturedGraph<S = ()> {
    // Rust drops fields in declaration order, so their order matters. The executable graph, the
    // graph, and the host arguments are dropped first, once the last run has completed. The state
    // is dropped next, because runs might have used it. The leases and the arena are dropped last.
    // The stream and its context outlive all of these objects.
    pub(super) runs: Runs,
    /// The caller's state, or `None` once the state has been taken.
    pub(super) state: Option<S>,
    pub(super) setup: Arc<CaptureSetup>,
    pub(super) pattern: Pattern,
    pub(super) footprint: Footprint,
    pub(super) verified: Verification,
    /// The record of the graph's temporaries, without their offsets.
    #[cfg(feature = "record")]
    record: Option<GraphRecord>,
}

impl<S> CapturedGraph<S> {
    pub(crate) fn new(
        executable: Executable,
        verified_graph: VerifiedGraph,
        setup: Arc<CaptureSetup>,
        state: S,
        (entry, staged): (RetiredGraphEntry, CopyBuffers),
    ) -> Self {
        #[cfg(feature = "record")]
        let record = verified_graph.record;
        let VerifiedGraph { graph, host, arguments, pattern, shares, footprint, verified, .. } =
            verified_graph;
        let doubtful = Vec::new();
        let parts = Parts { executable, graph, host, arguments, doubtful, staged, shares };
        let runs = Runs::new(parts, Arc::clone(setup.resources()), entry);
        Self {
            runs,
            state: Some(state),
            setup,
            pattern,
            footprint,
            verified,
            #[cfg(feature = "record")]
            record,
        }
    }

    /// Enqueues a run of the graph on the session's stream. The run begins once all work previously
    /// enqueued on this stream has completed. A replay makes two driver calls. The first call sets
    /// the current context, and the second call launches the graph.
    ///
    /// # Errors
    ///
    /// Returns [`StaleLease`](crate::GraphMemoryError::StaleLease) if the arena has been reset,
    /// [`CaptureError::Capturing`] if the stream is being captured, or the driver's error.
    pub fn replay(&mut self) -> Result<(), CaptureError> {
        let _not_lent = self.setup.resources().memory().begin_run()?;
        let _in_use = self.check_sessions("be replayed")?;
        let stream = self.setup.resources().stream();
        Ok(self.runs.parts()?.executable.launch(stream)?)
    }

    /// Uploads the graph's launch data to the device so that the first launch does not have to do
    /// so.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`replay`](Self::replay).
    pub fn upload(&mut self) -> Result<(), CaptureError> {
        self.setup.resources().memory().check()?;
        let _in_use = self.check_stream("be uploaded")?;
        let stream = self.setup.resources().stream();
        Ok(self.runs.parts()?.executable.upload(stream)?)
    }

    /// Blocks the host until all runs of the graph have completed.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::Capturing`] if the stream is being captured, or the error from any
    /// previously enqueued work that failed.
    pub fn synchronize(&mut self) -> Result<(), CaptureError> {
        let _in_use = self.check_stream("be waited for")?;
        Ok(synchronize(self.stream())?)
    }

    /// Waits until all runs of the graph have completed, and returns the graph's state.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`synchronize`](Self::synchronize).
    pub fn state(&mut self) -> Result<&mut S, CaptureError> {
        self.synchronize()?;
        state_of(&mut self.state)
    }

    /// Waits until all runs of the graph have completed, frees its memory, and returns its state.
    ///
    /// # Errors
    ///
    /// If the host cannot wait for these runs, the call returns the graph unchanged. The host
    /// cannot wait for the runs if the graph's stream is being captured explicitly, or if the
    /// driver returns an error.
    #[expect(clippy::result_large_err, reason = "it is the caller's value")]
    pub fn into_state(mut self) -> Result<S, Self> {
        if self.setup.resources().come_to_rest().is_err() {
            return Err(self);
        }
        let state = self.state.take();
        state.ok_or(self)
    }

    /// Returns the graph's stream.
    #[must_use]
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.setup.resources().stream()
    }

    /// Returns the total size of the graph's temporaries in bytes.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// Returns the record of the graph's temporaries, in a form that can be written to a file for
    /// `pool-plan`. The record contains the order of the temporaries, their offsets in the arena,
    /// and the calls that allocated them. Returns `None` if the graph has no temporaries. A
    /// [probe](crate::Probe::record) returns the same record.
    ///
    /// The record does not include leased blocks. The arena may be larger than the graph requires,
    /// and other code may use the bytes that precede the temporaries. The record omits the offsets
    /// if they rely on an order that only the verifier found in the graph.
    #[cfg(feature = "record")]
    #[must_use]
    pub fn record(&self) -> Option<GraphRecord> {
        self.record.as_ref().map(|record| record::with_offsets(record, &self.pattern.offsets))
    }

    /// Returns the number of checks that the verifier performed on the graph.
    #[must_use]
    pub fn verified(&self) -> Verification {
        self.verified
    }

    /// Returns the graph's arena so that other graphs can share it.
    pub(crate) fn arena(&self) -> &Arc<OwnArena> {
        &self.setup.resources().memory().arena
    }

    /// Prevents sessions from capturing the graph's stream until the returned value is dropped.
    fn check_sessions(&self, operation: &'static str) -> Result<StreamUse, CaptureError> {
        let in_use = StreamUse::begin(self.setup.resources().runs_on())
            .ok_or(CaptureError::Capturing { operation })?;
        bind(self.stream().context())?;
        Ok(in_use)
    }

    /// Returns an error if the stream is being captured explicitly. Until the returned value is
    /// dropped, no session can capture the stream.
    pub(super) fn check_stream(&self, operation: &'static str) -> Result<StreamUse, CaptureError> {
        let in_use = self.check_sessions(operation)?;
        match is_capturing(self.stream())? {
            true => Err(CaptureError::Capturing { operation }),
            false => Ok(in_use),
        }
    }
}

/// Returns the graph's state, which lives as long as the graph.
pub(super) fn state_of<S>(state: &mut Option<S>) -> Result<&mut S, CaptureError> {
    state.as_mut().ok_or(CaptureError::Internal { found: "a graph has no state" })
}

impl<S> Drop for CapturedGraph<S> {
    fn drop(&mut self) {
        // If the host cannot wait for a run, that run might still use the state later. The
        // destructor therefore tries twice to wait. If both attempts fail, the state is leaked,
        // because the queue of deferred frees cannot store it.
        let resources = self.setup.resources();
        let rest = || resources.come_to_rest().or_else(|_| resources.come_to_rest());
        if self.state.is_some() && rest().is_err() {
            std::mem::forget(self.state.take());
        }
    }
}

impl<S> fmt::Debug for CapturedGraph<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapturedGraph")
            .field("footprint", &self.footprint)
            .field("verified", &self.verified)
            .finish_non_exhaustive()
    }
}

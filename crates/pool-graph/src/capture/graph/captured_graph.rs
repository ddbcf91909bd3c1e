//! A captured graph that owns its memory.

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
use crate::capture::graph_leftovers::LeftoversPlace;
use crate::capture::memory::OwnArena;
#[cfg(feature = "record")]
use crate::capture::record;
use crate::capture::registry::StreamUse;
use crate::capture::setup::{CaptureSetup, Pattern, VerifiedGraph};
use crate::driver::Executable;
use crate::verify::Verification;

/// A captured graph that owns all memory of its nodes and is ready to be replayed.
///
/// # Why this is sound
///
/// 1. *The graph owns the memory at every address in its nodes.* Safe code can only record views of
///    two kinds: views of the arena, which only graphs on the same stream use, and views of blocks
///    that a lease of the session keeps. A caller that enqueues other work promises the same, in
///    `unsafe` code. Work that was put on a stream without using the capture is detected. The
///    capture knows the last nodes of each stream, and each node of the graph must belong to one of
///    its operations. No other code can end the capture and run its graph, because the capture
///    begins on a private stream.
/// 2. *That memory stays in place while the graph lives.* Leases keep it alive after the pool or
///    arena has been dropped. A leased block can be neither returned nor allocated again. Resetting
///    an arena changes its generation, and the graph then refuses to run.
/// 3. *Memory is freed only after the last run that uses it.* The executable graph is never
///    exposed, so only this value can launch it, always on one stream. Dropping the graph
///    synchronizes that stream. It then drops the executable graph, the graph, the state and
///    finally the leases. If another thread is capturing, the state and the leases are dropped, and
///    the driver's objects are destroyed after that capture. If the stream cannot be synchronized,
///    nothing is freed. This happens if the stream is being captured explicitly, or if the driver
///    returns an error other than that of a destroyed context.
/// 4. *Two runs never overlap.* All runs of a graph are on one stream, and graphs that
///    [share](crate::CaptureSession::beside) an arena run on the same stream. Graphs on different
///    streams may only read the blocks that they share. This is checked before an operation that
///    writes is captured, including in an update.
/// 5. *Within a run, bytes have one user at a time.* The verifier has read the graph back and found
///    that full-completion edges order every two temporaries that share bytes.
/// 6. *An update takes effect completely or not at all.* It is a separate capture into the graph's
///    memory. Its body performs the same steps, and the result is verified like the first capture.
///    The replaced nodes and their host memory are destroyed only when no run uses them: earlier
///    runs have been synchronized, and later runs use the new nodes. If the driver does not report
///    whether the update was performed, the host memory of both is kept.
/// 7. *Between two runs, the arena's memory may be lent.* A [scope](Self::scope) works on the same
///    stream, and ends before the next run begins. Graphs that share the arena also check this.
/// 8. *Work that feeds the graph without waiting is also ordered by that stream.* The driver copies
///    only from and to buffers of a [`StagingPool`](crate::StagingPool). Each buffer stays
///    unchanged until an event after its copy has completed. Blocks and leases are kept as they are
///    for a run (3). A forgotten ticket keeps its buffer.
///
/// | misuse | outcome |
/// |---|---|
/// | a view or the capture used after the body has ended | does not compile |
/// | a replay during another replay call (`&self`, two threads) | does not compile: `&mut` |
/// | cloning the executable graph, or launching it elsewhere | no such method exists |
/// | returning a block that the graph leases | `LeasedBlock` |
/// | dropping the pool, arena, stream or context before the graph | the graph keeps them alive |
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
    // Do not reorder: fields are dropped in this order. Once the last run has completed, the
    // executable graph, the graph and the host arguments are dropped first. The state follows,
    // because runs may have used it. The leases and the arena are dropped last. The stream and its
    // context outlive them all.
    pub(super) runs: Runs,
    /// The caller's state; `None` once it has been taken.
    pub(super) state: Option<S>,
    pub(super) setup: Arc<CaptureSetup>,
    pub(super) pattern: Pattern,
    pub(super) footprint: Footprint,
    pub(super) verified: Verification,
    /// The record of the temporaries, without their offsets.
    #[cfg(feature = "record")]
    record: Option<GraphRecord>,
}

impl<S> CapturedGraph<S> {
    pub(crate) fn new(
        executable: Executable,
        verified_graph: VerifiedGraph,
        setup: Arc<CaptureSetup>,
        state: S,
        (place, staged): (LeftoversPlace, CopyBuffers),
    ) -> Self {
        #[cfg(feature = "record")]
        let record = verified_graph.record;
        let VerifiedGraph { graph, host, arguments, pattern, shares, footprint, verified, .. } =
            verified_graph;
        let doubtful = Vec::new();
        let parts = Parts { executable, graph, host, arguments, doubtful, staged, shares };
        let runs = Runs::new(parts, Arc::clone(setup.resources()), place);
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

    /// Enqueues a run on the session's stream, after all work that is already on that stream. This
    /// method makes two driver calls: one sets the current context, and one launches the graph.
    ///
    /// # Errors
    ///
    /// Fails with [`StaleLease`](crate::GraphMemoryError::StaleLease) if the arena has been reset,
    /// with [`CaptureError::Capturing`] if the stream is being captured, or with the driver's error
    /// code.
    pub fn replay(&mut self) -> Result<(), CaptureError> {
        let _not_lent = self.setup.resources().memory().begin_run()?;
        let _in_use = self.check_sessions("be replayed")?;
        let stream = self.setup.resources().stream();
        Ok(self.runs.parts()?.executable.launch(stream)?)
    }

    /// Uploads the launch data to the device before the first launch.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`replay`](Self::replay).
    pub fn upload(&mut self) -> Result<(), CaptureError> {
        self.setup.resources().memory().check()?;
        let _in_use = self.check_stream("be uploaded")?;
        let stream = self.setup.resources().stream();
        Ok(self.runs.parts()?.executable.upload(stream)?)
    }

    /// Blocks the host until all runs have completed.
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::Capturing`] if the stream is being captured, or with the error
    /// code of failed work.
    pub fn synchronize(&mut self) -> Result<(), CaptureError> {
        let _in_use = self.check_stream("be waited for")?;
        Ok(synchronize(self.stream())?)
    }

    /// Returns the graph's state once all runs have completed.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`synchronize`](Self::synchronize).
    pub fn state(&mut self) -> Result<&mut S, CaptureError> {
        self.synchronize()?;
        state_of(&mut self.state)
    }

    /// Waits for the graph's runs, frees its memory, and returns its state.
    ///
    /// # Errors
    ///
    /// Returns the graph unchanged if its runs cannot be synchronized, because its stream is being
    /// captured explicitly or the driver refuses to wait.
    #[expect(clippy::result_large_err, reason = "it is the caller's value")]
    pub fn into_state(mut self) -> Result<S, Self> {
        if self.setup.resources().come_to_rest().is_err() {
            return Err(self);
        }
        let state = self.state.take();
        state.ok_or(self)
    }

    /// Returns the stream that the graph runs on.
    #[must_use]
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.setup.resources().stream()
    }

    /// Returns the size of the graph's temporaries in bytes.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// Returns the graph's temporaries, their order, their offsets in the arena, and the calls that
    /// requested them, as a file for `pool-plan`. Returns `None` if the graph has no temporaries. A
    /// [probe](crate::Probe::record) returns the same record.
    ///
    /// Blocks that a lease keeps are not included. The arena may be larger than the graph needs,
    /// and may hold bytes of other owners before the temporaries. The record contains no offsets if
    /// temporaries share bytes only because of an order that exists in the graph alone.
    #[cfg(feature = "record")]
    #[must_use]
    pub fn record(&self) -> Option<GraphRecord> {
        self.record.as_ref().map(|record| record::with_offsets(record, &self.pattern.offsets))
    }

    /// Returns the counts from the verification of the graph.
    #[must_use]
    pub fn verified(&self) -> Verification {
        self.verified
    }

    /// Returns the arena, for graphs that share it.
    pub(crate) fn arena(&self) -> &Arc<OwnArena> {
        &self.setup.resources().memory().arena
    }

    /// Ensures that no session captures the stream while the returned value lives.
    fn check_sessions(&self, operation: &'static str) -> Result<StreamUse, CaptureError> {
        let in_use = StreamUse::begin(self.setup.resources().runs_on())
            .ok_or(CaptureError::Capturing { operation })?;
        bind(self.stream().context())?;
        Ok(in_use)
    }

    /// Ensures that no session captures the stream while the returned value lives, and that the
    /// stream is not being captured explicitly at present.
    pub(super) fn check_stream(&self, operation: &'static str) -> Result<StreamUse, CaptureError> {
        let in_use = self.check_sessions(operation)?;
        match is_capturing(self.stream())? {
            true => Err(CaptureError::Capturing { operation }),
            false => Ok(in_use),
        }
    }
}

/// Returns the state of a graph. The state exists until the graph ends.
pub(super) fn state_of<S>(state: &mut Option<S>) -> Result<&mut S, CaptureError> {
    state.as_mut().ok_or(CaptureError::Internal { found: "a graph has no state" })
}

impl<S> Drop for CapturedGraph<S> {
    fn drop(&mut self) {
        // A run that cannot be waited for may use the state forever. The wait is attempted twice
        // because a state, unlike a deferred free, cannot be kept for later.
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

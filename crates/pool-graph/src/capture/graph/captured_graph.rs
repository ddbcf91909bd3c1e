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

/// A graph, ready to be replayed, with all that its nodes name.
///
/// # Why this is sound
///
/// 1. *The addresses in its nodes are of memory that it owns.* What safe code puts into a capture
///    are views of the arena, which nobody else captures with but graphs of the same stream, and of
///    blocks that a lease of the session holds. Whoever enqueues other work promises the same, in
///    `unsafe`. What comes onto a stream past the capture is noticed, for the capture knows where it left
///    each stream, and each node of the graph must be of something that it did. Nobody else can end the
///    capture, and run what it was: it begins on a stream of its own.
/// 2. *That memory stays while the graph lives.* Leases keep it over the end of pool and arena; nobody
///    can return or be given a leased block; an arena that was reset is told by its generation, and the
///    graph then refuses.
/// 3. *Nothing of it runs any more when the memory goes.* The executable is never given out, so all runs
///    are this value's, on one stream; when it is dropped, that stream is waited for, then the executable
///    goes, the graph, the state, and last the leases. During a capture of another thread state and leases go,
///    and what the driver destroys waits until the capture is over. What cannot be waited for stays: its
///    stream is captured by hand, or the driver answers with an error that does not say that the context is
///    gone.
/// 4. *Two runs never overlap*: they are on one stream, and whoever [shares](crate::CaptureSession::beside)
///    the arena is on the same one. Blocks that graphs of two streams have are only read, which is asked
///    before an operation that writes one is captured; in an update, too.
/// 5. *Within a run, bytes have one user at a time.* The verifier has read the graph back and found
///    every two temporaries that share bytes ordered by edges of full completion.
/// 6. *An update changes all of it or nothing.* It is a capture of its own, in the graph's memory, by a
///    body that takes the same steps, and verified like the first. What it replaces, the old nodes and what
///    they read on the host, goes when no run uses it: runs were waited for, and those to come are of the
///    new ones. Where the driver does not say whether it was performed, both stay.
/// 7. *Between two runs, the arena's memory may be lent.* A [scope](Self::scope) works on the same stream, and ends before the
///    next run is asked for; graphs that share the arena ask for that, too.
/// 8. *What is fed without waiting is in the order of that stream, too.* The driver copies from and to buffers of
///    a [`StagingPool`](crate::StagingPool) alone, and each stays as it is until an event behind its copy has come;
///    blocks and leases stay as for a run (3). Who forgets a buffer's ticket keeps the buffer.
///
/// | misuse | outcome |
/// |---|---|
/// | a view or the capture kept after the body | does not compile |
/// | a replay while another one is being asked for (`&self`, two threads) | does not compile: `&mut` |
/// | the executable cloned, or launched elsewhere | there is no such call |
/// | a block returned that the graph leases | `LeasedBlock` |
/// | pool, arena, stream or context dropped before the graph | the graph keeps them |
/// | replay after the arena was reset | `StaleLease` |
/// | two graphs on one arena that could run at once | `ArenaInUse`, `AnotherStream` |
/// | a block that a graph writes, in a graph of another stream | `SharedBlock` |
/// | work put on a stream of the session past the capture | `ForeignWork`, `ForeignMemory`, `ForeignNode` |
/// | the capture ended by its body | an error of cudarc's call; `Invalidated` |
/// | replay, upload, read or write, waiting or not, while the stream is captured | `Capturing` |
/// | a block that a graph was fed with, in a graph of another stream | `SharedBlock` |
/// | graph, stream or staging pool dropped while steps are in flight | graph and pool wait; the tickets are good |
/// | a ticket forgotten | its buffer is never used again; when none is left, `StagingExhausted` |
/// | replay, update or another scope while a [`scope`](Self::scope) has the arena's memory | `Lent` |
/// | a view of such a scope kept after it | does not compile |
/// | an allocation that became a node | `MemoryNodes` |
/// | a graph dropped, or updated, during a capture | its handles are destroyed when that is over, its memory goes back before |
/// | an update that does other steps, or makes other nodes | `Diverged`, `Update`; the graph is as before |
/// | an update of a graph from its own body, or while its state is borrowed | does not compile |
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
#[must_use = "a graph that is dropped gives its memory back"]
pub struct CapturedGraph<S = ()> {
    // Do not reorder: fields are dropped in this order. First executable, graph and host arguments,
    // once the last run is over; then the state, which may be what runs used; then leases and arena. The
    // stream and its context outlive them all.
    pub(super) runs: Runs,
    /// The caller's state; none once it has been taken out.
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

    /// Enqueues a run on the session's stream, after all that it holds. Of the driver it asks the
    /// current context and the launch, nothing else.
    ///
    /// # Errors
    ///
    /// [`StaleLease`](crate::GraphMemoryError::StaleLease) after a reset of the arena,
    /// [`CaptureError::Capturing`], and what the driver refuses.
    pub fn replay(&mut self) -> Result<(), CaptureError> {
        let _not_lent = self.setup.resources().memory().begin_run()?;
        let _in_use = self.check_sessions("be replayed")?;
        let stream = self.setup.resources().stream();
        Ok(self.runs.parts()?.executable.launch(stream)?)
    }

    /// Sends to the device what a launch needs there, ahead of the first one.
    ///
    /// # Errors
    ///
    /// As [`replay`](Self::replay).
    pub fn upload(&mut self) -> Result<(), CaptureError> {
        self.setup.resources().memory().check()?;
        let _in_use = self.check_stream("be uploaded")?;
        let stream = self.setup.resources().stream();
        Ok(self.runs.parts()?.executable.upload(stream)?)
    }

    /// Waits, on the host, for all runs.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Capturing`], and what the driver answers for work that failed.
    pub fn synchronize(&mut self) -> Result<(), CaptureError> {
        let _in_use = self.check_stream("be waited for")?;
        Ok(synchronize(self.stream())?)
    }

    /// The graph's state, once all runs are over.
    ///
    /// # Errors
    ///
    /// As [`synchronize`](Self::synchronize).
    pub fn state(&mut self) -> Result<&mut S, CaptureError> {
        self.synchronize()?;
        state_of(&mut self.state)
    }

    /// Ends the graph: its memory is given back, its state is not. Waits for its runs.
    ///
    /// # Errors
    ///
    /// The graph as it is, where its runs cannot be waited for: somebody captures its stream by hand, or the
    /// driver refuses to wait.
    #[expect(clippy::result_large_err, reason = "it is the value that the caller gave")]
    pub fn into_state(mut self) -> Result<S, Self> {
        if self.setup.resources().come_to_rest().is_err() {
            return Err(self);
        }
        let state = self.state.take();
        state.ok_or(self)
    }

    /// The stream that the graph runs on.
    #[must_use]
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.setup.resources().stream()
    }

    /// The bytes that the graph's temporaries take.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// The graph's temporaries, what orders them, where they lie in the arena, and who asked for them, as a file for
    /// `pool-plan`; none where the graph has none. What a [probe](crate::Probe::record) foresaw says the same.
    ///
    /// Blocks that a lease keeps are no part of it. The arena may have more bytes than the graph needs, and others' before
    /// those. Where temporaries share bytes by an order that was found in the graph alone, no offsets are recorded.
    #[cfg(feature = "record")]
    #[must_use]
    pub fn record(&self) -> Option<GraphRecord> {
        self.record.as_ref().map(|record| record::with_offsets(record, &self.pattern.offsets))
    }

    /// The counts of what was verified of the graph.
    #[must_use]
    pub fn verified(&self) -> Verification {
        self.verified
    }

    /// The arena, for graphs that share it.
    pub(crate) fn arena(&self) -> &Arc<OwnArena> {
        &self.setup.resources().memory().arena
    }

    /// Sees to it that no session captures the stream while the answer lives.
    fn check_sessions(&self, operation: &'static str) -> Result<StreamUse, CaptureError> {
        let in_use = StreamUse::begin(self.setup.resources().runs_on())
            .ok_or(CaptureError::Capturing { operation })?;
        bind(self.stream().context())?;
        Ok(in_use)
    }

    /// Sees to it that no session captures the stream while the answer lives, and that nobody captures it by hand
    /// now.
    pub(super) fn check_stream(&self, operation: &'static str) -> Result<StreamUse, CaptureError> {
        let in_use = self.check_sessions(operation)?;
        match is_capturing(self.stream())? {
            true => Err(CaptureError::Capturing { operation }),
            false => Ok(in_use),
        }
    }
}

/// The state of a graph, which is there until the graph's end.
pub(super) fn state_of<S>(state: &mut Option<S>) -> Result<&mut S, CaptureError> {
    state.as_mut().ok_or(CaptureError::Internal { found: "a graph without its state" })
}

impl<S> Drop for CapturedGraph<S> {
    fn drop(&mut self) {
        // A run that cannot be waited for may use the state for ever. The driver is asked twice, because a state, unlike
        // what is left over, cannot wait.
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

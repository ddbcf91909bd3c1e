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

/// A graph, ready to be replayed, with all the memory of its nodes.
///
/// # Why this is sound
///
/// 1. *The addresses in its nodes are of memory that it owns.* Safe code puts views into a capture:
///    of the arena, which only graphs of the same stream capture with, and of blocks that a lease
///    of the session holds. A caller that enqueues other work promises the same, in `unsafe`. Work
///    on a stream without the capture is detected: the capture knows each stream's last nodes, and
///    each node of the graph must belong to one of its operations. No other code can end the
///    capture and run its graph: it begins on its own stream.
/// 2. *That memory stays while the graph lives.* Leases keep it beyond the end of pool and arena. A
///    leased block can be neither returned nor allocated again. A reset of an arena changes its
///    generation, and the graph then refuses to run.
/// 3. *No run uses the memory when it is freed.* The executable graph is never exposed, so all runs
///    are this value's, on one stream. On its drop, that stream is waited for; then the executable
///    graph, the graph, the state, and last the leases are dropped. During a capture of another
///    thread state and leases are dropped, and the driver's objects wait until the capture is over.
///    If the stream cannot be waited for, everything stays: it is captured explicitly, or the
///    driver returns another error than that of a destroyed context.
/// 4. *Two runs never overlap*: they are on one stream, and graphs that
///    [share](crate::CaptureSession::beside) the arena are on the same one. Graphs of two streams
///    only read common blocks, which is checked before a writing operation is captured; in an
///    update, too.
/// 5. *Within a run, bytes have one user at a time.* The verifier has read the graph back: edges of
///    full completion order every two temporaries that share bytes.
/// 6. *An update changes all of it or nothing.* It is a separate capture, in the graph's memory, by
///    a body that takes the same steps, and verified like the first. The replaced nodes and their
///    host memory are destroyed when no run uses them: earlier runs were waited for, and later runs
///    use the new ones. If the driver does not report whether the update was performed, both stay.
/// 7. *Between two runs, the arena's memory may be lent.* A [scope](Self::scope) works on the same
///    stream, and ends before the next run begins. Graphs that share the arena check this, too.
/// 8. *Work that feeds the graph without waiting is in the order of that stream, too.* The driver
///    copies only from and to buffers of a [`StagingPool`](crate::StagingPool), and each stays
///    unchanged until an event after its copy has completed. Blocks and leases stay as for a run
///    (3). A forgotten ticket keeps its buffer.
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
#[must_use = "a dropped graph frees its memory"]
pub struct CapturedGraph<S = ()> {
    // Do not reorder: fields are dropped in this order. First the executable graph, the graph and
    // host arguments, once the last run is over; then the state, which runs may have used; then
    // leases and arena. The stream and its context outlive them all.
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

    /// Enqueues a run on the session's stream, after all its current work. It makes two calls of
    /// the driver: to set the current context, and to launch.
    ///
    /// # Errors
    ///
    /// [`StaleLease`](crate::GraphMemoryError::StaleLease) after a reset of the arena,
    /// [`CaptureError::Capturing`], and the driver's error code.
    pub fn replay(&mut self) -> Result<(), CaptureError> {
        let _not_lent = self.setup.resources().memory().begin_run()?;
        let _in_use = self.check_sessions("be replayed")?;
        let stream = self.setup.resources().stream();
        Ok(self.runs.parts()?.executable.launch(stream)?)
    }

    /// Uploads the data of a launch to the device, before the first one.
    ///
    /// # Errors
    ///
    /// Same as [`replay`](Self::replay).
    pub fn upload(&mut self) -> Result<(), CaptureError> {
        self.setup.resources().memory().check()?;
        let _in_use = self.check_stream("be uploaded")?;
        let stream = self.setup.resources().stream();
        Ok(self.runs.parts()?.executable.upload(stream)?)
    }

    /// Blocks the host until all runs are done.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Capturing`], and the error code of failed work.
    pub fn synchronize(&mut self) -> Result<(), CaptureError> {
        let _in_use = self.check_stream("be waited for")?;
        Ok(synchronize(self.stream())?)
    }

    /// Returns the graph's state, once all runs are over.
    ///
    /// # Errors
    ///
    /// Same as [`synchronize`](Self::synchronize).
    pub fn state(&mut self) -> Result<&mut S, CaptureError> {
        self.synchronize()?;
        state_of(&mut self.state)
    }

    /// Ends the graph: frees its memory, and returns its state. Waits for its runs.
    ///
    /// # Errors
    ///
    /// Returns the graph unchanged if its runs cannot be waited for: its stream is captured
    /// explicitly, or the driver refuses to wait.
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

    /// Returns the bytes of the graph's temporaries.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// Returns the graph's temporaries, their order, their offsets in the arena, and the calls that
    /// requested them, as a file for `pool-plan`. Returns `None` if the graph has none. The record
    /// of a [probe](crate::Probe::record) is the same.
    ///
    /// Blocks that a lease keeps are not included. The arena may have more bytes than the graph
    /// needs, and other owners' bytes before those. If temporaries share bytes by an order that
    /// only the graph has, no offsets are recorded.
    #[cfg(feature = "record")]
    #[must_use]
    pub fn record(&self) -> Option<GraphRecord> {
        self.record.as_ref().map(|record| record::with_offsets(record, &self.pattern.offsets))
    }

    /// Returns the counts of the verification.
    #[must_use]
    pub fn verified(&self) -> Verification {
        self.verified
    }

    /// Returns the arena, for graphs that share it.
    pub(crate) fn arena(&self) -> &Arc<OwnArena> {
        &self.setup.resources().memory().arena
    }

    /// Ensures that no session captures the stream while the result lives.
    fn check_sessions(&self, operation: &'static str) -> Result<StreamUse, CaptureError> {
        let in_use = StreamUse::begin(self.setup.resources().runs_on())
            .ok_or(CaptureError::Capturing { operation })?;
        bind(self.stream().context())?;
        Ok(in_use)
    }

    /// Ensures that no session captures the stream while the result lives, and that it is not
    /// captured explicitly now.
    pub(super) fn check_stream(&self, operation: &'static str) -> Result<StreamUse, CaptureError> {
        let in_use = self.check_sessions(operation)?;
        match is_capturing(self.stream())? {
            true => Err(CaptureError::Capturing { operation }),
            false => Ok(in_use),
        }
    }
}

/// Returns the state of a graph, which exists until the graph's end.
pub(super) fn state_of<S>(state: &mut Option<S>) -> Result<&mut S, CaptureError> {
    state.as_mut().ok_or(CaptureError::Internal { found: "a graph without its state" })
}

impl<S> Drop for CapturedGraph<S> {
    fn drop(&mut self) {
        // A run that cannot be waited for may use the state forever. There are two attempts,
        // because a state, unlike a deferred free, cannot be kept.
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

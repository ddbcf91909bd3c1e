//! A capture session before it has memory: its streams, its mode, and the blocks that its graph
//! will keep.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;
use pool_driver::library::require_driver;
use pool_driver::versioned::EDGE_DATA;
use pool_plan::Options;

use super::body::{Account, BodyRecord, Capture, Trace};
use super::error::CaptureError;
use super::footprint::Probe;
use super::graph::CapturedGraph;
use super::memory::{GraphMemory, Kept, OwnArena};
use super::owned_memory::{OwnedMemory, OwnedSlice, OwnedSliceMut, OwnedSource, OwnedSourceMut};
use super::prepared::PreparedCapture;
use super::registry::RunStream;
use super::resources::SessionResources;
use super::setup::CaptureSetup;
use crate::arena::CudaArena;
use crate::base::error::GraphMemoryError;
use crate::base::shortage::ArenaShortage;
use crate::driver::{CaptureMode, KeptValues};
use crate::lease::Lease;
use crate::source::DeviceMemory;

/// The first state of a capture, which collects its streams and the blocks that the graph keeps.
///
/// Each state of a capture is a type, and is created from the previous one. Calling
/// [`prepare`](Self::prepare) adds memory and returns a [`PreparedCapture`]. A `PreparedCapture`
/// passes a [`Capture`] to a body and returns a [`CapturedGraph`], which can be
/// [updated](CapturedGraph::update).
///
/// ```no_run
/// use pool_cuda::Cuda;
/// use pool_graph::{CUDAGraphMemoryPool, CaptureError, CaptureSession, DeviceMemory, GraphPoolConfig};
///
/// # fn main() -> Result<(), CaptureError> {
/// let device = Cuda::device(0)?;
/// let stream = device.context().new_stream()?;
/// let pool = CUDAGraphMemoryPool::new(DeviceMemory::new(&device));
/// let [input, output] = [pool.allocate(4096)?, pool.allocate(4096)?];
///
/// let session = CaptureSession::new(&stream)?.lease(pool.lease(&[input.id(), output.id()])?);
/// let body = |capture: &pool_graph::Capture<'_>, (): &mut ()| {
///     let main = capture.main();
///     let mut scratch = capture.acquire::<f32>(1024)?;
///     capture.copy(main, &mut scratch, &capture.block(&input)?)?;
///     capture.copy(main, &mut capture.block(&output)?, &scratch)
/// };
/// let probe = session.probe(&mut (), body)?; // no memory, no call of the driver
/// println!("{}", probe.footprint());
/// let mut graph = session.planned(&probe)?.capture((), body)?;
/// graph.write(&input, &[1.0_f32; 1024])?;
/// graph.replay()?;
/// let mut results = [0.0_f32; 1024];
/// graph.read(&output, &mut results)?;
/// # Ok(())
/// # }
/// ```
///
/// A session records and plans a body in host memory, using collections of the standard library. If
/// the host runs out of memory, a session, a probe, a capture or an update aborts the process.
/// Replaying, reading, waiting for and dropping a graph allocate no host memory.
#[derive(Debug)]
pub struct CaptureSession {
    streams: Vec<Arc<CudaStream>>,
    leases: Vec<Lease>,
    owned: Vec<OwnedMemory>,
    mode: CaptureMode,
}

impl CaptureSession {
    /// Creates a session on this stream. The graph is captured from this stream and replayed on it.
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::DefaultStream`] for a default stream, or with
    /// [`CudaError::DriverTooOld`](pool_cuda::CudaError::DriverTooOld) if the driver is older than
    /// CUDA 12.3. Graphs of older drivers do not report the data of their edges.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Self, CaptureError> {
        require_driver(EDGE_DATA)?;
        let (streams, leases, owned) = (Vec::new(), Vec::new(), Vec::new());
        Self { streams, leases, owned, mode: CaptureMode::default() }.with(stream)
    }

    /// Adds a stream for work that may run concurrently with the work on the other streams. In the
    /// body, it is the next [branch](Capture::branch).
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::DefaultStream`] for a default stream, with
    /// [`CaptureError::StreamTwice`] if the session already has the stream, or with
    /// [`CaptureError::WrongContext`] if the stream is in another context.
    pub fn branch(self, stream: &Arc<CudaStream>) -> Result<Self, CaptureError> {
        self.with(stream)
    }

    /// Sets which calls of other threads invalidate the capture. By default, only calls of the
    /// capturing thread do.
    #[must_use]
    pub fn mode(self, mode: CaptureMode) -> Self {
        Self { mode, ..self }
    }

    /// Adds blocks that the graph keeps. The body uses [views of them](Capture::block) to exchange
    /// data with other code.
    #[must_use]
    pub fn lease(mut self, lease: Lease) -> Self {
        self.leases.push(lease);
        self
    }

    /// Takes memory that the caller allocated, for graphs that only read it, such as weights. The
    /// graphs keep the memory alive, and the body accesses it through [shared
    /// views](Capture::owned). Other holders of the `Arc` may read the memory at the same time.
    ///
    /// This call blocks the host until all work in the context has completed, so that every earlier
    /// write is finished when a capture begins. This holds regardless of whether cudarc tracks
    /// events. If a stream of the context is being captured explicitly, the wait invalidates that
    /// capture.
    ///
    /// The memory is freed once the session and all its graphs have been dropped and no session is
    /// capturing.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use pool_cuda::cudarc::driver::{CudaSlice, CudaStream};
    /// use pool_graph::{Capture, CaptureError, CaptureSession, CapturedGraph};
    ///
    /// fn graph(
    ///     stream: &Arc<CudaStream>,
    ///     weights: &Arc<CudaSlice<f32>>,
    ///     cache: CudaSlice<f32>,
    /// ) -> Result<CapturedGraph, CaptureError> {
    ///     let mut session = CaptureSession::new(stream)?;
    ///     let weights = session.own(Arc::clone(weights))?;
    ///     let cache = session.own_mut(cache)?;
    ///     let body = |capture: &Capture<'_>, (): &mut ()| {
    ///         let main = capture.main();
    ///         let mut scratch = capture.acquire::<f32>(weights.len())?;
    ///         capture.copy(main, &mut scratch, &capture.owned(&weights)?)?;
    ///         capture.copy(main, &mut capture.owned_mut(&cache)?, &scratch)
    ///     };
    ///     let probe = session.probe(&mut (), body)?;
    ///     session.planned(&probe)?.capture((), body)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::WrongContext`] if the memory is on another device, with
    /// [`CaptureError::AlreadyCapturing`] if the slice's stream is being captured, or with the
    /// driver's error code. While a session is capturing, it fails with
    /// [`CudaError::Capturing`](pool_cuda::CudaError::Capturing). On an error the memory is
    /// dropped; keep a clone of the `Arc` if you still need it.
    pub fn own<M: OwnedSource>(
        &mut self,
        memory: M,
    ) -> Result<OwnedSlice<M::Element>, CaptureError> {
        self.take(memory, false).map(OwnedSlice::new)
    }

    /// Takes memory that the caller allocated, for graphs that read and write it. This is for state
    /// that each replay updates, such as a key-value cache. The body accesses it through
    /// [views](Capture::owned_mut).
    ///
    /// The session becomes the only owner of the memory. Between replays, [`CapturedGraph::read`]
    /// and [`CapturedGraph::write`] copy from and to it. In all other respects this method behaves
    /// like [`own`](Self::own).
    ///
    /// ```compile_fail,E0277
    /// # use std::sync::Arc;
    /// # use pool_cuda::cudarc::driver::CudaSlice;
    /// # fn f(session: &mut pool_graph::CaptureSession, slice: Arc<CudaSlice<f32>>) {
    /// session.own_mut(slice); // shared_memory_is_not_written
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`own`](Self::own).
    pub fn own_mut<M: OwnedSourceMut>(
        &mut self,
        memory: M,
    ) -> Result<OwnedSliceMut<M::Element>, CaptureError> {
        self.take(memory, true).map(OwnedSliceMut::new)
    }

    /// Runs the body dry: records and plans its temporaries and the order of their uses. The call
    /// enqueues no work, allocates no device memory and does not call the driver. A capture that
    /// follows this plan must perform the same steps.
    ///
    /// # Errors
    ///
    /// Returns the body's own error, or an error if no plan can be made.
    pub fn probe<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<Probe, E> {
        self.probe_with(&Options::default(), state, body)
    }

    /// Like [`probe`](Self::probe), but with other options for the planner. By default, the planner
    /// searches for the lowest peak for up to ten seconds. The options limit the time and set how
    /// close to the lower bound a plan must come.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`probe`](Self::probe).
    pub fn probe_with<S, E: From<CaptureError>>(
        &self,
        options: &Options,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<Probe, E> {
        let record = self.run_dry(state, body)?;
        Ok(Probe::new(&record.model, &record.regions, record.trace, options)?)
    }

    /// Runs the body dry once for each state, and makes a plan for each run from a single search.
    /// Use it for graphs that differ only in a length, such as a ladder of bucket sizes. The probes
    /// are returned in the order of the states.
    ///
    /// The planner searches for a plan of the member that needs the most memory. The other members
    /// have the same temporaries in the same order, with their own sizes. Each resulting plan is
    /// compared with the lower bound of its member. If a plan exceeds that bound by more than 2 %,
    /// or the tolerance in the options, that member is planned separately.
    ///
    /// The arena that [`planned`](Self::planned) creates is large enough for every member, so the
    /// graphs can be captured in any order. Capture the first with [`planned`](Self::planned) and
    /// the others with [`beside`](Self::beside).
    ///
    /// ```no_run
    /// # use pool_graph::{Capture, CaptureError, CapturedGraph, CaptureSession};
    /// # fn f(new_session: impl Fn() -> Result<CaptureSession, CaptureError>) -> Result<(), CaptureError> {
    /// let body = |capture: &Capture<'_>, length: &mut usize| {
    ///     let mut scores = capture.acquire::<f32>(*length * *length)?;
    ///     capture.fill_bytes(capture.main(), &mut scores, 0)
    /// };
    /// let mut lengths = [128, 256, 512];
    /// let probes = new_session()?.probe_ladder(&Default::default(), &mut lengths, body)?;
    /// let mut graphs: Vec<CapturedGraph<usize>> = Vec::new();
    /// for (probe, length) in probes.iter().zip(lengths) {
    ///     let prepared = match graphs.first() {
    ///         None => new_session()?.planned(probe)?,
    ///         Some(first) => new_session()?.beside(first, probe)?,
    ///     };
    ///     graphs.push(prepared.capture(length, body)?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`probe`](Self::probe).
    pub fn probe_ladder<S, E: From<CaptureError>>(
        &self,
        options: &Options,
        states: &mut [S],
        mut body: impl FnMut(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<Vec<Probe>, E> {
        let record = |state: &mut S| self.run_dry(state, &mut body);
        let members = states.iter_mut().map(record).collect::<Result<Vec<_>, E>>()?;
        Ok(Probe::ladder(members, options)?)
    }

    /// Moves to the second state with the given arena, which then belongs to the graph.
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::WrongContext`] if the arena is in another context, or with
    /// [`CaptureError::ArenaInUse`] if another graph uses the arena.
    pub fn prepare(self, arena: CudaArena) -> Result<PreparedCapture, CaptureError> {
        self.with_arena(arena, None)
    }

    /// Moves to the second state with the arena of another graph on the same stream. Both graphs
    /// run on that stream, so their runs never overlap. The arena therefore needs the larger of the
    /// two sizes, not their sum.
    ///
    /// The graphs overwrite each other's temporaries. Allocations that were in the arena before it
    /// was [prepared](Self::prepare) belong to neither graph; the temporaries of both start after
    /// them.
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::AnotherStream`] if the graph runs on another stream, or with
    /// [`ArenaExhausted`](crate::GraphMemoryError::ArenaExhausted) if the arena is smaller than the
    /// plan. In the second case, capture the larger graph first, or plan all graphs with
    /// [`probe_ladder`](Self::probe_ladder).
    pub fn beside<T>(
        self,
        graph: &CapturedGraph<T>,
        probe: &Probe,
    ) -> Result<PreparedCapture, CaptureError> {
        if *self.streams[0] != **graph.stream() {
            let number = |stream: &CudaStream| stream.cu_stream().addr() as u64;
            let (session, graph) = (number(&self.streams[0]), number(graph.stream()));
            return Err(CaptureError::AnotherStream { session, graph });
        }
        let (requested, capacity) = (probe.plan_bytes(), graph.arena().arena().capacity());
        let used = graph.arena().used_before();
        if requested > capacity.saturating_sub(used) {
            let shortage = ArenaShortage::MadeForAnotherGraph;
            let exhausted =
                GraphMemoryError::ArenaExhausted { requested, used, capacity, shortage };
            return Err(exhausted.into());
        }
        let memory = GraphMemory::new(Arc::clone(graph.arena()), self.leases, self.owned);
        let begin = memory.arena.mark_anew(probe.policy())?;
        let (streams, mode): (Arc<[_]>, _) = (self.streams.into(), self.mode);
        let planned = probe.followed();
        let runs_on = RunStream::new(&streams[0])?;
        let resources = Arc::new(SessionResources::new(memory, runs_on, streams));
        Ok(PreparedCapture::new(CaptureSetup { mode, planned, begin, resources }))
    }

    /// Moves to the second state with a new arena of the size that the plan needs. The capture then
    /// follows the plan.
    ///
    /// # Errors
    ///
    /// Fails if the device cannot allocate the arena.
    pub fn planned(self, probe: &Probe) -> Result<PreparedCapture, CaptureError> {
        let source = DeviceMemory::of_context(Arc::clone(self.streams[0].context()));
        let arena = CudaArena::new(source, probe.arena_bytes(), probe.policy())?;
        self.with_arena(arena, probe.followed())
    }

    /// Moves to the second state with its own arena. Temporaries start at the arena's current
    /// offset.
    fn with_arena(
        self,
        arena: CudaArena,
        planned: Option<Trace>,
    ) -> Result<PreparedCapture, CaptureError> {
        let own = self.streams[0].context();
        let other = arena.source().context();
        if own.cu_ctx() != other.cu_ctx() {
            let (session, other) = (own.ordinal(), other.ordinal());
            return Err(CaptureError::WrongContext { session, other });
        }
        let arena = OwnArena::new(arena)?;
        let Self { streams, leases, owned, mode } = self;
        // The arena is leased before the mark is taken, so that the lease detects a reset in
        // between.
        let memory = GraphMemory::new(Arc::new(arena), leases, owned);
        let begin = memory.arena.arena().mark()?;
        let streams: Arc<[_]> = streams.into();
        let runs_on = RunStream::new(&streams[0])?;
        let resources = Arc::new(SessionResources::new(memory, runs_on, streams));
        Ok(PreparedCapture::new(CaptureSetup { mode, planned, begin, resources }))
    }

    /// Runs a body dry, and returns a record of its operations.
    fn run_dry<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<BodyRecord, E> {
        let values = KeptValues::new().map_err(CaptureError::from)?;
        let capture = Capture::new(Account::dry(&self.streams, values), self.kept());
        body(&capture, state)?;
        capture.join_all()?;
        Ok(capture.into_record())
    }

    fn take<M: OwnedSource>(
        &mut self,
        memory: M,
        is_written: bool,
    ) -> Result<&OwnedMemory, CaptureError> {
        let memory = OwnedMemory::new(memory, self.streams[0].context(), is_written)?;
        self.owned.push(memory);
        Ok(&self.owned[self.owned.len() - 1])
    }

    fn kept(&self) -> Kept<'_> {
        Kept { leases: &self.leases, owned: &self.owned }
    }

    fn with(mut self, stream: &Arc<CudaStream>) -> Result<Self, CaptureError> {
        // The null stream, and the handles of the two default streams, have addresses of at most 2.
        if stream.cu_stream().addr() <= 2 {
            return Err(CaptureError::DefaultStream);
        }
        if self.streams.iter().any(|other| other.cu_stream() == stream.cu_stream()) {
            return Err(CaptureError::StreamTwice { stream: stream.cu_stream().addr() as u64 });
        }
        if let Some(own) = self.streams.first() {
            let (own, other) = (own.context(), stream.context());
            if own.cu_ctx() != other.cu_ctx() {
                let (session, other) = (own.ordinal(), other.ordinal());
                return Err(CaptureError::WrongContext { session, other });
            }
        }
        self.streams.push(Arc::clone(stream));
        Ok(self)
    }
}

//! A capture session that does not have an arena yet. The session contains streams, a capture mode,
//! and the blocks that its graph will retain.

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

/// The first state of a capture session. In its first state, a session collects the streams to
/// capture and the blocks that the graph will retain.
///
/// Each state of a session has its own type and is created from the previous state.
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
/// To record and plan a body, a session uses the standard library's collections, which allocate
/// host memory. If the host runs out of memory during a session, a probe, a capture, or an update,
/// the process aborts. Replaying, reading, synchronizing, or dropping a graph allocates no host
/// memory.
#[derive(Debug)]
pub struct CaptureSession {
    streams: Vec<Arc<CudaStream>>,
    leases: Vec<Lease>,
    owned: Vec<OwnedMemory>,
    mode: CaptureMode,
}

impl CaptureSession {
    /// Creates a session for this stream. The capture begins on this stream, and the graph is
    /// replayed on it.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::DefaultStream`] if the stream is a default stream. Returns
    /// [`CudaError::DriverTooOld`](pool_cuda::CudaError::DriverTooOld) if the driver does not
    /// support CUDA 12.3, because older drivers do not report a graph's edge data.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Self, CaptureError> {
        require_driver(EDGE_DATA)?;
        let (streams, leases, owned) = (Vec::new(), Vec::new(), Vec::new());
        Self { streams, leases, owned, mode: CaptureMode::default() }.with(stream)
    }

    /// Adds a stream to the session. Work on this stream may run concurrently with work on the
    /// session's other streams. The body accesses this stream as the [branch](Capture::branch) with
    /// the next free number.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::DefaultStream`] if the stream is a default stream, or
    /// [`CaptureError::StreamTwice`] if the session already contains the stream. Returns
    /// [`CaptureError::WrongContext`] if the stream belongs to another context.
    pub fn branch(self, stream: &Arc<CudaStream>) -> Result<Self, CaptureError> {
        self.with(stream)
    }

    /// Sets the capture mode. The mode determines which calls invalidate the capture. By default,
    /// only calls on the capturing thread can invalidate the capture.
    #[must_use]
    pub fn mode(self, mode: CaptureMode) -> Self {
        Self { mode, ..self }
    }

    /// Adds leased blocks that the session's graphs will retain. The body uses [views of these
    /// blocks](Capture::block) to share data with other code.
    #[must_use]
    pub fn lease(mut self, lease: Lease) -> Self {
        self.leases.push(lease);
        self
    }

    /// Moves the caller's memory into the session, whose graphs can only read it. This memory can
    /// contain, for example, a neural network's weights. The graphs keep this memory alive, and the
    /// body accesses it through [shared views](Capture::owned). Other owners of the `Arc` may read
    /// the memory at the same time.
    ///
    /// `own` blocks the calling thread until all work in the context has completed. As a result,
    /// all earlier writes have finished before a capture begins, regardless of whether cudarc
    /// tracks events. If a stream in the context is being captured outside a session, this wait
    /// invalidates that capture.
    ///
    /// After the session and all its graphs have been dropped, the memory is freed as soon as no
    /// session in the process is capturing.
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
    /// Returns [`CaptureError::WrongContext`] if the memory is on another device,
    /// [`CaptureError::AlreadyCapturing`] if the slice's stream is being captured, or the driver's
    /// error. If any session is currently capturing, the call returns
    /// [`CudaError::Capturing`](pool_cuda::CudaError::Capturing). If the call fails, the memory is
    /// dropped unless the caller has a clone of the `Arc`.
    pub fn own<M: OwnedSource>(
        &mut self,
        memory: M,
    ) -> Result<OwnedSlice<M::Element>, CaptureError> {
        self.take(memory, false).map(OwnedSlice::new)
    }

    /// Transfers ownership of the caller's memory to the session, whose graphs can read and write
    /// it. This memory can contain, for example, state that each replay updates, such as a
    /// key-value cache. The body accesses the memory through [views](Capture::owned_mut).
    ///
    /// The session becomes the memory's sole owner. Between replays, [`CapturedGraph::read`] and
    /// [`CapturedGraph::write`] can access the memory. In all other respects, this method behaves
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
    /// Returns the same errors as [`own`](Self::own).
    pub fn own_mut<M: OwnedSourceMut>(
        &mut self,
        memory: M,
    ) -> Result<OwnedSliceMut<M::Element>, CaptureError> {
        self.take(memory, true).map(OwnedSliceMut::new)
    }

    /// Performs a dry run of the body, records its temporaries and the order in which they are
    /// used, and plans their offsets. A dry run enqueues no work, allocates no device memory, and
    /// does not call the driver. A capture that uses the resulting plan must perform the same steps
    /// as the dry run.
    ///
    /// # Errors
    ///
    /// Returns the error from `body`, or the planner's error if it finds no plan.
    pub fn probe<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<Probe, E> {
        self.probe_with(&Options::default(), state, body)
    }

    /// Performs a dry run as [`probe`](Self::probe) does, but with the given planner options. By
    /// default, the planner spends up to ten seconds searching for the lowest peak. The options
    /// limit the search time and specify how close the peak must be to the lower bound.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`probe`](Self::probe).
    pub fn probe_with<S, E: From<CaptureError>>(
        &self,
        options: &Options,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<Probe, E> {
        let record = self.run_dry(state, body)?;
        Ok(Probe::new(&record.model, &record.regions, record.trace, options)?)
    }

    /// Performs a dry run of the body for each state and plans all of the runs with a single
    /// search. A ladder is useful for graphs that differ in only one length, such as a bucket size.
    /// The probes are returned in the same order as the states.
    ///
    /// The planner computes a plan for the member that requires the most memory. The other members
    /// stack their temporaries in the same order, but with different sizes. Each plan is compared
    /// with its member's lower bound. A member is planned separately if its plan's peak exceeds the
    /// lower bound by more than 2%. If the options set a larger tolerance, that tolerance applies
    /// instead.
    ///
    /// [`planned`](Self::planned) creates an arena that is large enough for every member, so the
    /// graphs can be captured in any order. Capture the first graph with
    /// [`planned`](Self::planned), and all others with [`beside`](Self::beside).
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
    /// Returns the same errors as [`probe`](Self::probe).
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

    /// Adds an arena to the session and moves the session to its second state. After this call, the
    /// arena belongs to the session and its graphs.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::WrongContext`] if the arena belongs to another context, or
    /// [`CaptureError::ArenaInUse`] if another graph is using the arena.
    pub fn prepare(self, arena: CudaArena) -> Result<PreparedCapture, CaptureError> {
        self.with_arena(arena, None)
    }

    /// Moves the session to its second state, using the arena of another graph on the same stream.
    /// The two graphs never run at the same time, because both run on this stream. The arena must
    /// be large enough for the larger graph, but need not hold both graphs at once.
    ///
    /// Each graph overwrites the other graph's temporaries. Regions allocated from the arena before
    /// it was [prepared](Self::prepare) belong to neither graph. Both graphs place their
    /// temporaries after these regions.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::AnotherStream`] if the graph runs on another stream, or
    /// [`ArenaExhausted`](crate::GraphMemoryError::ArenaExhausted) if the arena is smaller than the
    /// plan. To avoid `ArenaExhausted`, capture the largest graph first, or plan all of them with
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

    /// Moves the session to its second state, using a new arena of the size that the plan requires.
    /// All of the session's captures follow this plan.
    ///
    /// # Errors
    ///
    /// Returns an error if the device cannot allocate the arena.
    pub fn planned(self, probe: &Probe) -> Result<PreparedCapture, CaptureError> {
        let source = DeviceMemory::of_context(Arc::clone(self.streams[0].context()));
        let arena = CudaArena::new(source, probe.arena_bytes(), probe.policy())?;
        self.with_arena(arena, probe.followed())
    }

    /// Moves the session to its second state, using an arena that belongs only to this session.
    /// Temporaries are allocated starting at the arena's current offset.
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
        // The lease is created before the mark so that the lease can detect a reset between these
        // two steps.
        let memory = GraphMemory::new(Arc::new(arena), leases, owned);
        let begin = memory.arena.arena().mark()?;
        let streams: Arc<[_]> = streams.into();
        let runs_on = RunStream::new(&streams[0])?;
        let resources = Arc::new(SessionResources::new(memory, runs_on, streams));
        Ok(PreparedCapture::new(CaptureSetup { mode, planned, begin, resources }))
    }

    /// Performs a dry run of a body and returns a record of its operations.
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
        // Handles 0, 1, and 2 belong to the null stream and the two default streams.
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

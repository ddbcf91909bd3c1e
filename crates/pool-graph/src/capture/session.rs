//! A session before it has memory: its streams, its mode, and the blocks that its graph will keep.

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
use crate::driver::CaptureMode;
use crate::lease::Lease;
use crate::source::DeviceMemory;

/// The first state of a capture: its streams. The states are types, each created from the one
/// before. This one is [prepared](Self::prepare) with memory, a [`PreparedCapture`] runs bodies
/// with a [`Capture`] each, and the result is a [`CapturedGraph`], which can be
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
/// A session records and plans a body in host memory, with collections of the standard library. If
/// the host has none, a session, a probe, a capture and an update abort the process. A graph needs
/// none for its replays, reads, waits and drop.
#[derive(Debug)]
pub struct CaptureSession {
    streams: Vec<Arc<CudaStream>>,
    leases: Vec<Lease>,
    owned: Vec<OwnedMemory>,
    mode: CaptureMode,
}

impl CaptureSession {
    /// Creates a session on this stream: the graph is captured from it, and replayed on it.
    ///
    /// # Errors
    ///
    /// [`CaptureError::DefaultStream`], and
    /// [`CudaError::DriverTooOld`](pool_cuda::CudaError::DriverTooOld) before CUDA 12.3, whose
    /// graphs do not return the data of edges.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Self, CaptureError> {
        require_driver(EDGE_DATA)?;
        let (streams, leases, owned) = (Vec::new(), Vec::new(), Vec::new());
        Self { streams, leases, owned, mode: CaptureMode::default() }.with(stream)
    }

    /// Adds a stream, for work that may run beside that of the others: the next
    /// [branch](Capture::branch).
    ///
    /// # Errors
    ///
    /// [`CaptureError::DefaultStream`], [`CaptureError::StreamTwice`], and
    /// [`CaptureError::WrongContext`].
    pub fn branch(self, stream: &Arc<CudaStream>) -> Result<Self, CaptureError> {
        self.with(stream)
    }

    /// Sets which calls of other threads invalidate the capture; by default only calls of its own
    /// thread do.
    #[must_use]
    pub fn mode(self, mode: CaptureMode) -> Self {
        Self { mode, ..self }
    }

    /// Adds blocks that the graph keeps: the body uses [views of them](Capture::block) to exchange
    /// data with other code.
    #[must_use]
    pub fn lease(mut self, lease: Lease) -> Self {
        self.leases.push(lease);
        self
    }

    /// Takes memory from outside the session, for graphs that read it: weights. The graphs keep it alive, and the body
    /// gets [shared views](Capture::owned) of it. Other holders of the `Arc` may read it at the same time.
    ///
    /// Blocks the host until all work of the context has ended, so that every earlier write has ended when a capture
    /// begins. That holds with cudarc's event tracking on or off. The wait invalidates a capture that other code has
    /// begun in the context.
    ///
    /// The memory is freed once the session and all its graphs are dropped, and no session captures.
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
    /// [`CaptureError::WrongContext`] for memory of another device, [`CaptureError::AlreadyCapturing`] if the stream of
    /// the slice is captured, [`CudaError::Capturing`](pool_cuda::CudaError::Capturing) while a session captures, and
    /// errors of the driver. The call then drops the memory: keep an `Arc` of it if it must survive.
    pub fn own<M: OwnedSource>(
        &mut self,
        memory: M,
    ) -> Result<OwnedSlice<M::Element>, CaptureError> {
        self.take(memory, false).map(OwnedSlice::new)
    }

    /// Takes memory from outside the session, for graphs that read and write it: state that each replay updates, such
    /// as a cache of keys and values. The body gets [views](Capture::owned_mut) of it.
    ///
    /// No other owner has it. [`CapturedGraph::read`] and [`CapturedGraph::write`] copy it between replays. Otherwise
    /// the same as [`own`](Self::own).
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
    /// Same as [`own`](Self::own).
    pub fn own_mut<M: OwnedSourceMut>(
        &mut self,
        memory: M,
    ) -> Result<OwnedSliceMut<M::Element>, CaptureError> {
        self.take(memory, true).map(OwnedSliceMut::new)
    }

    /// Runs the body dry: its acquires, and its order, are recorded and planned. No work is put on
    /// streams, no memory is allocated, and the driver is not called. The capture must take the
    /// same steps.
    ///
    /// # Errors
    ///
    /// The body's own error, and an error if there is no plan.
    pub fn probe<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<Probe, E> {
        self.probe_with(&Options::default(), state, body)
    }

    /// Probes with other options of the planner. By default it searches the lowest peak for ten
    /// seconds; the options limit the time, and the distance to the bound.
    ///
    /// # Errors
    ///
    /// Same as [`probe`](Self::probe).
    pub fn probe_with<S, E: From<CaptureError>>(
        &self,
        options: &Options,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<Probe, E> {
        let record = self.run_dry(state, body)?;
        Ok(Probe::new(&record.model, &record.regions, record.trace, options)?)
    }

    /// Runs the body dry once for each state, and makes one plan for all. It is for graphs that differ only in a
    /// length, such as a ladder of buckets. The probes have the order of the states.
    ///
    /// The planner searches for the member that needs most. The others have its temporaries in the same order, with
    /// their own sizes. Each plan is compared with the member's own bound. If it is more than 2 % higher (or more than
    /// the tolerance of the options), the member is planned by itself.
    ///
    /// The arena of [`planned`](Self::planned) is large enough for every member. So the graphs are captured in any order,
    /// the first by [`planned`](Self::planned) and the others [`beside`](Self::beside) it.
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
    /// Same as [`probe`](Self::probe).
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

    /// Moves to the second state, with an arena, which is the graph's from here on.
    ///
    /// # Errors
    ///
    /// [`CaptureError::WrongContext`], and [`CaptureError::ArenaInUse`] if another graph has the
    /// arena.
    pub fn prepare(self, arena: CudaArena) -> Result<PreparedCapture, CaptureError> {
        self.with_arena(arena, None)
    }

    /// Moves to the second state, with the arena of a graph that runs on the same stream. Their runs never overlap, so
    /// the arena needs the maximum of both and not the sum. Only one of them has the stream at a time.
    ///
    /// The graphs overwrite each other's temporaries. Allocations from before the arena was
    /// [prepared](Self::prepare) belong to neither graph; both start after them.
    ///
    /// # Errors
    ///
    /// [`CaptureError::AnotherStream`], and
    /// [`ArenaExhausted`](crate::GraphMemoryError::ArenaExhausted) if the arena is smaller than the
    /// plan: capture the larger graph first, or plan all graphs by
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

    /// Moves to the second state, with a new arena as large as the plan, which the capture then
    /// follows.
    ///
    /// # Errors
    ///
    /// Fails if the device has no such memory.
    pub fn planned(self, probe: &Probe) -> Result<PreparedCapture, CaptureError> {
        let source = DeviceMemory::of_context(Arc::clone(self.streams[0].context()));
        let arena = CudaArena::new(source, probe.arena_bytes(), probe.policy())?;
        self.with_arena(arena, probe.followed())
    }

    /// Moves to the second state with its own arena, from the arena's current state on.
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
        // It is leased before the mark: if it is reset in between, the lease detects it.
        let memory = GraphMemory::new(Arc::new(arena), leases, owned);
        let begin = memory.arena.arena().mark()?;
        let streams: Arc<[_]> = streams.into();
        let runs_on = RunStream::new(&streams[0])?;
        let resources = Arc::new(SessionResources::new(memory, runs_on, streams));
        Ok(PreparedCapture::new(CaptureSetup { mode, planned, begin, resources }))
    }

    /// Runs a body dry, and returns its record.
    fn run_dry<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<BodyRecord, E> {
        let capture = Capture::new(Account::dry(&self.streams), self.kept());
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
        // The null stream, and the handles of the two default streams.
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

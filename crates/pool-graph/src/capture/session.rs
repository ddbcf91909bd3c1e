//! A session before it has memory: its streams, its mode, and the blocks that its graph will keep.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;
use pool_driver::library::require_driver;
use pool_driver::versioned::EDGE_DATA;
use pool_plan::Options;

use super::body::{Account, Capture, Trace};
use super::error::CaptureError;
use super::footprint::Probe;
use super::graph::CapturedGraph;
use super::memory::{GraphMemory, OwnArena};
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
        let session =
            Self { streams: Vec::new(), leases: Vec::new(), mode: CaptureMode::default() };
        session.with(stream)
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
    /// As [`probe`](Self::probe).
    pub fn probe_with<S, E: From<CaptureError>>(
        &self,
        options: &Options,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<Probe, E> {
        let capture = Capture::new(Account::dry(&self.streams), &self.leases);
        body(&capture, state)?;
        capture.join_all()?;
        let record = capture.into_record();
        Ok(Probe::new(&record.model, &record.regions, record.trace, options)?)
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

    /// Moves to the second state, with the arena of a graph that runs on the same stream. Runs of
    /// both are one after the other, in any order, so the arena needs the maximum of both and not
    /// the sum. The stream is the token that only one of them has at a time.
    ///
    /// The graphs overwrite each other's temporaries. Allocations from before the arena was
    /// [prepared](Self::prepare) belong to neither graph; both start after them.
    ///
    /// # Errors
    ///
    /// [`CaptureError::AnotherStream`], and
    /// [`ArenaExhausted`](crate::GraphMemoryError::ArenaExhausted) if the arena is smaller than the
    /// plan: capture the larger graph first.
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
        let (requested, capacity) = (probe.arena_bytes(), graph.arena().arena().capacity());
        let used = graph.arena().used_before();
        if requested > capacity.saturating_sub(used) {
            let shortage = ArenaShortage::MadeForAnotherGraph;
            let exhausted =
                GraphMemoryError::ArenaExhausted { requested, used, capacity, shortage };
            return Err(exhausted.into());
        }
        let memory = GraphMemory::new(Arc::clone(graph.arena()), self.leases);
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
        let Self { streams, leases, mode } = self;
        // It is leased before the mark: if it is reset in between, the lease detects it.
        let memory = GraphMemory::new(Arc::new(arena), leases);
        let begin = memory.arena.arena().mark()?;
        let streams: Arc<[_]> = streams.into();
        let runs_on = RunStream::new(&streams[0])?;
        let resources = Arc::new(SessionResources::new(memory, runs_on, streams));
        Ok(PreparedCapture::new(CaptureSetup { mode, planned, begin, resources }))
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

//! Arenas that are installed on streams. Library code that receives only a stream can find that
//! stream's arena, even without a capture session.

use std::sync::Arc;

use parking_lot::Mutex;
use pool_core::Device;
use pool_core::reserve::lock_reserved;
use pool_driver::cudarc::driver::{CudaGraph, CudaStream};
use pool_driver::error::CudaError;

use super::cuda_arena::CudaArena;
use super::shared::ArenaShared;
use crate::base::error::GraphMemoryError;
use crate::driver::forks;
use crate::source::DeviceMemory;

/// The list of installed arenas. A thread holds the list's lock only while it searches or changes
/// the list. Capacity is reserved before the lock is acquired, and removed entries are dropped
/// after the lock is released.
static INSTALLED: Mutex<Vec<InstalledArena>> = Mutex::new(Vec::new());

/// An arena that is installed on a stream. The entry keeps the stream alive, because CUDA might
/// reuse a destroyed stream's handle for another stream.
struct InstalledArena {
    stream: Arc<CudaStream>,
    arena: Arc<ArenaShared<DeviceMemory>>,
}

impl InstalledArena {
    fn is_on(&self, stream: &CudaStream) -> bool {
        key(&self.stream) == key(stream)
    }

    fn is(&self, arena: &CudaArena) -> bool {
        Arc::ptr_eq(&self.arena, arena.shared())
    }
}

/// Methods for arenas whose memory is on a CUDA device.
impl CudaArena<DeviceMemory> {
    /// Installs this arena on a stream. Code that receives only the stream can find the arena with
    /// [`on`](Self::on) until the arena is [cleared](Self::clear). The stream and the arena stay
    /// alive until the arena is cleared.
    ///
    /// ```no_run
    /// use pool_cuda::Cuda;
    /// use pool_cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
    /// use pool_graph::{ArenaPolicy, CudaArena, DeviceMemory};
    ///
    /// let device = Cuda::device(0)?;
    /// let stream = device.context().new_stream().unwrap();
    /// let arena = CudaArena::new(DeviceMemory::new(&device), 1 << 20, ArenaPolicy::Linear).unwrap();
    /// arena.install(&stream).unwrap();
    /// stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    /// // Somewhere below, where there is only the stream:
    /// let scratch = CudaArena::on(&stream).unwrap().allocate(4096).unwrap();
    /// // … launches that use `scratch.address()` …
    /// arena.clear(&stream).unwrap();
    /// let graph = stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap();
    /// arena.check_graph(&graph).unwrap(); // refuses a graph that forks, for this policy
    /// // … whoever launches the graph keeps `arena.lease()` …
    /// # Ok::<(), pool_cuda::CudaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the stream belongs to another device or context, or already has an
    /// arena. The method also returns an error if this arena is already installed. The call also
    /// fails if the host cannot allocate memory for the entry.
    pub fn install(&self, stream: &Arc<CudaStream>) -> Result<(), GraphMemoryError<CudaError>> {
        self.check_context(stream)?;
        let mut installed = lock_reserved(|| INSTALLED.lock(), |installed| installed, 1)?;
        if installed.iter().any(|entry| entry.is_on(stream) || entry.is(self)) {
            return Err(GraphMemoryError::AlreadyInstalled { stream: number(stream) });
        }
        let (stream, arena) = (Arc::clone(stream), Arc::clone(self.shared()));
        installed.push(InstalledArena { stream, arena });
        Ok(())
    }

    /// Returns the arena that is installed on the stream, or `None` if the stream has no arena.
    #[must_use]
    pub fn on(stream: &CudaStream) -> Option<Self> {
        let found = {
            let installed = INSTALLED.lock();
            let entry = installed.iter().find(|entry| entry.is_on(stream));
            entry.map(|entry| Arc::clone(&entry.arena))
        };
        found.map(Self::of_shared)
    }

    /// Removes the arena from its stream. This method must be called before the capture ends. After
    /// the capture has ended, [`check_graph`](Self::check_graph) checks whether the captured graph
    /// may be replayed.
    ///
    /// # Errors
    ///
    /// Returns an error if the arena is not installed on this stream.
    pub fn clear(&self, stream: &CudaStream) -> Result<(), GraphMemoryError<CudaError>> {
        let removed = {
            let mut installed = INSTALLED.lock();
            let found = |entry: &InstalledArena| entry.is_on(stream) && entry.is(self);
            installed.iter().position(found).map(|place| installed.swap_remove(place))
        };
        match removed {
            Some(_) => Ok(()),
            None => Err(GraphMemoryError::NotInstalled { stream: number(stream) }),
        }
    }

    /// Checks that a graph using this arena's memory may be replayed. If the arena's policy is
    /// [`Linear`](crate::ArenaPolicy::Linear), the check reads the nodes and edges of the graph and
    /// its child graphs. The check ignores programmatic edges, because they do not order memory
    /// accesses.
    ///
    /// The check reads the finished graph, not the capture in progress. While a capture is in
    /// progress, other code might be able to access its stream. If the check read the capture in
    /// progress, another thread could end that capture and destroy the graph while the check was
    /// running.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph forks even though the policy is
    /// [`Linear`](crate::ArenaPolicy::Linear), or if a driver call fails. If the check fails, the
    /// graph must be discarded.
    pub fn check_graph(&self, graph: &CudaGraph) -> Result<(), GraphMemoryError<CudaError>> {
        if !self.rewinds() {
            return Ok(());
        }
        let unread = |source| GraphMemoryError::Source { operation: "read the graph", source };
        self.source().bind().map_err(unread)?;
        // SAFETY: cudarc destroys the graph only when its owner is dropped, and this function
        // borrows the owner. The owner is neither `Send` nor `Sync`, so no other thread has access
        // to the graph. The graph's owner has no method that changes the graph.
        let forks = unsafe { forks(graph.cu_graph()) };
        if forks.map_err(unread)? { self.forked() } else { Ok(()) }
    }

    fn check_context(&self, stream: &CudaStream) -> Result<(), GraphMemoryError<CudaError>> {
        let (own, other) = (self.source().context(), stream.context());
        if own.ordinal() != other.ordinal() {
            let ordinal = u32::try_from(other.ordinal()).ok();
            let stream = Device { kind: "cuda", ordinal };
            return Err(GraphMemoryError::WrongDevice { stream, memory: self.device() });
        }
        if own.cu_ctx() != other.cu_ctx() {
            let ordinal = u32::try_from(own.ordinal()).unwrap_or(u32::MAX);
            let source = CudaError::WrongContext { ordinal };
            return Err(GraphMemoryError::Source { operation: "install the arena", source });
        }
        Ok(())
    }
}

/// Returns a key that uniquely identifies the stream. The key includes the context, because the
/// default streams of all contexts have the same handle.
fn key(stream: &CudaStream) -> (usize, usize) {
    (stream.cu_stream().addr(), stream.context().cu_ctx().addr())
}

fn number(stream: &CudaStream) -> u64 {
    stream.cu_stream().addr() as u64
}

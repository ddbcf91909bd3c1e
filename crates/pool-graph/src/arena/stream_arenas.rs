//! Arenas on streams, for those who drive a capture by hand: whoever has only the stream finds the
//! arena that its capture takes memory from.

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

/// The arenas that are installed. Held for a look or a change, and for no call; room is made before, and what
/// was there is dropped after.
static INSTALLED: Mutex<Vec<InstalledArena>> = Mutex::new(Vec::new());

/// Keeps both: a handle of a stream that is gone could be another stream's.
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

/// For an arena of a device.
impl CudaArena<DeviceMemory> {
    /// Makes this the arena of a stream, until it is [cleared](Self::clear): [`on`](Self::on) finds it
    /// there. Both are kept meanwhile.
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
    /// If the stream is another device's or context's, if either is installed already, and if the host has no
    /// memory to note it.
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

    /// The arena that is installed on a stream.
    #[must_use]
    pub fn on(stream: &CudaStream) -> Option<Self> {
        let found = {
            let installed = INSTALLED.lock();
            let entry = installed.iter().find(|entry| entry.is_on(stream));
            entry.map(|entry| Arc::clone(&entry.arena))
        };
        found.map(Self::of_shared)
    }

    /// Ends the installation on a stream; to be called before the capture ends. Whether the capture may be
    /// replayed, its [graph](Self::check_graph) says.
    ///
    /// # Errors
    ///
    /// If the arena is not installed there.
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

    /// Whether the graph of a capture that took memory of this arena may be replayed. Where the arena rewinds
    /// ([`Linear`](crate::ArenaPolicy::Linear)), its nodes and edges are read, those of graphs in its nodes included,
    /// programmatic edges counting as none.
    ///
    /// It is asked of the graph, and not of the capture while that is under way: anybody who has the stream may
    /// end a capture, from any thread, and the graph would go while it is read.
    ///
    /// # Errors
    ///
    /// If the arena rewinds and the graph forks, and if the driver does not tell. The graph must be discarded.
    pub fn check_graph(&self, graph: &CudaGraph) -> Result<(), GraphMemoryError<CudaError>> {
        if !self.rewinds() {
            return Ok(());
        }
        let unread = |source| GraphMemoryError::Source { operation: "read the graph", source };
        self.source().bind().map_err(unread)?;
        // SAFETY: cudarc destroys the graph when its owner is dropped, which is borrowed. That is neither `Send`
        // nor `Sync`, so no other thread has it, and it gives nobody the right to change it.
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

/// What tells a stream from every other one: default streams have the same handle in every context.
fn key(stream: &CudaStream) -> (usize, usize) {
    (stream.cu_stream().addr(), stream.context().cu_ctx().addr())
}

fn number(stream: &CudaStream) -> u64 {
    stream.cu_stream().addr() as u64
}

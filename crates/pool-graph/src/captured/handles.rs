//! The driver's handles of a captured graph: owned, read, launched, and destroyed once.
//!
//! With `capture/driver.rs` and `device/` this is where the driver is called. What the proofs rely on:
//!
//! 1. **A handle is good** from its making until its owner here is dropped, and its owner alone has it:
//!    none is given out but that of a graph that tests take apart, which is never made executable.
//! 2. **The context lives** as long as its `Arc`, which every owner has; it is bound before a call that
//!    needs it.
//! 3. **Places outlive the call** that they are given to.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use pool_cuda::cudarc::driver::{CudaContext, CudaStream, result, sys};
use pool_cuda::{CudaError, with_relaxed_capture_mode};
use sys::CUmemorytype_enum as MemoryType;

use super::refusal::{NodeKind, UpdateReason, UpdateRefused};
use crate::capture::CaptureError;
use crate::capture::driver::{bind, wait_for};
use crate::device::answer;
use crate::device::graph_reading::{child_graph, edges, kind_of, nodes};
use crate::lease::LeasedRange;
use crate::verify::{GraphOrder, OrderEdge};

/// A graph: what the executable was made from.
#[derive(Debug)]
pub(crate) struct Graph {
    handle: sys::CUgraph,
    context: Arc<CudaContext>,
}

// SAFETY: the driver's calls on a graph may be made from any thread, one at a time, which `&mut` and
// the lack of `Sync` see to.
unsafe impl Send for Graph {}

/// What a graph has in it.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The nodes; their places are the numbers in `order`.
    pub(crate) nodes: Vec<Node>,
    pub(crate) order: GraphOrder,
    /// Addresses on the device that nodes name, or nodes of graphs in them, with bytes: node, address, bytes.
    pub(crate) accesses: Vec<(usize, u64, u64)>,
    /// The same, on the host.
    pub(crate) host_accesses: Vec<(usize, u64, u64)>,
    /// How many nodes allocate or free memory, those of graphs in nodes included.
    pub(crate) memory_nodes: usize,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) handle: u64,
    pub(crate) kind: NodeKind,
}

impl Graph {
    /// Takes a graph over; none where there is none.
    ///
    /// # Safety
    ///
    /// The handle is 0, or that of a graph of this context that nobody else has.
    pub(crate) unsafe fn new(handle: sys::CUgraph, context: &Arc<CudaContext>) -> Option<Self> {
        (!handle.is_null()).then(|| Self { handle, context: Arc::clone(context) })
    }

    /// For whoever takes it apart.
    pub(crate) fn handle(&self) -> sys::CUgraph {
        self.handle
    }

    /// What is really in it, by its own account.
    pub(crate) fn contents(&self) -> Result<Contents, CudaError> {
        // SAFETY: the graph is good (1).
        let nodes = unsafe { nodes(self.handle) }?;
        let mut by_handle: Vec<(sys::CUgraphNode, usize)> =
            nodes.iter().copied().zip(0..).collect();
        by_handle.sort_unstable();
        let find = |node: sys::CUgraphNode| {
            let place = by_handle.binary_search_by_key(&node, |&(handle, _)| handle);
            place.map_or(usize::MAX, |place| by_handle[place].1)
        };
        // SAFETY: the graph is good (1).
        let edges = unsafe { edges(self.handle) }?.into_iter().map(|edge| OrderEdge {
            from: find(edge.from),
            to: find(edge.to),
            full: edge.full,
        });
        let order = GraphOrder { nodes: nodes.len(), edges: edges.collect() };
        let mut contents = Contents { order, ..Contents::default() };
        for (number, &node) in nodes.iter().enumerate() {
            let kind = contents.read_node(number, node)?;
            contents.nodes.push(Node { handle: node.addr() as u64, kind });
        }
        Ok(contents)
    }

    /// Makes it executable.
    pub(crate) fn instantiate(&self) -> Result<Executable, CudaError> {
        let mut handle = ptr::null_mut();
        // SAFETY: the graph is good (1), the place, too (3).
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut handle, self.handle, 0) };
        answer("cuGraphInstantiate", made.result())?;
        Ok(Executable { handle, context: Arc::clone(&self.context) })
    }
}

impl Contents {
    /// What kind a node is, noting what it does with memory, as far as it says. What a child graph does, and the
    /// graphs in that, counts as done by the node that it is in.
    fn read_node(&mut self, number: usize, node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
        let kind = self.read_one(number, node)?;
        let mut open = Vec::new();
        if kind == NodeKind::ChildGraph {
            open.push(node);
        }
        while let Some(outer) = open.pop() {
            // SAFETY: the node is one of a graph that is borrowed (1), and holds a graph.
            let child = unsafe { child_graph(outer) }?;
            // SAFETY: it lives as long as the graph that its node is in.
            for node in unsafe { nodes(child) }? {
                if self.read_one(number, node)? == NodeKind::ChildGraph {
                    open.push(node);
                }
            }
        }
        Ok(kind)
    }

    fn read_one(&mut self, number: usize, node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
        // SAFETY: the node is one of a graph that is borrowed (1), or of a graph in that.
        let kind = unsafe { kind_of(node) }?;
        match kind {
            NodeKind::Allocate | NodeKind::Free => self.memory_nodes += 1,
            NodeKind::Fill => self.read_fill(number, node)?,
            NodeKind::Copy => self.read_copy(number, node)?,
            _ => {}
        }
        Ok(kind)
    }

    fn read_fill(&mut self, number: usize, node: sys::CUgraphNode) -> Result<(), CudaError> {
        // SAFETY: integers alone: all zero is a value.
        let mut fill: sys::CUDA_MEMSET_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: the node is one of a graph that is borrowed (1), the place good (3).
        let asked = unsafe { sys::cuGraphMemsetNodeGetParams(node, &raw mut fill) };
        answer("cuGraphMemsetNodeGetParams", asked.result())?;
        // What a node says is not ours: no number of it may overflow.
        let row = (fill.width as u64).saturating_mul(u64::from(fill.elementSize));
        let rows_before_last = (fill.height.max(1) as u64 - 1).saturating_mul(fill.pitch as u64);
        self.accesses.push((number, fill.dst, rows_before_last.saturating_add(row)));
        Ok(())
    }

    fn read_copy(&mut self, number: usize, node: sys::CUgraphNode) -> Result<(), CudaError> {
        let mut place = MaybeUninit::<sys::CUDA_MEMCPY3D>::zeroed();
        // SAFETY: the node is one of a graph that is borrowed (1), the place good (3).
        let asked = unsafe { sys::cuGraphMemcpyNodeGetParams(node, place.as_mut_ptr()) };
        answer("cuGraphMemcpyNodeGetParams", asked.result())?;
        // SAFETY: the call has succeeded, so it wrote all of it.
        let copy = unsafe { place.assume_init() };
        let (rows, planes) = (copy.Height.max(1) as u64, copy.Depth.max(1) as u64);
        let extent = |pitch: usize, height: usize| {
            let before = (planes - 1).saturating_mul(height as u64).saturating_add(rows - 1);
            before.saturating_mul(pitch as u64).saturating_add(copy.WidthInBytes as u64)
        };
        let is_device = |kind| kind != MemoryType::CU_MEMORYTYPE_HOST;
        if is_device(copy.srcMemoryType) {
            let from = copy.srcDevice.saturating_add(copy.srcXInBytes as u64);
            self.accesses.push((number, from, extent(copy.srcPitch, copy.srcHeight)));
        } else {
            let from = (copy.srcHost.addr() as u64).saturating_add(copy.srcXInBytes as u64);
            self.host_accesses.push((number, from, extent(copy.srcPitch, copy.srcHeight)));
        }
        if is_device(copy.dstMemoryType) {
            let to = copy.dstDevice.saturating_add(copy.dstXInBytes as u64);
            self.accesses.push((number, to, extent(copy.dstPitch, copy.dstHeight)));
        } else {
            let to = (copy.dstHost.addr() as u64).saturating_add(copy.dstXInBytes as u64);
            self.host_accesses.push((number, to, extent(copy.dstPitch, copy.dstHeight)));
        }
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = bind(&self.context);
        // SAFETY: the handle is good, and this is its last use (1).
        let _ = with_relaxed_capture_mode(|| unsafe { sys::cuGraphDestroy(self.handle) });
    }
}

/// `CUgraphExecUpdateResultInfo`, with the result as a number: a driver may know more of them than the
/// bindings, whose enum is `repr(u32)`.
#[repr(C)]
struct Told {
    result: u32,
    node: sys::CUgraphNode,
    _from: sys::CUgraphNode,
}

/// A graph ready to be launched. Never given out.
#[derive(Debug)]
pub(crate) struct Executable {
    handle: sys::CUgraphExec,
    context: Arc<CudaContext>,
}

// SAFETY: as for `Graph`.
unsafe impl Send for Executable {}

impl Executable {
    /// Enqueues a run; the context is bound.
    pub(crate) fn launch(&mut self, stream: &CudaStream) -> Result<(), CudaError> {
        // SAFETY: the executable is good (1), and the stream while its owner is borrowed.
        let launched = unsafe { sys::cuGraphLaunch(self.handle, stream.cu_stream()) };
        answer("cuGraphLaunch", launched.result())
    }

    /// Sends to the device what a launch needs there; the context is bound.
    pub(crate) fn upload(&mut self, stream: &CudaStream) -> Result<(), CudaError> {
        // SAFETY: as above.
        let uploaded = unsafe { sys::cuGraphUpload(self.handle, stream.cu_stream()) };
        answer("cuGraphUpload", uploaded.result())
    }

    /// Takes the parameters of the nodes of another graph, whose contents are these; the context is
    /// bound.
    ///
    /// "Updates take effect the next time the graph is launched, so they do not impact previous graph
    /// launches, even if they are running at the time of the update" (CUDA Programming Guide, "Updating
    /// Instantiated Graphs"). With `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE` "the graph update was not
    /// performed" (driver API, `cuGraphExecUpdate`).
    ///
    /// # Errors
    ///
    /// [`CaptureError::Update`] where it was not performed. Of any other error CUDA does not say what it
    /// leaves: what both graphs name must stay.
    pub(crate) fn update(
        &mut self,
        graph: &Graph,
        contents: &Contents,
    ) -> Result<(), CaptureError> {
        let mut told = Told { result: 0, node: ptr::null_mut(), _from: ptr::null_mut() };
        let place = (&raw mut told).cast();
        // SAFETY: both graphs are good (1); the place is laid out as the call writes it (3).
        let updated = unsafe { sys::cuGraphExecUpdate_v2(self.handle, graph.handle, place) };
        if updated != sys::CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE {
            return Ok(answer("cuGraphExecUpdate", updated.result())?);
        }
        let (reason, node) = (UpdateReason::of_driver(told.result), told.node.addr() as u64);
        // Only compared: the driver may name one of its own.
        let node = contents.nodes.iter().find(|one| one.handle == node).map(|one| one.kind);
        Err(CaptureError::Update(UpdateRefused { reason, node }))
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        let _ = bind(&self.context);
        // SAFETY: the handle is good, and this is its last use (1).
        let _ = with_relaxed_capture_mode(|| unsafe { sys::cuGraphExecDestroy(self.handle) });
    }
}

/// Page-locked host memory that a graph reads.
#[derive(Debug)]
pub(crate) struct HostBuffer {
    memory: ptr::NonNull<u8>,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: it owns the memory, which any thread may use and free.
unsafe impl Send for HostBuffer {}
// SAFETY: `&HostBuffer` gives an address and a length alone.
unsafe impl Sync for HostBuffer {}

impl HostBuffer {
    /// A copy of these bytes, of which there is at least one; the context is bound.
    pub(crate) fn new(bytes: &[u8], context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let allocate = || {
            // SAFETY: what is allocated is nobody's yet, and is written below.
            unsafe { result::malloc_host(bytes.len(), sys::CU_MEMHOSTALLOC_PORTABLE) }
        };
        let memory = answer("cuMemHostAlloc", with_relaxed_capture_mode(allocate))?;
        let none = CudaError::OutOfMemory { requested: bytes.len(), memory: None };
        let memory = ptr::NonNull::new(memory.cast::<u8>()).ok_or(none)?;
        let mut buffer = Self { memory, bytes: bytes.len(), context: Arc::clone(context) };
        buffer.bytes_mut().copy_from_slice(bytes);
        Ok(buffer)
    }

    pub(crate) fn address(&self) -> *const u8 {
        self.memory.as_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Whether all of `[address, address + bytes)` is in it.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        let range = LeasedRange { address: self.address().addr() as u64, bytes: self.bytes as u64 };
        range.contains(address, bytes)
    }

    /// Its bytes. Whoever writes them sees to it that no run of the graph reads them meanwhile.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes were allocated; `new` has written them all before anyone else has it
        // (the driver gives pages of zeros or old bytes, which are bytes).
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.bytes) }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        let _ = bind(&self.context);
        // SAFETY: it came from `cuMemHostAlloc`, is freed once, and the graph that reads it is gone.
        let _ =
            with_relaxed_capture_mode(|| unsafe { result::free_host(self.memory.as_ptr().cast()) });
    }
}

/// Copies to page-locked memory in the order of a stream, and waits; the context is bound. After an error the copy may
/// be made later: the buffer stays until the stream was waited for.
///
/// # Safety
///
/// The device range has as many bytes, and the buffer, too.
pub(crate) unsafe fn read(
    stream: &CudaStream,
    to: &mut HostBuffer,
    bytes: usize,
    from: u64,
) -> Result<(), CudaError> {
    let place = to.memory.as_ptr().cast();
    // SAFETY: the caller's promise; the host range stays for as long as the copy may be made.
    let copied = unsafe { sys::cuMemcpyDtoHAsync_v2(place, from, bytes, stream.cu_stream()) };
    answer("cuMemcpyDtoHAsync", copied.result()).and_then(|()| wait_for(stream))
}

/// Copies from page-locked memory in the order of a stream, and waits; as [`read`].
///
/// # Safety
///
/// As for [`read`].
pub(crate) unsafe fn write(
    stream: &CudaStream,
    to: u64,
    from: &mut HostBuffer,
    bytes: usize,
) -> Result<(), CudaError> {
    let place = from.memory.as_ptr().cast_const().cast();
    // SAFETY: as in `read`.
    let copied = unsafe { sys::cuMemcpyHtoDAsync_v2(to, place, bytes, stream.cu_stream()) };
    answer("cuMemcpyHtoDAsync", copied.result()).and_then(|()| wait_for(stream))
}

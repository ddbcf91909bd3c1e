//! Owners of the handles that the driver returns for a captured graph. Each handle is destroyed
//! exactly once, either immediately or through a deferred free.
//!
//! The safety proofs in this module rely on four facts:
//!
//! - **A handle is live** from its creation until its owner is dropped. No other code has access to
//!   the handle. Only an unverified capture exposes its graph's handle, and that graph is never
//!   instantiated. Only tests use unverified captures.
//! - **The context is live** for as long as its `Arc` exists. Every owner holds a clone of this
//!   `Arc`. The context is made current before each call that requires a current context.
//! - **The graph's kernel modules stay loaded** until the graph's handles have been destroyed,
//!   because each handle shares ownership of its capture's [`KeptValues`].
//! - **Output variables outlive the call** that writes to them.

use std::ptr;
use std::sync::Arc;

use pool_driver::answer::answer;
use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::captures_under_way::is_capture_under_way;
use pool_driver::chain::Chain;
use pool_driver::cudarc::driver::{CudaContext, CudaStream, sys};
use pool_driver::deferred_frees::{DeferredFreeKind, QueueEntry, ResourceOwner};
use pool_driver::error::CudaError;
use pool_driver::handle::{ContextHandle, HandleKind};

use super::kept_values::{KeepingHandle, KeptValues};
use super::refusal::{NodeKind, UpdateReason, UpdateRefusal};

/// The owner of a graph from which an executable graph can be instantiated.
#[derive(Debug)]
pub(crate) struct Graph(ResourceOwner<KeepingHandle<GraphKind>>);

/// An entry in the queue of deferred frees, reserved for a future graph.
pub(crate) type GraphEntry = QueueEntry<KeepingHandle<GraphKind>>;

pub(crate) enum GraphKind {}

// SAFETY: calls on a graph may be made from any thread, but not concurrently. The `&mut` receivers
// and the lack of a `Sync` implementation ensure that such calls never overlap.
unsafe impl HandleKind for GraphKind {
    type Handle = sys::CUgraph;

    const KIND: DeferredFreeKind = DeferredFreeKind::Graph;

    fn check() -> Result<(), CudaError> {
        check_no_capture()
    }

    unsafe fn destroy(graph: sys::CUgraph) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the handle is live and is never used after this call.
        let destroyed = with_relaxed_capture_mode(|| unsafe { sys::cuGraphDestroy(graph) });
        answer("cuGraphDestroy", destroyed.result())
    }
}

/// Checks that no session in the process is capturing. Destroying a graph could invalidate a
/// capture in progress, even one on another thread.
fn check_no_capture() -> Result<(), CudaError> {
    match is_capture_under_way() {
        true => Err(CudaError::Capturing { operation: "destroy a graph" }),
        false => Ok(()),
    }
}

impl Graph {
    /// Takes ownership of a graph from the driver and of the values that its nodes need. Returns
    /// `None` if the handle is 0.
    ///
    /// # Safety
    ///
    /// The handle must be null, or it must refer to a graph that was created in this context and
    /// has no other owner.
    pub(crate) unsafe fn new(
        handle: sys::CUgraph,
        context: &Arc<CudaContext>,
        values: &Arc<KeptValues>,
        entry: GraphEntry,
    ) -> Option<Self> {
        // SAFETY: the caller guarantees that the handle belongs to a graph that was created in this
        // context and has no other owner.
        let own = || unsafe { ContextHandle::new(handle, context) };
        let values = || Arc::clone(values);
        (!handle.is_null()).then(|| Self(entry.own(KeepingHandle::new(own(), values()))))
    }

    /// Returns the graph's handle. The crate reads the graph through this handle, and tests modify
    /// unverified graphs through it.
    pub(crate) fn handle(&self) -> sys::CUgraph {
        self.0.handle().get()
    }

    /// Creates an executable graph from this graph.
    pub(crate) fn instantiate(&self) -> Result<Executable, CudaError> {
        let (entry, mut handle) = (QueueEntry::new()?, ptr::null_mut());
        // SAFETY: the graph is live because its owner is borrowed. The graph's kernel modules are
        // loaded because the graph's owner holds its `KeptValues`. `handle` outlives the call that
        // writes to it.
        let made = with_relaxed_capture_mode(|| unsafe {
            sys::cuGraphInstantiateWithFlags(&raw mut handle, self.handle(), 0)
        });
        answer("cuGraphInstantiate", made.result())?;
        // SAFETY: the executable graph has just been created in the graph's context.
        let handle = unsafe { ContextHandle::new(handle, self.0.handle().context()) };
        Ok(Executable(entry.own(KeepingHandle::new(handle, Arc::clone(self.0.values())))))
    }
}

/// The `CUgraphExecUpdateResultInfo` struct. The update's result is stored as a number. A newer
/// driver might return results that are missing from the bindings' enum. The enum is `repr(u32)`.
#[repr(C)]
struct UpdateResultInfo {
    result: u32,
    node: sys::CUgraphNode,
    _from: sys::CUgraphNode,
}

/// Owns an executable graph and never exposes its handle.
#[derive(Debug)]
pub(crate) struct Executable(ResourceOwner<KeepingHandle<ExecutableKind>>);

enum ExecutableKind {}

// SAFETY: calls on an executable graph may be made from any thread, but not concurrently. The
// `&mut` receivers and the lack of a `Sync` implementation ensure that such calls never overlap.
unsafe impl HandleKind for ExecutableKind {
    type Handle = sys::CUgraphExec;

    const KIND: DeferredFreeKind = DeferredFreeKind::Executable;

    fn check() -> Result<(), CudaError> {
        check_no_capture()
    }

    unsafe fn destroy(executable: sys::CUgraphExec) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that the handle is live and is never used after this call.
        let destroyed =
            with_relaxed_capture_mode(|| unsafe { sys::cuGraphExecDestroy(executable) });
        answer("cuGraphExecDestroy", destroyed.result())
    }
}

impl Executable {
    /// Launches the executable graph on a stream. The caller must have already made the context
    /// current on this thread.
    pub(crate) fn launch(&mut self, stream: &CudaStream) -> Result<(), CudaError> {
        // SAFETY: the executable graph and the stream are live because their owners are borrowed.
        // The graph's kernel modules are loaded because the executable graph's owner holds the
        // `KeptValues`.
        let launched = unsafe { sys::cuGraphLaunch(self.handle(), stream.cu_stream()) };
        answer("cuGraphLaunch", launched.result())
    }

    /// Uploads the executable graph's launch data to the device. The caller must have already made
    /// the context current on this thread.
    pub(crate) fn upload(&mut self, stream: &CudaStream) -> Result<(), CudaError> {
        // SAFETY: the executable graph and the stream are live because their owners are borrowed.
        // The graph's kernel modules are loaded because the executable graph's owner holds the
        // `KeptValues`.
        let uploaded = with_relaxed_capture_mode(|| unsafe {
            sys::cuGraphUpload(self.handle(), stream.cu_stream())
        });
        answer("cuGraphUpload", uploaded.result())
    }

    fn handle(&self) -> sys::CUgraphExec {
        self.0.handle().get()
    }

    /// Copies the parameters of another graph's nodes into the executable graph. The caller must
    /// have already made the context current on this thread. The `kind_of` closure returns the kind
    /// of a node in the other graph.
    ///
    /// "Updates take effect the next time the graph is launched, so they do not impact previous
    /// graph launches, even if they are running at the time of the update" (CUDA Programming Guide,
    /// "Updating Instantiated Graphs"). After `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE`, "the graph
    /// update was not performed" (driver API, `cuGraphExecUpdate`).
    ///
    /// The inner result contains an error if the driver refuses the update. After a refused update,
    /// the executable graph is unchanged.
    ///
    /// # Errors
    ///
    /// For any other error, CUDA does not document the outcome, so the caller must retain the
    /// memory of both graphs. The executable graph's owner keeps the modules of both graphs loaded.
    pub(crate) fn update(
        &mut self,
        graph: &Graph,
        kind_of: impl FnOnce(u64) -> Option<NodeKind>,
    ) -> Result<Result<(), UpdateRefusal>, CudaError> {
        let mut result_info =
            UpdateResultInfo { result: 0, node: ptr::null_mut(), _from: ptr::null_mut() };
        let place = (&raw mut result_info).cast();
        let doubtful = Chain::of(Arc::clone(graph.0.values()))?;
        // SAFETY: both graphs are live because their owners are borrowed. The kernel modules of
        // both graphs are loaded because each graph's owner holds that graph's `KeptValues`.
        // `result_info` outlives the call and has the layout of the struct that the call writes.
        let updated = with_relaxed_capture_mode(|| unsafe {
            sys::cuGraphExecUpdate_v2(self.handle(), graph.handle(), place)
        });
        if updated != sys::CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE {
            let updated = answer("cuGraphExecUpdate", updated.result());
            match updated {
                Ok(()) => self.0.replace_values(graph.0.values()),
                Err(_) => self.0.keep_doubtful(doubtful),
            }
            return updated.map(Ok);
        }
        let (reason, node) =
            (UpdateReason::of_driver(result_info.result), result_info.node.addr() as u64);
        // The handle is compared only with other handles, because the driver might return a handle
        // that does not belong to any node of `graph`.
        Ok(Err(UpdateRefusal { reason, node: kind_of(node) }))
    }
}

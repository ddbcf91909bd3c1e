//! The operations that a body can enqueue on the session's streams: fills, copies, and the caller's
//! own work.

use std::sync::Arc;

use pool_core::{Element, PodElement, bytemuck};
use pool_driver::calls;
use pool_driver::cudarc::driver::CudaStream;
use pool_driver::host_buffer::HostBuffer;

use super::capture::{Capture, Operation};
use super::memory_use::Use;
use super::names::{CaptureStream, HostArgument};
use super::span::NodeOwner;
use super::view::{CaptureView, ReadView};
use crate::capture::error::CaptureError;
use crate::driver::NodeKind;

impl Capture<'_> {
    /// Sets each byte of a view to `value`.
    ///
    /// # Errors
    ///
    /// Returns an error if the driver call fails.
    pub fn fill_bytes<T: PodElement>(
        &self,
        stream: CaptureStream,
        view: &mut CaptureView<'_, T>,
        value: u8,
    ) -> Result<(), CaptureError> {
        let (address, bytes) = (view.address(), view.bytes());
        let owner = NodeOwner::one(NodeKind::Fill, &[address], bytes);
        let operation = Operation { kind: "fill", stream, uses: &[view.write()], owner };
        self.operation(&operation, |stream| {
            if bytes == 0 {
                return Ok(());
            }
            // SAFETY: the view's memory belongs to the arena or to a leased block, and the graph
            // will keep this memory alive.
            unsafe { calls::set_bytes(address, value, bytes, stream) }.map_err(Into::into)
        })
    }

    /// Copies the elements of one view to another of the same length.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::LengthMismatch`] if the lengths differ, [`CaptureError::SameMemory`]
    /// if both views refer to the same memory, or the driver's error.
    pub fn copy<T: Element>(
        &self,
        stream: CaptureStream,
        to: &mut CaptureView<'_, T>,
        from: &impl ReadView<T>,
    ) -> Result<(), CaptureError> {
        let (source, elements, read) = from.parts();
        check_lengths(elements, to.len())?;
        let target = to.address();
        if target == source && read.region == to.region {
            return Err(CaptureError::SameMemory { address: target });
        }
        let bytes = to.bytes();
        let owner = NodeOwner::one(NodeKind::Copy, &[source, target], bytes);
        let uses = &[read, to.write()];
        self.operation(&Operation { kind: "copy", stream, uses, owner }, |stream| {
            if bytes == 0 {
                return Ok(());
            }
            // SAFETY: the memory of both views belongs to the arena or to leased blocks. The graph
            // will keep the arena and all of these blocks alive. The views refer to two different
            // regions that do not overlap while both are in use.
            unsafe { calls::copy_on_device(target, source, bytes, stream) }.map_err(Into::into)
        })
    }

    /// Copies elements from the host to the device in each replay. The graph stores its own copy of
    /// the elements, and [`set_argument`](crate::CapturedGraph::set_argument) replaces their
    /// values.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`copy`](Self::copy). The call also fails if the host cannot
    /// allocate page-locked memory.
    pub fn copy_from_host<T: Element>(
        &self,
        stream: CaptureStream,
        to: &mut CaptureView<'_, T>,
        from: &[T],
    ) -> Result<HostArgument, CaptureError> {
        check_lengths(from.len(), to.len())?;
        let (capture, number) = {
            let mut account = self.account.open();
            (account.number(), account.name_argument()?)
        };
        let (target, bytes) = (to.address(), to.bytes());
        let buffer = self.host_buffer(bytemuck::cast_slice(from))?;
        let source = buffer.as_ref().map_or(0, HostBuffer::address);
        let owner = NodeOwner::one(NodeKind::Copy, &[source, target], bytes);
        let uses = &[to.write()];
        self.operation(&Operation { kind: "copy from host", stream, uses, owner }, |stream| {
            let Some(buffer) = buffer else { return Ok(()) };
            let from = buffer.first();
            self.account.open().keep_argument(number, buffer);
            // SAFETY: the view's memory belongs to the arena or to a leased block, and the graph
            // will keep this memory alive. The graph will also own the host buffer.
            unsafe { calls::copy_from_host(target, from, bytes, stream) }.map_err(Into::into)
        })?;
        Ok(HostArgument { capture, number })
    }

    /// Enqueues cudarc work, such as kernel launches and library calls, on a stream. In a dry run,
    /// the closure is not called.
    ///
    /// # Safety
    ///
    /// In every replay, the work may access only memory that belongs to the views in `uses`, to the
    /// caller, or to the graph's state. The work may write to a view only if `uses` declares a
    /// write to that view. Memory that belongs to the caller or to the graph's state must stay
    /// valid for as long as the graph exists. No other code may use that memory. The caller may
    /// reuse its memory earlier if an [update](crate::CapturedGraph::update) has replaced the work.
    /// A graph that is passed to `mem::forget` is never dropped, so no code waits for its runs to
    /// finish. If the graph's state borrows memory (`S` is not `'static`), the caller must also
    /// ensure that the graph is dropped.
    ///
    /// The work must be enqueued on the given stream and must not end the capture. No other code
    /// may use the stream until the closure returns. The caller is responsible for all work
    /// enqueued on the stream while the closure runs. This work includes kernels launched by other
    /// threads. If the work fails partway through, the caller is also responsible for the nodes
    /// that it has already added.
    ///
    /// The modules of all launched kernels must stay loaded for as long as the graph exists. The
    /// modules may be unloaded earlier if a successful [update](crate::CapturedGraph::update) has
    /// replaced the work. The same rule applies to everything else that a replay uses, such as a
    /// library handle and the kernels and workspace that it uses. [`keep`](Self::keep) moves a
    /// library handle, or a clone of a [`CudaFunction`](pool_cuda::cudarc::driver::CudaFunction),
    /// into the graph.
    ///
    /// # Errors
    ///
    /// Returns the error from `work`, [`CaptureError::ForeignWork`], [`CaptureError::SharedBlock`],
    /// or the driver's error.
    pub unsafe fn enqueue(
        &self,
        stream: CaptureStream,
        uses: &[Use<'_>],
        work: impl FnOnce(&Arc<CudaStream>) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        let owner = NodeOwner::Caller;
        self.operation(&Operation { kind: "work", stream, uses, owner }, work)
    }

    /// Keeps a value alive until this capture's graphs can no longer run. Examples include a cuBLAS
    /// handle and a kernel's [`CudaFunction`](pool_cuda::cudarc::driver::CudaFunction), whose
    /// module the driver would otherwise unload. The capture automatically keeps functions launched
    /// with [`Launch::launch`](pool_cuda::Launch::launch) alive.
    ///
    /// The value is dropped after the driver has destroyed the graph and the executable graph. The
    /// value may be dropped on any thread, but only while no session is capturing. An
    /// [update](crate::CapturedGraph::update) replaces all of these values after earlier replays
    /// have ended. If the capture fails or is a dry run, the value is dropped when the capture
    /// ends. If the value's destructor panics, the panic is reported and then ignored.
    ///
    /// ```no_run
    /// use pool_cuda::cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
    /// use pool_graph::{Capture, CaptureError};
    ///
    /// /// The module may be unloaded elsewhere at any time after this call.
    /// fn body(capture: &Capture<'_>, kernel: &CudaFunction) -> Result<(), CaptureError> {
    ///     let main = capture.main();
    ///     let mut numbers = capture.acquire::<f32>(1000)?;
    ///     let address = numbers.address();
    ///     capture.keep(kernel.clone())?;
    ///     let uses = [numbers.write()];
    ///     // SAFETY: the kernel writes 1000 numbers, and the graph keeps its module.
    ///     unsafe {
    ///         capture.enqueue(main, &uses, |stream| {
    ///             let mut launch = stream.launch_builder(kernel);
    ///             launch.arg(&address).launch(LaunchConfig::for_num_elems(1000))?;
    ///             Ok(())
    ///         })
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`](pool_cuda::CudaError::Bookkeeping) if the host is out of
    /// memory. If the call fails, the value is dropped.
    pub fn keep<T: Send + 'static>(&self, value: T) -> Result<(), CaptureError> {
        let values = self.account.open().values();
        values.map_or(Ok(()), |values| Ok(values.keep(Box::new(value))?))
    }

    /// Returns the host buffer that a copy in the graph reads from. Returns `None` in a dry run, or
    /// if the copy is 0 bytes long.
    fn host_buffer(&self, bytes: &[u8]) -> Result<Option<HostBuffer>, CaptureError> {
        if self.is_dry() || bytes.is_empty() {
            return Ok(None);
        }
        let streams = Arc::clone(self.account.open().streams());
        Ok(Some(HostBuffer::new(bytes, streams[0].context())?))
    }
}

fn check_lengths(from: usize, to: usize) -> Result<(), CaptureError> {
    if from == to {
        return Ok(());
    }
    Err(CaptureError::LengthMismatch { from, to })
}

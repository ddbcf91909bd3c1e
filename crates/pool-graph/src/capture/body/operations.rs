//! Operations of a body on the streams of its session: fills, copies, and the caller's own work.

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
    /// Sets all bytes of a view.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
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
            // SAFETY: the view is memory of the arena or of a lease, which the graph will own.
            unsafe { calls::set_bytes(address, value, bytes, stream) }.map_err(Into::into)
        })
    }

    /// Copies a view, of any kind, to another one of the same length.
    ///
    /// # Errors
    ///
    /// [`CaptureError::LengthMismatch`], [`CaptureError::SameMemory`] for two views of one block,
    /// and the driver's error code.
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
            // SAFETY: as in `fill_bytes`, of two regions, which are disjoint while both are in use.
            unsafe { calls::copy_on_device(target, source, bytes, stream) }.map_err(Into::into)
        })
    }

    /// Copies from the host, in each replay. The graph owns the host's elements, and
    /// [`set_argument`](crate::CapturedGraph::set_argument) changes them.
    ///
    /// # Errors
    ///
    /// Same as [`copy`](Self::copy), and an error if there is no page-locked memory.
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
            // SAFETY: as in `fill_bytes`; the graph will own the buffer, too.
            unsafe { calls::copy_from_host(target, from, bytes, stream) }.map_err(Into::into)
        })?;
        Ok(HostArgument { capture, number })
    }

    /// Puts work on a stream through cudarc: launches of kernels, calls of libraries. It is not
    /// called in a dry run.
    ///
    /// # Safety
    ///
    /// All memory that the work accesses, in this and every later replay, must be in the views of
    /// `uses`, and written only as declared there. Or it must be memory of the caller, or of the
    /// graph's state, that stays valid without other uses meanwhile. It must stay so for as long as
    /// the graph lives, or until an [update](crate::CapturedGraph::update) has replaced the work. A
    /// *forgotten* graph lives forever, and its runs are not waited for. A state that borrows
    /// memory (`S` is not `'static`) does not keep it, so a caller with such a state must ensure
    /// that the graph is dropped.
    ///
    /// The work must go to this stream, and leave the capture as it is. Meanwhile no other code may
    /// use the stream: the caller is responsible for all work put there until the closure returns,
    /// including kernels of other threads. The same holds for the nodes of work that fails halfway.
    ///
    /// # Errors
    ///
    /// The work's own error, [`CaptureError::ForeignWork`], [`CaptureError::SharedBlock`], and the
    /// driver's error code.
    pub unsafe fn enqueue(
        &self,
        stream: CaptureStream,
        uses: &[Use<'_>],
        work: impl FnOnce(&Arc<CudaStream>) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        let owner = NodeOwner::Caller;
        self.operation(&Operation { kind: "work", stream, uses, owner }, work)
    }

    /// Returns the graph's source of a copy: `None` for 0 bytes, and in a dry run.
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

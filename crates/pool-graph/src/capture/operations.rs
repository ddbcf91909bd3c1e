//! What a body puts on the streams of its session: fills, copies, and work of its own.

use std::sync::Arc;

use pool_core::{Element, PodElement, bytemuck};
use pool_cuda::cudarc::driver::CudaStream;

use super::driver;
use super::error::CaptureError;
use super::scope::{Capture, CaptureStream, HostArgument};
use super::view::{CaptureView, Use};
use crate::captured::HostBuffer;

impl Capture<'_> {
    /// Sets all bytes of a view.
    ///
    /// # Errors
    ///
    /// What the driver refuses.
    pub fn fill_bytes<T: PodElement>(
        &self,
        stream: CaptureStream,
        view: &mut CaptureView<'_, T>,
        value: u8,
    ) -> Result<(), CaptureError> {
        let (address, bytes) = (view.device_pointer(), view.bytes());
        self.operation("fill", stream, &[view.write()], |stream| {
            if bytes == 0 {
                return Ok(());
            }
            // SAFETY: the view is memory of the arena or of a lease, which the graph will own.
            unsafe { driver::set_bytes(stream, address, value, bytes) }.map_err(Into::into)
        })
    }

    /// Copies a view to another one of the same length.
    ///
    /// # Errors
    ///
    /// [`CaptureError::LengthMismatch`], [`CaptureError::SameMemory`] for two views of one block, and
    /// what the driver refuses.
    pub fn copy<T: Element>(
        &self,
        stream: CaptureStream,
        to: &mut CaptureView<'_, T>,
        from: &CaptureView<'_, T>,
    ) -> Result<(), CaptureError> {
        check_lengths(from.len(), to.len())?;
        let (target, source) = (to.device_pointer(), from.device_pointer());
        if target == source && from.region == to.region {
            return Err(CaptureError::SameMemory { address: target });
        }
        let bytes = to.bytes();
        self.operation("copy", stream, &[from.read(), to.write()], |stream| {
            if bytes == 0 {
                return Ok(());
            }
            // SAFETY: as in `fill_bytes`, of two regions, which are apart while both are in use.
            unsafe { driver::copy(stream, target, source, bytes) }.map_err(Into::into)
        })
    }

    /// Copies from the host, in each replay: the graph owns the host's elements, and
    /// [`set_argument`](crate::CapturedGraph::set_argument) changes them.
    ///
    /// # Errors
    ///
    /// As [`copy`](Self::copy), and where there is no page-locked memory.
    pub fn copy_from_host<T: Element>(
        &self,
        stream: CaptureStream,
        to: &mut CaptureView<'_, T>,
        from: &[T],
    ) -> Result<HostArgument, CaptureError> {
        check_lengths(from.len(), to.len())?;
        let (capture, number) = (self.id(), self.record.lock().host.len());
        let (target, bytes) = (to.device_pointer(), to.bytes());
        self.operation("copy from host", stream, &[to.write()], |stream| {
            if bytes == 0 {
                self.record.lock().host.push(None);
                return Ok(());
            }
            let buffer = HostBuffer::new(bytemuck::cast_slice(from), stream.context())?;
            // SAFETY: as in `fill_bytes`; the graph will own the buffer, too.
            unsafe { driver::copy_from_host(stream, target, buffer.address(), bytes) }?;
            self.record.lock().host.push(Some(buffer));
            Ok(())
        })?;
        Ok(HostArgument { capture, number })
    }

    /// Puts work on a stream through cudarc: launches of kernels, calls of libraries. Not called in a
    /// dry run.
    ///
    /// # Safety
    ///
    /// What the work reads and writes, in this and every later replay, is in the views of `uses`, and
    /// written only where they say so; or it is memory of the caller's, or of the graph's state, that
    /// stays, and is used by nothing else meanwhile, for as long as the graph lives, or until an
    /// [update](crate::CapturedGraph::update) has replaced the work. It goes to this stream, and leaves the
    /// capture as it is. The same holds for what work that fails has put there by then.
    ///
    /// # Errors
    ///
    /// What the work answers, [`CaptureError::ForeignWork`], and what the driver refuses.
    pub unsafe fn enqueue(
        &self,
        stream: CaptureStream,
        uses: &[Use<'_>],
        work: impl FnOnce(&Arc<CudaStream>) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        self.operation("work", stream, uses, work)
    }
}

fn check_lengths(source: usize, destination: usize) -> Result<(), CaptureError> {
    if source == destination {
        return Ok(());
    }
    Err(CaptureError::LengthMismatch { source, destination })
}

//! Tickets for reads that might still be in progress.

use std::fmt;
use std::marker::PhantomData;

use pool_core::{PodElement, bytemuck};

use super::staging_pool::TakenBuffer;
use crate::capture::error::CaptureError;

/// A ticket for an enqueued read. Any thread can later check whether the read has completed, or
/// wait for it to complete. Enqueueing a write or a read does not wait for the device, but
/// [`wait`](Self::wait) does.
///
/// Dropping a ticket returns its buffer to the staging pool. The pool reuses the buffer once the
/// copy has completed. If a ticket is passed to `mem::forget`, its buffer is never reused. A ticket
/// may outlive the graph, its stream, and the [`StagingPool`](crate::StagingPool).
///
/// ```compile_fail,E0505
/// # use pool_graph::{CaptureError, ReadTicket};
/// # fn f(mut ticket: ReadTicket<f32>) -> Result<(), CaptureError> {
/// let results = ticket.wait()?;
/// drop(ticket); // gives the buffer back
/// println!("{results:?}");
/// # Ok(())
/// # }
/// ```
#[must_use = "a read without a wait has no effect"]
pub struct ReadTicket<T> {
    /// The buffer that receives the elements, or `None` for a read of 0 bytes.
    buffer: Option<TakenBuffer>,
    bytes: usize,
    element: PhantomData<T>,
}

impl<T: PodElement> ReadTicket<T> {
    /// The ticket for a read of 0 bytes.
    pub(super) const EMPTY: Self = Self { buffer: None, bytes: 0, element: PhantomData };

    /// Creates the ticket for an enqueued copy to this buffer. `bytes` must be a multiple of the
    /// element size.
    pub(super) fn new(buffer: TakenBuffer, bytes: usize) -> Self {
        Self { buffer: Some(buffer), bytes, element: PhantomData }
    }

    /// Returns `true` if the elements have arrived. This method does not wait for the device.
    ///
    /// # Errors
    ///
    /// Returns the error from any previously enqueued work that failed.
    pub fn is_done(&mut self) -> Result<bool, CaptureError> {
        Ok(self.buffer.as_mut().map_or(Ok(true), TakenBuffer::is_done)?)
    }

    /// Blocks the host until the elements have arrived, and returns a slice of the staging buffer.
    /// This method does not wait for later work and makes no driver call if the elements have
    /// already arrived.
    ///
    /// # Errors
    ///
    /// Returns the error from any previously enqueued work that failed. The caller may call `wait`
    /// again after an error.
    pub fn wait(&mut self) -> Result<&[T], CaptureError> {
        let Some(buffer) = &mut self.buffer else { return Ok(&[]) };
        buffer.wait()?;
        let bytes = buffer.bytes_mut().get(..self.bytes).unwrap_or_default();
        Ok(bytemuck::cast_slice(bytes))
    }
}

impl<T> fmt::Debug for ReadTicket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadTicket").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

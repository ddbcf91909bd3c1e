//! A ticket for a read in flight.

use std::fmt;
use std::marker::PhantomData;

use pool_core::{PodElement, bytemuck};

use super::staging_pool::TakenBuffer;
use crate::capture::error::CaptureError;

/// An enqueued read, which any thread can query or wait for later. Of the calls that feed a graph,
/// only [`wait`](Self::wait) waits for the device.
///
/// Dropping the ticket returns its buffer, which is reused once the copy has completed. A forgotten
/// ticket keeps its buffer. A ticket may outlive the graph, its stream and the
/// [`StagingPool`](crate::StagingPool).
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
    /// The buffer of the copy; `None` for a read of 0 bytes.
    buffer: Option<TakenBuffer>,
    bytes: usize,
    element: PhantomData<T>,
}

impl<T: PodElement> ReadTicket<T> {
    /// A read of 0 bytes.
    pub(super) const EMPTY: Self = Self { buffer: None, bytes: 0, element: PhantomData };

    /// Creates the ticket of an enqueued copy to this buffer. `bytes` is a multiple of the element
    /// size.
    pub(super) fn new(buffer: TakenBuffer, bytes: usize) -> Self {
        Self { buffer: Some(buffer), bytes, element: PhantomData }
    }

    /// Returns `true` if the elements have arrived, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the error code of failed work.
    pub fn is_done(&mut self) -> Result<bool, CaptureError> {
        Ok(self.buffer.as_mut().map_or(Ok(true), TakenBuffer::is_done)?)
    }

    /// Blocks the host until the elements have arrived, and returns them in the buffer of the copy.
    /// Does not wait for later work. Once the elements have arrived, the method makes no driver
    /// call.
    ///
    /// # Errors
    ///
    /// Returns the error code of failed work. You may call `wait` again.
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

//! What a read in flight will have brought.

use std::fmt;
use std::marker::PhantomData;

use pool_core::{PodElement, bytemuck};

use super::staging_pool::TakenBuffer;
use crate::capture::error::CaptureError;

/// A read that is enqueued: to be asked, or waited for, wherever that suits, on any thread. The only place where
/// feeding a graph waits.
///
/// Dropped, it gives its buffer back, which is used again once the copy is done. Forgotten, it keeps it. It may
/// outlive the graph, its stream and the [`StagingPool`](crate::StagingPool).
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
#[must_use = "a read that nobody waits for brings nothing"]
pub struct ReadTicket<T> {
    /// The buffer that is copied to; none for a read of no bytes.
    buffer: Option<TakenBuffer>,
    bytes: usize,
    element: PhantomData<T>,
}

impl<T: PodElement> ReadTicket<T> {
    /// A read of no bytes.
    pub(super) const EMPTY: Self = Self { buffer: None, bytes: 0, element: PhantomData };

    /// A copy of so many bytes, all of whole elements, was enqueued to this buffer.
    pub(super) fn new(buffer: TakenBuffer, bytes: usize) -> Self {
        Self { buffer: Some(buffer), bytes, element: PhantomData }
    }

    /// Whether the elements have arrived. Waits for nothing.
    ///
    /// # Errors
    ///
    /// What the driver answers for work that failed.
    pub fn is_done(&mut self) -> Result<bool, CaptureError> {
        Ok(self.buffer.as_mut().map_or(Ok(true), TakenBuffer::is_done)?)
    }

    /// Waits, on the host, until the elements have arrived, for nothing that was enqueued later; and gives them, in
    /// the buffer that they were copied to. Once they are there it asks the driver nothing.
    ///
    /// # Errors
    ///
    /// What the driver answers for work that failed; it may be waited for again.
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

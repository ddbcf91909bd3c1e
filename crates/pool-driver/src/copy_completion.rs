//! Tracks the completion of copies through a buffer, with an event after the last copy. The owner
//! of the buffer queries the event or waits for it, so the ordering never depends on a destructor.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::capture::is_capturing;
use crate::code::DriverCode;
use crate::error::CudaError;
use crate::event::Event;

/// The driver's error for an event that was recorded in a capture, which is how copies are usually
/// lost.
const LOST: CudaError = CudaError::Call { call: "cuEventQuery", code: DriverCode::CAPTURED_EVENT };

/// The progress of the copies through one buffer.
pub(crate) struct CopyCompletion {
    /// The event that is recorded after the last copy.
    last_copy: Event,
    /// `true` if a copy may be pending.
    is_pending: bool,
    /// The stream of a copy that may be pending, if the event after that copy could not be
    /// recorded.
    unmarked_on: Option<Arc<CudaStream>>,
    /// `true` if a copy became a node of a graph because other code was capturing the stream. It is
    /// then unknown when the copy runs.
    is_lost: bool,
}

impl CopyCompletion {
    /// Creates the value for a buffer without copies.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let last_copy = Event::new(context)?;
        Ok(Self { last_copy, is_pending: false, unmarked_on: None, is_lost: false })
    }

    /// Returns `true` if a copy may be pending, without calling the driver.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Returns `true` if a capture may contain a copy, because it is then unknown when the copy
    /// runs.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Records a copy as the last one on its stream. The copy is pending until the event after it
    /// is complete.
    pub(crate) fn mark(&mut self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        self.is_pending = true;
        let marked = self.last_copy.record(stream);
        if marked.is_err() {
            // A capture that other code has just begun may contain the copy.
            self.is_lost |= is_capturing(stream) == Ok(true);
            self.unmarked_on = Some(Arc::clone(stream));
        }
        marked
    }

    /// Records the event after a copy, if this failed before. Without the event, the host would
    /// have to wait for the whole context, which invalidates other captures.
    fn mark_again(&mut self) -> Result<(), CudaError> {
        if self.is_lost {
            return Err(LOST);
        }
        let Some(stream) = self.unmarked_on.take() else { return Ok(()) };
        match is_capturing(&stream) {
            Ok(false) => self.mark(&stream),
            asked => {
                self.unmarked_on = Some(stream);
                asked.and(Err(CudaError::Capturing { operation: "wait for an earlier copy" }))
            }
        }
    }

    /// Returns `true` if all copies are done. Queries the driver without waiting.
    ///
    /// # Errors
    ///
    /// Returns the driver's error for failed work.
    pub(crate) fn is_done(&mut self) -> Result<bool, CudaError> {
        match self.mark_again() {
            Ok(()) => {}
            Err(CudaError::Capturing { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        if self.is_pending {
            let asked = self.last_copy.is_done();
            self.is_pending = !self.note_lost(asked)?;
        }
        Ok(!self.is_pending)
    }

    /// Blocks the host until all copies are done.
    ///
    /// # Errors
    ///
    /// Returns the driver's error for failed work, or [`CudaError::Capturing`] if the event could
    /// not be recorded before and the stream of the copy is now captured.
    pub(crate) fn wait(&mut self) -> Result<(), CudaError> {
        if !self.is_pending {
            return Ok(());
        }
        self.mark_again()?;
        let waited = self.last_copy.synchronize();
        self.note_lost(waited)?;
        self.is_pending = false;
        Ok(())
    }

    /// Records that a copy is lost, if the driver's error indicates this.
    fn note_lost<T>(&mut self, answer: Result<T, CudaError>) -> Result<T, CudaError> {
        let code = answer.as_ref().err().and_then(CudaError::code);
        self.is_lost |= code == Some(DriverCode::CAPTURED_EVENT);
        answer
    }
}

//! The completion of copies through a buffer, by an event after the last copy. The owner of the
//! buffer queries that event, or waits for it: the order never depends on a destructor.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::capture::is_capturing;
use crate::code::DriverCode;
use crate::error::CudaError;
use crate::event::Event;

/// The driver's error for an event that was recorded in a capture, as that of a lost copy usually was.
const LOST: CudaError = CudaError::Call { call: "cuEventQuery", code: DriverCode::CAPTURED_EVENT };

/// The progress of the copies through one buffer.
pub(crate) struct CopyCompletion {
    /// Recorded after the last copy.
    last_copy: Event,
    /// `true` if a copy may be pending.
    is_pending: bool,
    /// The stream of a copy that may be pending, if the event could not be recorded after that
    /// copy.
    unmarked_on: Option<Arc<CudaStream>>,
    /// `true` if a copy became a node of a graph that other code captured meanwhile: the time of
    /// the copy is then unknown.
    is_lost: bool,
}

impl CopyCompletion {
    /// Makes the value for a buffer without copies.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let last_copy = Event::new(context)?;
        Ok(Self { last_copy, is_pending: false, unmarked_on: None, is_lost: false })
    }

    /// Returns `true` if a copy may be pending, without a call of the driver.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Returns `true` if a capture may contain a copy, whose time is then unknown.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Records a copy on a stream, the last one there: it is pending until the event after it is
    /// complete.
    pub(crate) fn mark(&mut self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        self.is_pending = true;
        let marked = self.last_copy.record(stream);
        if marked.is_err() {
            // A capture that other code began meanwhile may contain the copy.
            self.is_lost |= is_capturing(stream) == Ok(true);
            self.unmarked_on = Some(Arc::clone(stream));
        }
        marked
    }

    /// Records the event after a copy, if that failed before. Without the event the whole context
    /// would have to be waited for, which invalidates other captures.
    fn mark_again(&mut self) -> Result<(), CudaError> {
        if self.is_lost {
            return Err(LOST);
        }
        let Some(stream) = self.unmarked_on.take() else { return Ok(()) };
        match is_capturing(&stream) {
            Ok(false) => self.mark(&stream),
            asked => {
                self.unmarked_on = Some(stream);
                asked.and(Err(CudaError::Capturing { operation: "be waited for" }))
            }
        }
    }

    /// Returns `true` if all copies are done; queries the driver, without a wait.
    ///
    /// # Errors
    ///
    /// The driver's error for work that failed.
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

    /// Waits, on the host, until all copies are done.
    ///
    /// # Errors
    ///
    /// The driver's error for work that failed; [`CudaError::Capturing`] if the event could not be
    /// recorded before, and the stream of the copy is captured now.
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

    /// Records that a copy is lost, if the driver's error means that.
    fn note_lost<T>(&mut self, answer: Result<T, CudaError>) -> Result<T, CudaError> {
        let code = answer.as_ref().err().and_then(CudaError::code);
        self.is_lost |= code == Some(DriverCode::CAPTURED_EVENT);
        answer
    }
}

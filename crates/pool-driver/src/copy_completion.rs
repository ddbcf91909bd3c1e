//! Tracks whether the copies that use a buffer have completed. The driver records an event after
//! the last copy. The buffer's owner queries the event or waits for it. The order of copies and
//! other uses never depends on whether a destructor runs.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::capture::is_capturing;
use crate::code::DriverCode;
use crate::error::CudaError;
use crate::event::Event;

/// The error that the driver returns for an event recorded during a capture. The usual cause of a
/// lost copy is an event that was recorded during a capture.
const LOST: CudaError = CudaError::Call { call: "cuEventQuery", code: DriverCode::CAPTURED_EVENT };

/// The state of the copies that use a buffer.
pub(crate) struct CopyCompletion {
    /// The event recorded after the last copy.
    last_copy: Event,
    /// `true` if a copy may still be pending.
    is_pending: bool,
    /// The stream of a pending copy for which no event could be recorded, or `None` if there is no
    /// such copy.
    unmarked_on: Option<Arc<CudaStream>>,
    /// `true` if a copy has become a node of a graph because other code was capturing the stream.
    /// The time at which a captured copy will run is unknown.
    is_lost: bool,
}

impl CopyCompletion {
    /// Creates the state for a buffer that no copy has used yet.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let last_copy = Event::new(context)?;
        Ok(Self { last_copy, is_pending: false, unmarked_on: None, is_lost: false })
    }

    /// Returns `true` if a copy may be pending. This method does not call the driver.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Returns `true` if a capture may contain one of the copies. The time at which a captured copy
    /// will run is unknown.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Records the event after the last copy enqueued on the stream. The copy is pending until this
    /// event has completed.
    pub(crate) fn mark(&mut self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        self.is_pending = true;
        let marked = self.last_copy.record(stream);
        if marked.is_err() {
            // If other code is capturing the stream, the copy might have become part of the
            // capture.
            self.is_lost |= is_capturing(stream) == Ok(true);
            self.unmarked_on = Some(Arc::clone(stream));
        }
        marked
    }

    /// Tries again to record an event after the copy if the first attempt failed. Without this
    /// event, the host would have to wait for all work in the context, and this wait would
    /// invalidate captures of other streams.
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

    /// Returns `true` if all copies have completed. This method queries the driver without waiting.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the copies or earlier work failed.
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

    /// Blocks the host until all copies have completed.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the copies or earlier work failed. Returns
    /// [`CudaError::Capturing`] if the copy's stream is now being captured and an event therefore
    /// could not be recorded after the copy.
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

    /// Marks a copy as lost if the driver's error indicates that the copy was captured. Until the
    /// capture ends, querying a captured copy's event returns error 907. On an H200 with driver
    /// 580, each query of the event returned error 1 after the capture had ended. If error 1 has a
    /// different cause, querying the event again succeeds.
    fn note_lost<T>(&mut self, answer: Result<T, CudaError>) -> Result<T, CudaError> {
        let code = answer.as_ref().err().and_then(CudaError::code);
        let is_invalid = |code| code == Some(DriverCode::INVALID_VALUE);
        let again = || self.last_copy.is_done().err().as_ref().and_then(CudaError::code);
        if is_invalid(code) && is_invalid(again()) {
            self.is_lost = true;
            return Err(LOST);
        }
        self.is_lost |= code == Some(DriverCode::CAPTURED_EVENT);
        answer
    }
}

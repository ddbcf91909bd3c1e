//! Whether the copies through a buffer are done, by an event behind the last copy. Whoever has the buffer asks
//! whether that event has come, or waits for it: the order never depends on a destructor.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::capture::is_capturing;
use crate::code::DriverCode;
use crate::error::CudaError;
use crate::event::Event;

/// What the driver says of an event that was recorded in a capture, as that of a lost copy mostly was.
const LOST: CudaError = CudaError::Call { call: "cuEventQuery", code: DriverCode::CAPTURED_EVENT };

/// How far the copies through one buffer are.
pub(crate) struct CopyCompletion {
    /// Recorded behind the last copy.
    last_copy: Event,
    /// Whether a copy may be pending.
    is_pending: bool,
    /// The stream of a copy that may be pending, where the event could not be recorded behind that copy.
    unmarked_on: Option<Arc<CudaStream>>,
    /// Whether a copy became a node of a graph that somebody captured meanwhile: nobody knows when it is made.
    is_lost: bool,
}

impl CopyCompletion {
    /// For a buffer of which no copy was made yet.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let last_copy = Event::new(context)?;
        Ok(Self { last_copy, is_pending: false, unmarked_on: None, is_lost: false })
    }

    /// Whether a copy may be pending, as far as is known without asking the driver.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Whether a capture may have a copy: nothing says when that copy is made.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Notes a copy on a stream, the last one there: it is pending until the event behind it has come.
    pub(crate) fn mark(&mut self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        self.is_pending = true;
        let marked = self.last_copy.record(stream);
        if marked.is_err() {
            // A capture that somebody began meanwhile may have the copy.
            self.is_lost |= is_capturing(stream) == Ok(true);
            self.unmarked_on = Some(Arc::clone(stream));
        }
        marked
    }

    /// Records the event behind a copy, where that could not be done before. Without the event the whole context
    /// would have to be waited for, which spoils captures of others.
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

    /// Whether all copies are done; asks the driver, and waits for nothing.
    ///
    /// # Errors
    ///
    /// What the driver answers for work that failed.
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
    /// What the driver answers for work that failed; [`CudaError::Capturing`] where the event could not be recorded
    /// before, and the stream of the copy is captured now.
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

    /// Notes that a copy is lost where the driver's answer says so.
    fn note_lost<T>(&mut self, answer: Result<T, CudaError>) -> Result<T, CudaError> {
        let code = answer.as_ref().err().and_then(CudaError::code);
        self.is_lost |= code == Some(DriverCode::CAPTURED_EVENT);
        answer
    }
}

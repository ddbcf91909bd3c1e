//! A buffer of page-locked host memory, with an event behind the last copy that went through it. Who has the
//! buffer asks, or waits for, that event: the order is never that of a destructor, and a buffer that is forgotten
//! is never used again.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::driver::calls::{self, Address, bind};
use crate::driver::capture::is_capturing;
use crate::driver::code::DriverCode;
use crate::driver::error::CudaError;
use crate::driver::event::Event;
use crate::driver::leftovers::{Leftover, Place};

/// Where the bytes of a buffer begin: at a multiple of this.
const ALIGNMENT: usize = 256;

/// What the driver says of an event that was recorded in a capture, as that of a lost buffer mostly was.
const LOST: CudaError = CudaError::Call { call: "cuEventQuery", code: DriverCode::CAPTURED_EVENT };

/// A buffer that is given back when it is dropped, after its copies; later, where the driver refuses.
///
/// For `pool-graph`, whose feeding is staged through these.
#[doc(hidden)]
pub struct PageLocked {
    pub(crate) buffer: ManuallyDrop<Buffer>,
    place: Place,
}

/// A piece of page-locked memory.
pub(crate) struct Buffer {
    /// What the driver gave.
    allocated: NonNull<u8>,
    /// The first of its bytes that is aligned.
    memory: NonNull<u8>,
    length: usize,
    /// Recorded behind the last copy.
    last_use: Event,
    context: Arc<CudaContext>,
    /// Whether a copy may be pending.
    is_busy: bool,
    /// The stream of a copy that may be pending, where the event could not be recorded behind it.
    unmarked_on: Option<Arc<CudaStream>>,
    /// Whether the copy became a node of a graph that somebody captured meanwhile: nobody knows when it is made.
    is_lost: bool,
}

impl PageLocked {
    /// A buffer of so many bytes, all zero, aligned to 256.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`], and what the driver refuses.
    pub fn new(bytes: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        Ok(Self { buffer: ManuallyDrop::new(Buffer::new(bytes, context)?), place })
    }

    /// Its bytes, unless a copy may be pending.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        (!self.buffer.is_busy).then(|| self.buffer.bytes())
    }

    /// Enqueues a copy of its first bytes to the device. It is busy from then on, also after an error: a copy that
    /// was refused may be made later.
    ///
    /// # Errors
    ///
    /// What the driver refuses. Where the event could not be recorded, that is tried again whenever it is asked
    /// whether the buffer is free.
    ///
    /// # Safety
    ///
    /// The range at `to` is allocated and as long, and writing it in the stream's order is the caller's right. The
    /// buffer is not busy and at least as long.
    pub unsafe fn copy_to_device(
        &mut self,
        to: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.buffer.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy from the device to its first bytes; else as [`copy_to_device`](Self::copy_to_device).
    ///
    /// # Errors
    ///
    /// As [`copy_to_device`](Self::copy_to_device).
    ///
    /// # Safety
    ///
    /// As for [`copy_to_device`](Self::copy_to_device), with reading at `from`.
    pub unsafe fn copy_to_host(
        &mut self,
        from: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.buffer.copy_to_host(from, bytes, stream) }
    }

    /// Whether its copies are done. Waits for nothing.
    ///
    /// # Errors
    ///
    /// What the driver answers for work that failed.
    pub fn is_free(&mut self) -> Result<bool, CudaError> {
        if !self.buffer.is_busy {
            return Ok(true);
        }
        bind(&self.buffer.context)?;
        self.buffer.is_free()
    }

    /// Whether a graph that somebody else captured may make its copy, now or at any time: it is never free again,
    /// and whoever asks or waits gets the driver's error. Known once that was asked.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.buffer.is_lost()
    }

    /// Waits, on the host, until its copies are done.
    ///
    /// # Errors
    ///
    /// What the driver answers for work that failed; [`CudaError::Capturing`] where the event could not be recorded
    /// before, and the stream is captured now.
    pub fn wait(&mut self) -> Result<(), CudaError> {
        if !self.buffer.is_busy {
            return Ok(());
        }
        bind(&self.buffer.context)?;
        self.buffer.wait()
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, so it is not used again.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        self.place.give_back(Leftover::Buffer(buffer));
    }
}

impl Buffer {
    fn new(length: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let last_use = Event::new(context)?;
        // The driver says nothing of an alignment.
        let bytes = length.saturating_add(ALIGNMENT - 1);
        let allocated = calls::allocate_host(bytes, context)?;
        // SAFETY: just allocated with as many bytes.
        unsafe { allocated.write_bytes(0, bytes) };
        // SAFETY: an alignment takes fewer bytes than there are beyond the length.
        let memory = unsafe { allocated.add(allocated.align_offset(ALIGNMENT)) };
        let context = Arc::clone(context);
        let (is_busy, unmarked_on, is_lost) = (false, None, false);
        Ok(Self { allocated, memory, length, last_use, context, is_busy, unmarked_on, is_lost })
    }

    /// Its bytes. No copy may be pending: callers take it in turn, or wait.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        debug_assert!(!self.is_busy, "a copy of the driver is pending");
        // SAFETY: the buffer is ours and as long, was initialised when it was made, and is borrowed
        // exclusively; the driver is done with it.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.length) }
    }

    /// # Safety
    ///
    /// As for [`PageLocked::copy_to_device`].
    pub(crate) unsafe fn copy_to_device(
        &mut self,
        to: Address,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        debug_assert!(bytes <= self.length && !self.is_busy, "the caller's promise");
        // SAFETY: the buffer is page-locked, and busy until the event behind the copy has come; the rest is the
        // caller's promise.
        let copied = unsafe { calls::copy_from_host(to, self.memory, bytes, stream) };
        copied.and(self.mark(stream))
    }

    /// # Safety
    ///
    /// As for [`PageLocked::copy_to_host`].
    pub(crate) unsafe fn copy_to_host(
        &mut self,
        from: Address,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        debug_assert!(bytes <= self.length && !self.is_busy, "the caller's promise");
        // SAFETY: as in `copy_to_device`.
        let copied = unsafe { calls::copy_to_host(self.memory, from, bytes, stream) };
        copied.and(self.mark(stream))
    }

    /// The buffer is busy until the event behind what the stream holds comes.
    fn mark(&mut self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        self.is_busy = true;
        let marked = self.last_use.record(stream);
        if marked.is_err() {
            // A capture that somebody began meanwhile may have the copy.
            self.is_lost |= is_capturing(stream) == Ok(true);
            self.unmarked_on = Some(Arc::clone(stream));
        }
        marked
    }

    /// Records the event behind a copy that it could not be recorded behind before. Without it the whole context
    /// would be waited for, which the captures of others do not bear.
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

    /// Whether its copies are done.
    pub(crate) fn is_free(&mut self) -> Result<bool, CudaError> {
        match self.mark_again() {
            Ok(()) => {}
            Err(CudaError::Capturing { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        if self.is_busy {
            let asked = self.last_use.is_done();
            self.is_busy = !self.note_lost(asked)?;
        }
        Ok(!self.is_busy)
    }

    /// Whether a capture may have its copy: nothing says when that is made.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn note_lost<T>(&mut self, told: Result<T, CudaError>) -> Result<T, CudaError> {
        let code = told.as_ref().err().and_then(CudaError::code);
        self.is_lost |= code == Some(DriverCode::CAPTURED_EVENT);
        told
    }

    /// Waits, on the host, until its copies are done.
    pub(crate) fn wait(&mut self) -> Result<(), CudaError> {
        if !self.is_busy {
            return Ok(());
        }
        self.mark_again()?;
        let waited = self.last_use.synchronize();
        self.note_lost(waited)?;
        self.is_busy = false;
        Ok(())
    }
}

// SAFETY: the memory is the buffer's alone, and the driver's calls on it may be made from any thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Waits for its copies, and frees its memory.
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] where the driver refuses; the buffer is then as it was.
    ///
    /// # Safety
    ///
    /// The buffer is not used after this has succeeded.
    pub(crate) unsafe fn free(&mut self) -> Result<(), CudaError> {
        self.wait()?;
        // SAFETY: ours, not freed before (caller), and no copy of the driver is pending.
        unsafe { calls::free_host(self.allocated, &self.context) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl fmt::Debug for PageLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.buffer.fmt(f)
    }
}

//! Page-locked host memory as a buffer for copies between the host and the device. If a busy buffer
//! is forgotten, its memory is never used again.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::calls::{self, Address};
use crate::context::bind;
use crate::copy_completion::CopyCompletion;
use crate::error::CudaError;
use crate::host_buffer::HostBuffer;
use crate::leftovers::{LeftoverKind, Place, Resource, ResourceOwner};

/// The alignment of a buffer's first byte.
const ALIGNMENT: usize = 256;

/// A buffer of page-locked memory. Dropping it waits for its copies and frees it, or defers the
/// free if the driver refuses.
pub struct PageLocked(ResourceOwner<Buffer>);

/// The memory of a [`PageLocked`], and the progress of the copies through it.
struct Buffer {
    memory: HostBuffer,
    /// The offset of the first aligned byte in the memory.
    offset: usize,
    length: usize,
    copies: CopyCompletion,
}

impl PageLocked {
    /// Creates a buffer of `bytes` zero bytes, aligned to 256 bytes.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory, or the driver's error.
    pub fn new(bytes: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        Ok(Self(place.own(Buffer::new(bytes, context)?)))
    }

    /// Returns the buffer's bytes, unless a copy may be pending.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        (!self.0.copies.is_pending()).then(|| self.0.bytes())
    }

    /// Enqueues a copy of the buffer's first bytes to the device. Afterwards the buffer is busy,
    /// even after an error, because a refused copy may run later.
    ///
    /// # Errors
    ///
    /// Returns the driver's error. If the event after the copy could not be recorded, each query of
    /// the buffer retries this.
    ///
    /// # Safety
    ///
    /// The range at `to` must be allocated and contain `bytes` bytes, and the caller must have the
    /// right to write it in stream order. The buffer must not be busy, and must contain at least
    /// `bytes` bytes.
    pub unsafe fn copy_to_device(
        &mut self,
        to: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        // SAFETY: this call has the same contract, which the caller upholds.
        unsafe { self.0.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy from the device to the buffer's first bytes. Otherwise it behaves like
    /// [`copy_to_device`](Self::copy_to_device).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`copy_to_device`](Self::copy_to_device).
    ///
    /// # Safety
    ///
    /// The same contract as [`copy_to_device`](Self::copy_to_device), but for reading the range at
    /// `from`.
    pub unsafe fn copy_to_host(
        &mut self,
        from: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        // SAFETY: this call has the same contract, which the caller upholds.
        unsafe { self.0.copy_to_host(from, bytes, stream) }
    }

    /// Returns `true` if all copies of the buffer are done, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the driver's error for failed work.
    pub fn is_free(&mut self) -> Result<bool, CudaError> {
        if !self.0.copies.is_pending() {
            return Ok(true);
        }
        bind(self.0.memory.context())?;
        self.0.is_free()
    }

    /// Returns `true` if a graph that other code captured contains the buffer's copy, and may run
    /// the copy at any time. The buffer then never becomes free again, and
    /// [`is_free`](Self::is_free) and [`wait`](Self::wait) return the driver's error. This is known
    /// only after one of these methods was called.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// Blocks the host until all copies of the buffer are done.
    ///
    /// # Errors
    ///
    /// Returns the driver's error for failed work, or [`CudaError::Capturing`] if the event could
    /// not be recorded before and the stream of the copy is now captured.
    pub fn wait(&mut self) -> Result<(), CudaError> {
        if !self.0.copies.is_pending() {
            return Ok(());
        }
        bind(self.0.memory.context())?;
        self.0.wait()
    }
}

impl Buffer {
    fn new(length: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let copies = CopyCompletion::new(context)?;
        // The driver does not guarantee any alignment.
        let memory = HostBuffer::zeroed(length.saturating_add(ALIGNMENT - 1), context)?;
        let offset = memory.first().align_offset(ALIGNMENT);
        Ok(Self { memory, offset, length, copies })
    }

    /// Returns the buffer's bytes. No copy may be pending.
    fn bytes(&mut self) -> &mut [u8] {
        debug_assert!(!self.copies.is_pending(), "a copy of the driver is pending");
        &mut self.memory.bytes_mut()[self.offset..][..self.length]
    }

    /// Returns the first byte of the buffer.
    fn first(&self) -> NonNull<u8> {
        // SAFETY: the alignment skips fewer bytes than were allocated beyond the length.
        unsafe { self.memory.first().add(self.offset) }
    }

    /// Does the same as [`PageLocked::copy_to_device`].
    ///
    /// # Safety
    ///
    /// The same contract as [`PageLocked::copy_to_device`].
    unsafe fn copy_to_device(
        &mut self,
        to: Address,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        debug_assert!(bytes <= self.length && !self.copies.is_pending(), "the caller's promise");
        // SAFETY: the buffer is page-locked, and is busy until the event after the copy is
        // complete; the caller upholds the rest of the contract.
        let copied = unsafe { calls::copy_from_host(to, self.first(), bytes, stream) };
        copied.and(self.copies.mark(stream))
    }

    /// Does the same as [`PageLocked::copy_to_host`].
    ///
    /// # Safety
    ///
    /// The same contract as [`PageLocked::copy_to_host`].
    unsafe fn copy_to_host(
        &mut self,
        from: Address,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        debug_assert!(bytes <= self.length && !self.copies.is_pending(), "the caller's promise");
        // SAFETY: as in `copy_to_device`.
        let copied = unsafe { calls::copy_to_host(self.first(), from, bytes, stream) };
        copied.and(self.copies.mark(stream))
    }

    /// Returns `true` if all copies of the buffer are done.
    fn is_free(&mut self) -> Result<bool, CudaError> {
        self.copies.is_done()
    }

    /// Returns `true` if a capture may contain one of the buffer's copies, because it is then
    /// unknown when the copy runs.
    fn is_lost(&self) -> bool {
        self.copies.is_lost()
    }

    /// Blocks the host until all copies of the buffer are done.
    fn wait(&mut self) -> Result<(), CudaError> {
        self.copies.wait()
    }
}

impl Resource for Buffer {
    const KIND: LeftoverKind = LeftoverKind::HostMemory;

    fn context(&self) -> Option<&CudaContext> {
        Some(self.memory.context())
    }

    /// Waits for the buffer's copies. The memory is dropped with the value, which frees it or
    /// defers the free separately.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        self.wait()
    }
}

impl fmt::Debug for PageLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("memory", &self.0.first()).finish_non_exhaustive()
    }
}

//! Manages page-locked host memory for copies between the host and a device. If a buffer is passed
//! to `mem::forget` while a copy is using it, its memory is never reused.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::calls::{self, Address};
use crate::context::bind;
use crate::copy_completion::CopyCompletion;
use crate::deferred_frees::{DeferredFreeKind, QueueEntry, Resource, ResourceOwner};
use crate::error::CudaError;
use crate::host_buffer::HostBuffer;

/// The alignment of the buffer's first byte.
const ALIGNMENT: usize = 256;

/// A buffer of page-locked memory. Dropping the buffer blocks until its copies have completed, and
/// then frees the memory. If the driver refuses to free the memory, the free is retried later.
pub struct PageLocked(ResourceOwner<Buffer>);

/// A [`PageLocked`]'s memory and the state of the copies that use it.
struct Buffer {
    memory: HostBuffer,
    /// The offset of the first aligned byte from the start of the memory.
    offset: usize,
    length: usize,
    copies: CopyCompletion,
}

impl PageLocked {
    /// Creates a zeroed buffer of `bytes` bytes, aligned to 256 bytes.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory, or the driver's error if
    /// the driver cannot allocate the memory or create the event.
    pub fn new(bytes: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let entry = QueueEntry::new()?;
        Ok(Self(entry.own(Buffer::new(bytes, context)?)))
    }

    /// Returns the buffer's bytes, or `None` if a copy may be pending.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        (!self.0.copies.is_pending()).then(|| self.0.bytes())
    }

    /// Enqueues a copy of the buffer's first `bytes` bytes to the device. The buffer is busy after
    /// this call, even if the call returns an error, because the copy might still run.
    ///
    /// # Errors
    ///
    /// Returns the driver's error. If the driver could not record an event after the copy, each
    /// later query of the buffer retries the recording.
    ///
    /// # Safety
    ///
    /// At least `bytes` bytes must be allocated at `to`. The caller must be permitted to write
    /// these bytes in stream order. The buffer must not be busy and must contain at least `bytes`
    /// bytes.
    pub unsafe fn copy_to_device(
        &mut self,
        to: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller upholds this method's safety contract.
        unsafe { self.0.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy from the device to the buffer's first `bytes` bytes. The buffer is busy
    /// after this call, as documented for [`copy_to_device`](Self::copy_to_device).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`copy_to_device`](Self::copy_to_device).
    ///
    /// # Safety
    ///
    /// The safety contract of [`copy_to_device`](Self::copy_to_device) applies, except that the
    /// range at `from` is read rather than written.
    pub unsafe fn copy_to_host(
        &mut self,
        from: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller upholds this method's safety contract.
        unsafe { self.0.copy_to_host(from, bytes, stream) }
    }

    /// Returns `true` if all copies that use the buffer have completed. This method does not wait.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the copies or earlier work failed.
    pub fn is_free(&mut self) -> Result<bool, CudaError> {
        if !self.0.copies.is_pending() {
            return Ok(true);
        }
        bind(self.0.memory.context())?;
        self.0.is_free()
    }

    /// Returns `true` if a graph captured by other code contains a copy that uses this buffer. The
    /// graph might run this copy at any time. This buffer never becomes free again, so
    /// [`is_free`](Self::is_free) and [`wait`](Self::wait) return the driver's error. Only
    /// [`is_free`](Self::is_free) and [`wait`](Self::wait) can detect that a graph contains a copy.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// Blocks the host until all copies that use the buffer have completed.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the copies or earlier work failed. Returns
    /// [`CudaError::Capturing`] if the copy's stream is now being captured and an event therefore
    /// could not be recorded after the copy.
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
        // The allocation has extra bytes because the driver does not guarantee an alignment of 256
        // bytes.
        let memory = HostBuffer::zeroed(length.saturating_add(ALIGNMENT - 1), context)?;
        let offset = memory.first().align_offset(ALIGNMENT);
        Ok(Self { memory, offset, length, copies })
    }

    /// Returns the bytes of the buffer. No copy may be pending.
    fn bytes(&mut self) -> &mut [u8] {
        debug_assert!(!self.copies.is_pending(), "a copy of the driver is pending");
        &mut self.memory.bytes_mut()[self.offset..][..self.length]
    }

    /// Returns a pointer to the buffer's first aligned byte.
    fn first(&self) -> NonNull<u8> {
        // SAFETY: the offset is less than `ALIGNMENT`, and the allocation is `ALIGNMENT - 1` bytes
        // longer than the buffer. The returned pointer is therefore within the allocation.
        unsafe { self.memory.first().add(self.offset) }
    }

    /// Enqueues a copy to the device, just like [`PageLocked::copy_to_device`].
    ///
    /// # Safety
    ///
    /// The safety contract of [`PageLocked::copy_to_device`] applies.
    unsafe fn copy_to_device(
        &mut self,
        to: Address,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        debug_assert!(bytes <= self.length && !self.copies.is_pending(), "the caller's promise");
        // SAFETY: the caller upholds this method's safety contract. The buffer is page-locked. It
        // stays busy until the event recorded after the copy has completed.
        let copied = unsafe { calls::copy_from_host(to, self.first(), bytes, stream) };
        copied.and(self.copies.mark(stream))
    }

    /// Enqueues a copy from the device, just like [`PageLocked::copy_to_host`].
    ///
    /// # Safety
    ///
    /// The safety contract of [`PageLocked::copy_to_host`] applies.
    unsafe fn copy_to_host(
        &mut self,
        from: Address,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        debug_assert!(bytes <= self.length && !self.copies.is_pending(), "the caller's promise");
        // SAFETY: the caller upholds this method's safety contract. The buffer is page-locked. It
        // stays busy until the event recorded after the copy has completed.
        let copied = unsafe { calls::copy_to_host(self.first(), from, bytes, stream) };
        copied.and(self.copies.mark(stream))
    }

    /// Returns `true` if all copies that use the buffer have completed.
    fn is_free(&mut self) -> Result<bool, CudaError> {
        self.copies.is_done()
    }

    /// Returns `true` if a capture may contain a copy that uses the buffer. The time at which a
    /// captured copy will run is unknown.
    fn is_lost(&self) -> bool {
        self.copies.is_lost()
    }

    /// Blocks the host until all copies that use the buffer have completed.
    fn wait(&mut self) -> Result<(), CudaError> {
        self.copies.wait()
    }
}

impl Resource for Buffer {
    const KIND: DeferredFreeKind = DeferredFreeKind::HostMemory;

    fn context(&self) -> Option<&CudaContext> {
        Some(self.memory.context())
    }

    /// Waits for the copies that use the buffer. A separate value owns the memory and either frees
    /// it or defers the free.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        self.wait()
    }
}

impl fmt::Debug for PageLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("memory", &self.0.first()).finish_non_exhaustive()
    }
}

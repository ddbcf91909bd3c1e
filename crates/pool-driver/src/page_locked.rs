//! Page-locked host memory: a buffer that copies between the host and the device go through. A buffer that is
//! forgotten while it is busy is never used again.

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

/// Where the bytes of a buffer begin: at a multiple of this.
const ALIGNMENT: usize = 256;

/// A buffer of page-locked memory that is given back when it is dropped, after its copies; later, where the driver
/// refuses.
pub struct PageLocked(ResourceOwner<Buffer>);

/// The memory of a [`PageLocked`], and how far the copies through it are.
struct Buffer {
    memory: HostBuffer,
    /// Where the first aligned byte of the memory is.
    offset: usize,
    length: usize,
    copies: CopyCompletion,
}

impl PageLocked {
    /// A buffer of so many bytes, all zero, aligned to 256.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`], and what the driver refuses.
    pub fn new(bytes: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        Ok(Self(place.own(Buffer::new(bytes, context)?)))
    }

    /// The buffer's bytes, unless a copy may be pending.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        (!self.0.copies.is_pending()).then(|| self.0.bytes())
    }

    /// Enqueues a copy of the buffer's first bytes to the device. The buffer is busy from then on, also after an
    /// error: a copy that was refused may be made later.
    ///
    /// # Errors
    ///
    /// What the driver refuses. Where the event behind the copy could not be recorded, that is tried again whenever
    /// it is asked whether the buffer is free.
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
        unsafe { self.0.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy from the device to the buffer's first bytes; else as [`copy_to_device`](Self::copy_to_device).
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
        unsafe { self.0.copy_to_host(from, bytes, stream) }
    }

    /// Whether the buffer's copies are done. Waits for nothing.
    ///
    /// # Errors
    ///
    /// What the driver answers for work that failed.
    pub fn is_free(&mut self) -> Result<bool, CudaError> {
        if !self.0.copies.is_pending() {
            return Ok(true);
        }
        bind(self.0.memory.context())?;
        self.0.is_free()
    }

    /// Whether a graph that somebody else captured may make the buffer's copy, now or at any time: the buffer is
    /// never free again, and [`is_free`](Self::is_free) and [`wait`](Self::wait) answer the driver's error. Known
    /// once one of these was called.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// Waits, on the host, until the buffer's copies are done.
    ///
    /// # Errors
    ///
    /// What the driver answers for work that failed; [`CudaError::Capturing`] where the event could not be recorded
    /// before, and the stream of the copy is captured now.
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
        // The driver promises no alignment.
        let memory = HostBuffer::zeroed(length.saturating_add(ALIGNMENT - 1), context)?;
        let offset = memory.first().align_offset(ALIGNMENT);
        Ok(Self { memory, offset, length, copies })
    }

    /// The buffer's bytes. No copy may be pending.
    fn bytes(&mut self) -> &mut [u8] {
        debug_assert!(!self.copies.is_pending(), "a copy of the driver is pending");
        &mut self.memory.bytes_mut()[self.offset..][..self.length]
    }

    /// The first byte of the buffer.
    fn first(&self) -> NonNull<u8> {
        // SAFETY: an alignment takes fewer bytes than there are beyond the length.
        unsafe { self.memory.first().add(self.offset) }
    }

    /// As [`PageLocked::copy_to_device`].
    ///
    /// # Safety
    ///
    /// As for [`PageLocked::copy_to_device`].
    unsafe fn copy_to_device(
        &mut self,
        to: Address,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        debug_assert!(bytes <= self.length && !self.copies.is_pending(), "the caller's promise");
        // SAFETY: the buffer is page-locked, and busy until the event behind the copy has come; the rest is the
        // caller's promise.
        let copied = unsafe { calls::copy_from_host(to, self.first(), bytes, stream) };
        copied.and(self.copies.mark(stream))
    }

    /// As [`PageLocked::copy_to_host`].
    ///
    /// # Safety
    ///
    /// As for [`PageLocked::copy_to_host`].
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

    /// Whether the buffer's copies are done.
    fn is_free(&mut self) -> Result<bool, CudaError> {
        self.copies.is_done()
    }

    /// Whether a capture may have one of the buffer's copies: nothing says when that copy is made.
    fn is_lost(&self) -> bool {
        self.copies.is_lost()
    }

    /// Waits, on the host, until the buffer's copies are done.
    fn wait(&mut self) -> Result<(), CudaError> {
        self.copies.wait()
    }
}

impl Resource for Buffer {
    const KIND: LeftoverKind = LeftoverKind::HostMemory;

    fn context(&self) -> Option<&CudaContext> {
        Some(self.memory.context())
    }

    /// Waits for the buffer's copies. The memory is dropped with the value: freed, or left over by itself.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        self.wait()
    }
}

impl fmt::Debug for PageLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("memory", &self.0.first()).finish_non_exhaustive()
    }
}

//! Page-locked host memory: a buffer for copies between the host and the device. A buffer that is
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

/// The alignment of a buffer's first byte.
const ALIGNMENT: usize = 256;

/// A buffer of page-locked memory that is freed when it is dropped, after its copies; later, if the
/// driver refuses.
pub struct PageLocked(ResourceOwner<Buffer>);

/// The memory of a [`PageLocked`], and the progress of the copies through it.
struct Buffer {
    memory: HostBuffer,
    /// The offset of the first aligned byte of the memory.
    offset: usize,
    length: usize,
    copies: CopyCompletion,
}

impl PageLocked {
    /// Makes a buffer of `bytes` zero bytes, aligned to 256.
    ///
    /// # Errors
    ///
    /// [`CudaError::Bookkeeping`], and the driver's errors.
    pub fn new(bytes: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = Place::new()?;
        Ok(Self(place.own(Buffer::new(bytes, context)?)))
    }

    /// Returns the buffer's bytes, unless a copy may be pending.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        (!self.0.copies.is_pending()).then(|| self.0.bytes())
    }

    /// Enqueues a copy of the buffer's first bytes to the device. The buffer is busy from then on,
    /// also after an error: a refused copy may run later.
    ///
    /// # Errors
    ///
    /// The driver's error. If the event after the copy could not be recorded, that is tried again
    /// at each query of the buffer.
    ///
    /// # Safety
    ///
    /// The range at `to` is allocated and has `bytes` bytes, and the caller may write it in the
    /// stream's order. The buffer is not busy and has at least `bytes` bytes.
    pub unsafe fn copy_to_device(
        &mut self,
        to: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { self.0.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy from the device to the buffer's first bytes; otherwise the same as
    /// [`copy_to_device`](Self::copy_to_device).
    ///
    /// # Errors
    ///
    /// Same as [`copy_to_device`](Self::copy_to_device).
    ///
    /// # Safety
    ///
    /// Same as for [`copy_to_device`](Self::copy_to_device), with reading at `from`.
    pub unsafe fn copy_to_host(
        &mut self,
        from: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { self.0.copy_to_host(from, bytes, stream) }
    }

    /// Returns `true` if the buffer's copies are done. Waits for nothing.
    ///
    /// # Errors
    ///
    /// The driver's error for work that failed.
    pub fn is_free(&mut self) -> Result<bool, CudaError> {
        if !self.0.copies.is_pending() {
            return Ok(true);
        }
        bind(self.0.memory.context())?;
        self.0.is_free()
    }

    /// Returns `true` if a graph that other code captured may run the buffer's copy, now or at any
    /// time. The buffer is then never free again, and [`is_free`](Self::is_free) and
    /// [`wait`](Self::wait) return the driver's error. Known after one of these was called.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// Waits, on the host, until the buffer's copies are done.
    ///
    /// # Errors
    ///
    /// The driver's error for work that failed; [`CudaError::Capturing`] if the event could not be
    /// recorded before, and the stream of the copy is captured now.
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
        // The driver guarantees no alignment.
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
        // SAFETY: an alignment takes fewer bytes than the surplus beyond the length.
        unsafe { self.memory.first().add(self.offset) }
    }

    /// Does the same as [`PageLocked::copy_to_device`].
    ///
    /// # Safety
    ///
    /// Same as for [`PageLocked::copy_to_device`].
    unsafe fn copy_to_device(
        &mut self,
        to: Address,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        debug_assert!(bytes <= self.length && !self.copies.is_pending(), "the caller's promise");
        // SAFETY: the buffer is page-locked, and busy until the event after the copy is complete;
        // the caller upholds the rest of the contract.
        let copied = unsafe { calls::copy_from_host(to, self.first(), bytes, stream) };
        copied.and(self.copies.mark(stream))
    }

    /// Does the same as [`PageLocked::copy_to_host`].
    ///
    /// # Safety
    ///
    /// Same as for [`PageLocked::copy_to_host`].
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

    /// Returns `true` if the buffer's copies are done.
    fn is_free(&mut self) -> Result<bool, CudaError> {
        self.copies.is_done()
    }

    /// Returns `true` if a capture may contain one of the buffer's copies, whose time is then
    /// unknown.
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

    /// Waits for the buffer's copies. The memory is dropped with the value: freed, or deferred on
    /// its own.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        self.wait()
    }
}

impl fmt::Debug for PageLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("memory", &self.0.first()).finish_non_exhaustive()
    }
}

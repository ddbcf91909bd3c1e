//! Manages page-locked buffers for copies between pageable host memory and the device. A buffer is
//! created for the first copy that needs it and then reused for later copies.
//!
//! All copies go through these buffers, so the driver never accesses the caller's memory, even
//! after a failure. A copy to the device returns before it is complete.
//!
//! Each buffer is a [`PageLocked`] that also tracks the pending copies that use it. The
//! `StagingPool` type in `pool-graph` also uses `PageLocked`. This module only selects a buffer for
//! each copy. The pool creates a small number of buffers, each only when it is first needed. If all
//! buffers are in use, a copy waits until one becomes available.
//!
//! A copy moves its buffer out of the array while using it. If user code, such as an allocator
//! hook, starts another copy in the meantime, that copy uses a different buffer.

use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;
use pool_driver::page_locked::PageLocked;

/// The size of one buffer in bytes.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// The maximum number of buffers in one pool.
const BUFFERS: usize = 4;

/// One pool's buffers, which are used in rotation.
#[derive(Default)]
pub(crate) struct Staging {
    /// The cells that store the buffers. A cell is empty before its buffer is created and while a
    /// copy uses the buffer.
    places: [Cell<Option<PageLocked>>; BUFFERS],
    /// The index of the next buffer in the rotation.
    next: Cell<usize>,
}

/// A buffer that a copy is using. Dropping this value returns the buffer to its cell.
struct BufferLease<'s> {
    staging: &'s Staging,
    index: usize,
    buffer: ManuallyDrop<PageLocked>,
}

impl Staging {
    /// Copies bytes from the host to the device. This method has finished reading `from` when it
    /// returns.
    ///
    /// # Safety
    ///
    /// The range at `to` must be allocated and must be at least as large as `from`. The caller must
    /// be permitted to write this range in stream order.
    pub(crate) unsafe fn upload(
        &self,
        to: Address,
        from: &[u8],
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let mut to = to;
        for part in from.chunks(BUFFER_BYTES) {
            let mut buffer = self.turn(stream.context())?;
            buffer.bytes()[..part.len()].copy_from_slice(part);
            // SAFETY: the buffer contains this part of the bytes, and no other copy uses it. The
            // caller guarantees that the range at `to` may be written.
            unsafe { buffer.copy_to_device(to, part.len(), stream) }?;
            to += part.len() as Address;
        }
        Ok(())
    }

    /// Fills device memory with copies of one element. The element is passed as a byte slice. This
    /// method writes `length` elements, or fewer if one buffer cannot hold `length` elements.
    /// Returns the number of elements written.
    ///
    /// # Safety
    ///
    /// The safety contract of [`upload`](Self::upload) applies, with a range of `length` elements
    /// at `to`. The element must contain at least one byte.
    pub(crate) unsafe fn upload_repeated(
        &self,
        to: Address,
        element: &[u8],
        length: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<usize, CudaError> {
        let count = (BUFFER_BYTES / element.len()).min(length);
        if count == 0 {
            // If an element is longer than one buffer, it is written only once. SAFETY: the caller
            // upholds the safety contract for the whole range, which includes the first element.
            return unsafe { self.upload(to, element, stream) }.map(|()| 1);
        }
        let mut buffer = self.turn(stream.context())?;
        let bytes = count * element.len();
        for copy in buffer.bytes()[..bytes].chunks_exact_mut(element.len()) {
            copy.copy_from_slice(element);
        }
        // SAFETY: the buffer contains `bytes` bytes, and no other copy uses it. The caller
        // guarantees that the range at `to` may be written.
        unsafe { buffer.copy_to_device(to, bytes, stream) }?;
        Ok(count)
    }

    /// Copies bytes from the device to the host. The copy is complete when this method returns.
    ///
    /// # Safety
    ///
    /// The safety contract of [`upload`](Self::upload) applies, except that the range at `from` is
    /// read rather than written.
    pub(crate) unsafe fn download(
        &self,
        to: &mut [u8],
        from: Address,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let mut from = from;
        for window in to.chunks_mut(BUFFERS * BUFFER_BYTES) {
            let mut buffers: [Option<BufferLease<'_>>; BUFFERS] = Default::default();
            for (index, part) in window.chunks(BUFFER_BYTES).enumerate() {
                let buffer = buffers[index].insert(self.free_at(index, stream.context())?);
                // SAFETY: the buffer is at least as large as this part, and no other copy uses it.
                // The caller guarantees that the range at `from` may be read.
                unsafe { buffer.copy_to_host(from, part.len(), stream) }?;
                from += part.len() as Address;
            }
            let buffers = buffers.iter_mut().flatten();
            for (part, buffer) in window.chunks_mut(BUFFER_BYTES).zip(buffers) {
                buffer.wait()?;
                part.copy_from_slice(&buffer.bytes()[..part.len()]);
            }
        }
        Ok(())
    }

    /// Returns a buffer that is not in use by any copy. If all existing buffers are in use, this
    /// method creates another one. If the maximum number of buffers already exists, this method
    /// waits for the copies that use the next buffer in the rotation.
    fn turn(&self, context: &Arc<CudaContext>) -> Result<BufferLease<'_>, CudaError> {
        let taken = self.choose(context)?;
        self.next.set((taken.index + 1) % BUFFERS);
        Ok(taken)
    }

    fn choose(&self, context: &Arc<CudaContext>) -> Result<BufferLease<'_>, CudaError> {
        if let Some(free) = self.free()? {
            return Ok(free);
        }
        if let Some(index) = (0..BUFFERS).find(|index| self.is_empty(*index)) {
            return self.take_at(index, context);
        }
        self.free_at(self.next.get(), context)
    }

    /// Waits for the copies that use the buffer at an index, and then returns the buffer. If a
    /// graph captured by other code contains a copy that uses this buffer, this method returns a
    /// different buffer.
    fn free_at(
        &self,
        index: usize,
        context: &Arc<CudaContext>,
    ) -> Result<BufferLease<'_>, CudaError> {
        loop {
            let mut taken = self.take_at(index, context)?;
            match taken.wait() {
                Err(_) if taken.is_lost() => {}
                waited => return waited.map(|()| taken),
            }
        }
    }

    /// Returns a buffer that no pending copy uses. The search starts at the next buffer in the
    /// rotation.
    fn free(&self) -> Result<Option<BufferLease<'_>>, CudaError> {
        let next = self.next.get();
        for index in (next..BUFFERS).chain(0..next) {
            let Some(mut taken) = self.take(index) else { continue };
            match taken.is_free() {
                Ok(true) => return Ok(Some(taken)),
                Err(error) if !taken.is_lost() => return Err(error),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns the buffer at an index, even if a copy is still using it. If the cell is empty, this
    /// method creates a buffer.
    fn take_at(
        &self,
        index: usize,
        context: &Arc<CudaContext>,
    ) -> Result<BufferLease<'_>, CudaError> {
        if let Some(taken) = self.take(index) {
            return Ok(taken);
        }
        let buffer = ManuallyDrop::new(PageLocked::new(BUFFER_BYTES, context)?);
        Ok(BufferLease { staging: self, index, buffer })
    }

    fn take(&self, index: usize) -> Option<BufferLease<'_>> {
        let buffer = ManuallyDrop::new(self.places[index].take()?);
        Some(BufferLease { staging: self, index, buffer })
    }

    fn is_empty(&self, index: usize) -> bool {
        self.take(index).is_none()
    }

    /// Stores a buffer in the cell at its index, or in an empty cell if that cell is full. If user
    /// code has filled all cells by then, the buffer is freed.
    fn put(&self, index: usize, buffer: PageLocked) {
        let Some(empty) = (index..BUFFERS).chain(0..index).find(|index| self.is_empty(*index))
        else {
            return;
        };
        self.places[empty].set(Some(buffer));
    }
}

impl BufferLease<'_> {
    /// Returns the buffer's bytes. The slice is empty only if a copy is pending, and every caller
    /// has waited for pending copies.
    fn bytes(&mut self) -> &mut [u8] {
        self.buffer.bytes_mut().unwrap_or_default()
    }
}

impl Deref for BufferLease<'_> {
    type Target = PageLocked;

    fn deref(&self) -> &PageLocked {
        &self.buffer
    }
}

impl DerefMut for BufferLease<'_> {
    fn deref_mut(&mut self) -> &mut PageLocked {
        &mut self.buffer
    }
}

impl Drop for BufferLease<'_> {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, so the field is not used again.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        // If a graph captured by other code may use the buffer, the buffer is leaked because the
        // graph still contains its address.
        if !buffer.is_lost() {
            self.staging.put(self.index, buffer);
        }
    }
}

impl fmt::Debug for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staging").finish_non_exhaustive()
    }
}

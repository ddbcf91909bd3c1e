//! Page-locked buffers for copies between pageable host memory and the device. They are pooled:
//! created at the first copies, and reused once their copies are done.
//!
//! So the driver never accesses the caller's memory, of any kind and after any failure, and a copy
//! to the device returns without a wait for the device.
//!
//! Buffers, and the end of their copies, are those of every staged copy on CUDA: [`PageLocked`],
//! which `pool-graph`'s `StagingPool` uses, too. This module only chooses a buffer: there are few,
//! created on demand, and waited for.
//!
//! A copy takes its buffer out of its place while it works with it. Foreign code that copies
//! meanwhile (a hook of the allocator, for example) finds another buffer, or creates one.

use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;
use pool_driver::page_locked::PageLocked;

/// The bytes of one buffer.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// The limit of buffers.
const BUFFERS: usize = 4;

/// The buffers of one pool, used in turn.
#[derive(Default)]
pub(crate) struct Staging {
    /// Empty if no buffer was created yet, and while a copy has taken it.
    places: [Cell<Option<PageLocked>>; BUFFERS],
    /// The next place in turn.
    next: Cell<usize>,
}

/// A buffer that a copy has taken; its drop puts it back.
struct BufferLease<'s> {
    staging: &'s Staging,
    index: usize,
    buffer: ManuallyDrop<PageLocked>,
}

impl Staging {
    /// Copies bytes to the device. When this returns, `from` has been read.
    ///
    /// # Safety
    ///
    /// The range at `to` must be allocated and have that length. The caller must own the right to
    /// write it in the stream's order.
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
            // SAFETY: the buffer is free and holds the part; the rest is the caller's promise.
            unsafe { buffer.copy_to_device(to, part.len(), stream) }?;
            to += part.len() as Address;
        }
        Ok(())
    }

    /// Writes an element, given as its bytes, to the device repeatedly: as often as it fits one
    /// buffer, at most `length` times. Returns the number of elements.
    ///
    /// # Safety
    ///
    /// Same as for [`upload`](Self::upload), with `length` elements at `to`. The element must have at
    /// least one byte.
    pub(crate) unsafe fn upload_repeated(
        &self,
        to: Address,
        element: &[u8],
        length: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<usize, CudaError> {
        let count = (BUFFER_BYTES / element.len()).min(length);
        if count == 0 {
            // One element is longer than a buffer.
            // SAFETY: the caller's promise, for the first element.
            return unsafe { self.upload(to, element, stream) }.map(|()| 1);
        }
        let mut buffer = self.turn(stream.context())?;
        let bytes = count * element.len();
        for copy in buffer.bytes()[..bytes].chunks_exact_mut(element.len()) {
            copy.copy_from_slice(element);
        }
        // SAFETY: as in `upload`.
        unsafe { buffer.copy_to_device(to, bytes, stream) }?;
        Ok(count)
    }

    /// Copies bytes from the device; they have arrived when this returns.
    ///
    /// # Safety
    ///
    /// Same as for [`upload`](Self::upload), with `from` in place of `to`, and the right to read there.
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
                // SAFETY: the buffer is free and at least as long as the part; the rest is the caller's
                // promise.
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

    /// Returns a free buffer: one whose copies are done, else a new one below the limit, else the
    /// next one in turn, after a wait for its copies.
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

    /// Returns the buffer of a place, after a wait for its copies, or another buffer if a copy of
    /// the first was lost.
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

    /// Returns a buffer whose copies are done. The next one in turn is checked first.
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

    /// Returns the buffer of a place, which may be busy, or a new one if the place is empty.
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

    /// Puts a buffer into its place, or into another empty place. If no place is empty, because
    /// foreign code copied meanwhile, the buffer is freed.
    fn put(&self, index: usize, buffer: PageLocked) {
        let Some(empty) = (index..BUFFERS).chain(0..index).find(|index| self.is_empty(*index))
        else {
            return;
        };
        self.places[empty].set(Some(buffer));
    }
}

impl BufferLease<'_> {
    /// Returns the buffer's bytes; empty while a copy may be pending, which no caller leaves so.
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
        // SAFETY: the value is being dropped, so it is not used again.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        // A graph may contain the address of a buffer whose copy was lost: that buffer is leaked.
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

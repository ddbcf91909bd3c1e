//! Page-locked buffers that copies between ordinary host memory and the device go through. They are pooled: made
//! at the first copies, and used again once the copies that went through them are done.
//!
//! So the driver never touches the caller's memory, whatever kind it is and whatever fails, and a copy
//! to the device returns without waiting for the device.
//!
//! What a buffer is, and when it is free again, is that of every staged copy on CUDA: [`PageLocked`], which `pool-graph`'s
//! `StagingPool` hands out, too. Here is only the choice of a buffer: few, made when they are needed, and waited for.
//!
//! A copy takes its buffer out of the buffer's place while it works with it. Code of others that copies meanwhile (a
//! hook of the allocator, say) finds another buffer, or makes one.

use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;
use pool_driver::page_locked::PageLocked;

/// Bytes of one buffer.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// How many buffers there are at most.
const BUFFERS: usize = 4;

/// The buffers of one pool, used in turn.
#[derive(Default)]
pub(crate) struct Staging {
    /// Empty where no buffer was made yet, and where a copy has taken the buffer.
    places: [Cell<Option<PageLocked>>; BUFFERS],
    /// The place whose turn it is.
    next: Cell<usize>,
}

/// A buffer that a copy has taken; it goes back to its place when this is dropped.
struct BufferLease<'s> {
    staging: &'s Staging,
    index: usize,
    buffer: ManuallyDrop<PageLocked>,
}

impl Staging {
    /// Copies bytes to the device. They have left `from` when this returns.
    ///
    /// # Safety
    ///
    /// The range at `to` is allocated, is as long, and writing it in the stream's order is the caller's
    /// right.
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

    /// Writes an element, given as its bytes, to the device as often as it fits into one buffer, at most `length`
    /// times; returns how often.
    ///
    /// # Safety
    ///
    /// As for [`upload`](Self::upload), with `length` elements at `to`. The element has at least one byte.
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
    /// As for [`upload`](Self::upload), with `from` in place of `to`, and reading there.
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

    /// A buffer that is free for use: one whose copies are done, else a new one while there may be more buffers,
    /// else the next one in turn, after waiting for its copies.
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

    /// The buffer of a place, after waiting for its copies; another buffer where a copy of the first was lost.
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

    /// A buffer whose copies are done. The buffer that is next in turn is asked first.
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

    /// The buffer of a place, which may be busy; a new one where the place is empty.
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

    /// Puts a buffer into its place, or into another place that is empty. Where no place is empty, because code of
    /// others copied meanwhile, the buffer is given back to the driver.
    fn put(&self, index: usize, buffer: PageLocked) {
        let Some(empty) = (index..BUFFERS).chain(0..index).find(|index| self.is_empty(*index))
        else {
            return;
        };
        self.places[empty].set(Some(buffer));
    }
}

impl BufferLease<'_> {
    /// The buffer's bytes; none while a copy may be pending, which no caller leaves so.
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
        // A graph may name a buffer whose copy was lost: that buffer is left over, for ever.
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

//! Page-locked host memory that copies to and from ordinary host memory go through. It is pooled: made
//! at the first copy, and used again once the copies that went through it are done.
//!
//! So the driver never touches the caller's memory, whatever kind it is and whatever fails, and a copy
//! to the device returns without waiting for the device.
//!
//! A copy takes its buffer out of its place while it works with it. Code of others that comes here meanwhile
//! (a hook of the allocator that copies, too) finds another one, or makes one.

use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::driver::{self, Address};
use crate::error::CudaError;
use crate::event::Event;
use crate::leftover::{Leftover, Place};

/// Bytes of one buffer.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// How many buffers there are at most.
const BUFFERS: usize = 4;

/// The buffers of one pool, used in turn.
#[derive(Default)]
pub(crate) struct Staging {
    /// Empty where none was made yet, and where a copy has taken it.
    places: [Cell<Option<Owned>>; BUFFERS],
    /// The one whose turn it is.
    next: Cell<usize>,
}

/// A buffer that is given back when it is dropped.
struct Owned {
    buffer: ManuallyDrop<Buffer>,
    place: Place,
}

/// A buffer that a copy has taken, until this is dropped.
struct Taken<'s> {
    staging: &'s Staging,
    index: usize,
    buffer: ManuallyDrop<Owned>,
}

/// A piece of page-locked memory.
pub(crate) struct Buffer {
    memory: NonNull<u8>,
    /// Recorded behind the last copy.
    last_use: Event,
    context: Arc<CudaContext>,
    /// Whether a copy may be pending.
    is_busy: bool,
    /// Whether a copy may be pending that the event is not behind.
    is_unmarked: bool,
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
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        let mut to = to;
        for part in from.chunks(BUFFER_BYTES) {
            let mut buffer = self.turn(stream.context())?;
            buffer.bytes()[..part.len()].copy_from_slice(part);
            // SAFETY: the buffer is page-locked, holds the part, and is busy until the event behind the
            // copy has come; the rest is the caller's promise.
            let copied = unsafe { driver::copy_from_host(to, buffer.memory, part.len(), stream) };
            buffer.mark(copied, stream)?;
            to += part.len() as Address;
        }
        Ok(())
    }

    /// Writes an element, given as its bytes, as often to the device as fits one buffer, at most `length`
    /// times; returns how often.
    ///
    /// # Safety
    ///
    /// As for [`upload`](Self::upload), with `length` elements at `to`, none of no size.
    pub(crate) unsafe fn upload_repeated(
        &self,
        to: Address,
        element: &[u8],
        length: usize,
        stream: &CudaStream,
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
        let copied = unsafe { driver::copy_from_host(to, buffer.memory, bytes, stream) };
        buffer.mark(copied, stream)?;
        Ok(count)
    }

    /// Copies bytes from the device; they have arrived when this returns.
    ///
    /// # Safety
    ///
    /// As for [`upload`](Self::upload), with reading at `from`.
    pub(crate) unsafe fn download(
        &self,
        to: &mut [u8],
        from: Address,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        let mut from = from;
        for window in to.chunks_mut(BUFFERS * BUFFER_BYTES) {
            let mut buffers: [Option<Taken<'_>>; BUFFERS] = Default::default();
            for (index, part) in window.chunks(BUFFER_BYTES).enumerate() {
                let buffer = buffers[index].insert(self.take_at(index, stream.context())?);
                buffer.wait()?;
                // SAFETY: the buffer is page-locked, at least as long as the part, and busy until the
                // event behind the copy has come; the rest is the caller's promise.
                let copied =
                    unsafe { driver::copy_to_host(buffer.memory, from, part.len(), stream) };
                buffer.mark(copied, stream)?;
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

    /// A buffer that is free for use: one whose copies are done, else a new one while there may be more,
    /// else the next in turn, after waiting for it.
    fn turn(&self, context: &Arc<CudaContext>) -> Result<Taken<'_>, CudaError> {
        let taken = self.choose(context)?;
        self.next.set((taken.index + 1) % BUFFERS);
        Ok(taken)
    }

    fn choose(&self, context: &Arc<CudaContext>) -> Result<Taken<'_>, CudaError> {
        if let Some(free) = self.free()? {
            return Ok(free);
        }
        if let Some(index) = (0..BUFFERS).find(|index| self.is_empty(*index)) {
            return self.take_at(index, context);
        }
        let mut next = self.take_at(self.next.get(), context)?;
        next.wait()?;
        Ok(next)
    }

    /// A buffer whose copies are done; the one that is next in turn is asked first.
    fn free(&self) -> Result<Option<Taken<'_>>, CudaError> {
        let next = self.next.get();
        for index in (next..BUFFERS).chain(0..next) {
            let Some(mut taken) = self.take(index) else { continue };
            if taken.is_free()? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// The buffer of a place, made where none is there; it may be busy.
    fn take_at(&self, index: usize, context: &Arc<CudaContext>) -> Result<Taken<'_>, CudaError> {
        if let Some(taken) = self.take(index) {
            return Ok(taken);
        }
        let place = Place::new()?;
        let buffer = ManuallyDrop::new(Buffer::new(context)?);
        let buffer = ManuallyDrop::new(Owned { buffer, place });
        Ok(Taken { staging: self, index, buffer })
    }

    fn take(&self, index: usize) -> Option<Taken<'_>> {
        let buffer = ManuallyDrop::new(self.places[index].take()?);
        Some(Taken { staging: self, index, buffer })
    }

    fn is_empty(&self, index: usize) -> bool {
        self.take(index).is_none()
    }

    /// Puts a buffer into its place, or another one that is empty. Where there is none, because others came
    /// here meanwhile, it is given back.
    fn put(&self, index: usize, buffer: Owned) {
        let Some(empty) = (index..BUFFERS).chain(0..index).find(|index| self.is_empty(*index))
        else {
            return;
        };
        self.places[empty].set(Some(buffer));
    }
}

impl Buffer {
    fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let last_use = Event::new(context)?;
        let memory = driver::allocate_host(BUFFER_BYTES, context)?;
        // SAFETY: just allocated with as many bytes.
        unsafe { memory.write_bytes(0, BUFFER_BYTES) };
        Ok(Self {
            memory,
            last_use,
            context: Arc::clone(context),
            is_busy: false,
            is_unmarked: false,
        })
    }

    /// Its bytes. No copy may be pending: callers take it in turn, or wait.
    fn bytes(&mut self) -> &mut [u8] {
        debug_assert!(!self.is_busy, "a copy of the driver is pending");
        // SAFETY: the buffer is ours and as long, was initialised when it was made, and is borrowed
        // exclusively; the driver is done with it.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), BUFFER_BYTES) }
    }

    /// Notes that a copy was enqueued, if it was: the buffer is busy until the event behind it comes.
    fn mark(
        &mut self,
        copied: Result<(), CudaError>,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        copied?;
        self.is_busy = true;
        let Err(error) = self.last_use.record(stream) else { return Ok(()) };
        self.is_unmarked = true;
        Err(error)
    }

    /// Whether its copies are done.
    fn is_free(&mut self) -> Result<bool, CudaError> {
        self.is_busy = self.is_busy && (self.is_unmarked || !self.last_use.is_done()?);
        Ok(!self.is_busy)
    }

    /// Waits, on the host, until its copies are done.
    fn wait(&mut self) -> Result<(), CudaError> {
        if !self.is_busy {
            return Ok(());
        }
        if self.is_unmarked {
            driver::synchronize_context(&self.context)?;
        } else {
            self.last_use.synchronize()?;
        }
        self.is_busy = false;
        self.is_unmarked = false;
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
        unsafe { driver::free_host(self.memory, &self.context) }
    }
}

impl Deref for Taken<'_> {
    type Target = Buffer;

    fn deref(&self) -> &Buffer {
        &self.buffer.buffer
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut Buffer {
        &mut self.buffer.buffer
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, so it is not used again.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        self.staging.put(self.index, buffer);
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, so it is not used again.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        self.place.give_back(Leftover::Buffer(buffer));
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl fmt::Debug for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staging").finish_non_exhaustive()
    }
}

//! Manages page-locked host memory and blocking copies to and from that memory. Each buffer is
//! freed exactly once, either immediately or later. A buffer's owner can tell when the last copy
//! that uses the buffer has completed. Either a graph or a [`PageLocked`] owns the buffer. A graph
//! frees its buffers once its runs have completed. A [`PageLocked`] buffer records an event after
//! each of its copies.
//!
//! [`PageLocked`]: crate::page_locked::PageLocked

use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::calls::{self, Address};
use crate::deferred_frees::{DeferredFreeKind, QueueEntry, Resource, ResourceOwner};
use crate::error::CudaError;

/// Page-locked host memory that every context can use.
#[derive(Debug)]
pub struct HostBuffer(ResourceOwner<PageLockedMemory>);

// SAFETY: a shared reference to a `HostBuffer` provides only an address, a length, and a context.
unsafe impl Sync for HostBuffer {}

/// A reserved entry in the queue of deferred frees, for a buffer that does not exist yet.
pub type HostEntry = QueueEntry<PageLockedMemory>;

/// The memory of a [`HostBuffer`].
#[derive(Debug)]
pub struct PageLockedMemory {
    memory: NonNull<u8>,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: this value owns the memory. Any thread may use or free this memory.
unsafe impl Send for PageLockedMemory {}

impl Resource for PageLockedMemory {
    const KIND: DeferredFreeKind = DeferredFreeKind::HostMemory;

    fn context(&self) -> Option<&CudaContext> {
        Some(&self.context)
    }

    /// Frees the memory. The buffer's owner must ensure that no copy is pending.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        // SAFETY: the memory was allocated by `allocate_host` in this context, and the caller
        // guarantees that it has not been freed. The code that enqueued copies guarantees that none
        // of them is pending.
        unsafe { calls::free_host(self.memory, &self.context) }
    }
}

impl HostBuffer {
    /// Creates a buffer that contains a copy of the given bytes, which must not be empty. This
    /// function makes the context current.
    pub fn new(bytes: &[u8], context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        Self::with_entry(QueueEntry::new()?, bytes, context)
    }

    /// Creates a buffer like [`new`](Self::new), but with a queue entry that has already been
    /// reserved.
    pub fn with_entry(
        entry: HostEntry,
        bytes: &[u8],
        context: &Arc<CudaContext>,
    ) -> Result<Self, CudaError> {
        let memory = calls::allocate_host(bytes.len(), context)?;
        // SAFETY: this memory of `bytes.len()` bytes has just been allocated, so it does not
        // overlap the caller's bytes.
        unsafe { memory.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        let (length, context) = (bytes.len(), Arc::clone(context));
        Ok(Self(entry.own(PageLockedMemory { memory, bytes: length, context })))
    }

    /// Creates a zeroed buffer of `bytes` bytes. The number of bytes must not be 0. This function
    /// makes the context current.
    pub fn zeroed(bytes: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let entry = HostEntry::new()?;
        let memory = calls::allocate_host(bytes, context)?;
        // SAFETY: exactly `bytes` bytes of memory have just been allocated.
        unsafe { memory.write_bytes(0, bytes) };
        Ok(Self(entry.own(PageLockedMemory { memory, bytes, context: Arc::clone(context) })))
    }

    /// Returns a pointer to the buffer's first byte.
    #[must_use]
    pub fn first(&self) -> NonNull<u8> {
        self.0.memory
    }

    /// Returns the address of the buffer's first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.0.memory.addr().get() as u64
    }

    /// Returns the number of bytes in the buffer. This number is never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "the driver allocates no empty buffer")]
    pub fn len(&self) -> usize {
        self.0.bytes
    }

    /// Returns the context in which the memory was allocated.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    /// Returns the bytes of the buffer. The code that enqueues copies guarantees that none of them
    /// is pending during the borrow.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `self.0.bytes` bytes were allocated and initialized. These bytes are borrowed
        // exclusively through `self`. The code that enqueues copies guarantees that the device does
        // not access the bytes during the borrow.
        unsafe { slice::from_raw_parts_mut(self.0.memory.as_ptr(), self.0.bytes) }
    }

    /// Copies bytes in stream order from the device address `from` to the start of the buffer. The
    /// call blocks until the copy is complete. If this method returns an error, the copy might
    /// still run later.
    ///
    /// # Safety
    ///
    /// At least `bytes` bytes must be allocated at `from`. The caller must be permitted to read
    /// these bytes in stream order. The buffer must contain at least `bytes` bytes. After an error,
    /// the caller must keep the buffer alive and must not access it until the stream has been
    /// synchronized.
    pub unsafe fn read(
        &mut self,
        from: Address,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller upholds this method's safety contract. The buffer stays allocated for
        // as long as the copy might run.
        let copied = unsafe { calls::copy_to_host(self.0.memory, from, bytes, stream) };
        copied.and_then(|()| calls::synchronize(stream))
    }

    /// Copies bytes in stream order from the start of the buffer to the device address `to`. The
    /// call blocks until the copy is complete. If this method returns an error, the copy might
    /// still run later.
    ///
    /// # Safety
    ///
    /// The safety contract of [`read`](Self::read) applies, except that the range at `to` is
    /// written rather than read.
    pub unsafe fn write(
        &mut self,
        to: Address,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller upholds this method's safety contract. The buffer stays allocated for
        // as long as the copy might run.
        let copied = unsafe { calls::copy_from_host(to, self.0.memory, bytes, stream) };
        copied.and_then(|()| calls::synchronize(stream))
    }
}

//! Page-locked host memory, which is freed once, either immediately or later, and blocking copies
//! through it. The owner of a buffer knows when no copy uses the buffer any more. The owner is a
//! graph, which frees its buffers after its runs, or a [`PageLocked`], which records an event after
//! its copies.
//!
//! [`PageLocked`]: crate::page_locked::PageLocked

use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::calls::{self, Address};
use crate::error::CudaError;
use crate::leftovers::{LeftoverKind, Place, Resource, ResourceOwner};

/// Page-locked host memory that can be used in every context.
#[derive(Debug)]
pub struct HostBuffer(ResourceOwner<HostMemory>);

// SAFETY: `&HostBuffer` provides access only to an address, a length and a context.
unsafe impl Sync for HostBuffer {}

/// The place in the queue of deferred frees for a buffer that does not exist yet.
pub type HostPlace = Place<HostMemory>;

/// The memory of a [`HostBuffer`].
#[derive(Debug)]
pub struct HostMemory {
    memory: NonNull<u8>,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: this value owns the memory, which any thread may use and free.
unsafe impl Send for HostMemory {}

impl Resource for HostMemory {
    const KIND: LeftoverKind = LeftoverKind::HostMemory;

    fn context(&self) -> Option<&CudaContext> {
        Some(&self.context)
    }

    /// Frees the memory. The owner of the buffer ensures that no copy is pending.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        // SAFETY: the memory came from `allocate_host` in this context, and is freed once (caller);
        // no copy is pending (guaranteed by the code that enqueued it).
        unsafe { calls::free_host(self.memory, &self.context) }
    }
}

impl HostBuffer {
    /// Creates a buffer with a copy of these bytes, which must not be empty. Makes the context
    /// current.
    pub fn new(bytes: &[u8], context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        Self::in_place(Place::new()?, bytes, context)
    }

    /// Does the same as [`new`](Self::new), with a place in the queue that already exists.
    pub fn in_place(
        place: HostPlace,
        bytes: &[u8],
        context: &Arc<CudaContext>,
    ) -> Result<Self, CudaError> {
        let memory = calls::allocate_host(bytes.len(), context)?;
        // SAFETY: the memory was just allocated with `bytes.len()` bytes, so it is disjoint from
        // the caller's.
        unsafe { memory.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        let (length, context) = (bytes.len(), Arc::clone(context));
        Ok(Self(place.own(HostMemory { memory, bytes: length, context })))
    }

    /// Creates a buffer of `bytes` zero bytes, at least one. Makes the context current.
    pub fn zeroed(bytes: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = HostPlace::new()?;
        let memory = calls::allocate_host(bytes, context)?;
        // SAFETY: the memory was just allocated with `bytes` bytes.
        unsafe { memory.write_bytes(0, bytes) };
        Ok(Self(place.own(HostMemory { memory, bytes, context: Arc::clone(context) })))
    }

    /// Returns the first byte of the buffer.
    #[must_use]
    pub fn first(&self) -> NonNull<u8> {
        self.0.memory
    }

    /// Returns the address of the first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.0.memory.addr().get() as u64
    }

    /// Returns the number of bytes, which is never 0.
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

    /// Returns the bytes of the buffer. The code that enqueues a copy guarantees that none is
    /// pending.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `self.0.bytes` bytes were allocated and initialised, and are borrowed
        // exclusively. The device does not use them during the borrow (guaranteed by the code that
        // enqueued a copy).
        unsafe { slice::from_raw_parts_mut(self.0.memory.as_ptr(), self.0.bytes) }
    }

    /// Copies device bytes at `from` to the beginning of the buffer, in stream order, and waits for
    /// the copy. After an error, the copy may still run later.
    ///
    /// # Safety
    ///
    /// The device range must be allocated and contain `bytes` bytes, and the caller must have the
    /// right to read it in stream order. The buffer must contain at least `bytes` bytes. After an
    /// error, the buffer must be kept and not be accessed until the stream has been synchronized.
    pub unsafe fn read(
        &mut self,
        from: Address,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller upholds this contract; the host range stays allocated for as long as
        // the copy may run.
        let copied = unsafe { calls::copy_to_host(self.0.memory, from, bytes, stream) };
        copied.and_then(|()| calls::synchronize(stream))
    }

    /// Copies bytes from the beginning of the buffer to the device at `to`, in stream order, and
    /// waits for the copy. The errors are the same as for [`read`](Self::read).
    ///
    /// # Safety
    ///
    /// The same contract as [`read`](Self::read), but for writing the device range.
    pub unsafe fn write(
        &mut self,
        to: Address,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        // SAFETY: as in `read`.
        let copied = unsafe { calls::copy_from_host(to, self.0.memory, bytes, stream) };
        copied.and_then(|()| calls::synchronize(stream))
    }
}

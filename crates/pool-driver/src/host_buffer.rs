//! Page-locked host memory, which is freed once, now or later, and the copies through it that are
//! waited for. The owner of a buffer knows when no copy uses it: a graph, which frees its buffers
//! after its runs, or [`PageLocked`], which has an event after its copies.
//!
//! [`PageLocked`]: crate::page_locked::PageLocked

use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::calls::{self, Address};
use crate::error::CudaError;
use crate::leftovers::{LeftoverKind, Place, Resource, ResourceOwner};

/// Page-locked host memory, usable in every context.
#[derive(Debug)]
pub struct HostBuffer(ResourceOwner<HostMemory>);

// SAFETY: `&HostBuffer` gives access only to an address, a length and a context.
unsafe impl Sync for HostBuffer {}

/// The place in the queue of deferred frees for a buffer that is not made yet.
pub type HostPlace = Place<HostMemory>;

/// The memory of a [`HostBuffer`].
#[derive(Debug)]
pub struct HostMemory {
    memory: NonNull<u8>,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: it owns the memory, which any thread may use and free.
unsafe impl Send for HostMemory {}

impl Resource for HostMemory {
    const KIND: LeftoverKind = LeftoverKind::HostMemory;

    fn context(&self) -> Option<&CudaContext> {
        Some(&self.context)
    }

    /// Frees the memory. The owner of the buffer ensures that no copy is pending.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        // SAFETY: it came from `allocate_host` in this context, and is freed once (caller); no copy
        // is pending (guaranteed by the code that enqueued one).
        unsafe { calls::free_host(self.memory, &self.context) }
    }
}

impl HostBuffer {
    /// Makes a copy of these bytes, which are not empty. The context becomes the current one.
    pub fn new(bytes: &[u8], context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        Self::in_place(Place::new()?, bytes, context)
    }

    /// Does the same as [`new`](Self::new), with a place in the queue that was made before.
    pub fn in_place(
        place: HostPlace,
        bytes: &[u8],
        context: &Arc<CudaContext>,
    ) -> Result<Self, CudaError> {
        let memory = calls::allocate_host(bytes.len(), context)?;
        // SAFETY: just allocated with `bytes.len()` bytes, so disjoint from the caller's.
        unsafe { memory.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        let (length, context) = (bytes.len(), Arc::clone(context));
        Ok(Self(place.own(HostMemory { memory, bytes: length, context })))
    }

    /// Makes a buffer of `bytes` zero bytes, at least one. The context becomes the current one.
    pub fn zeroed(bytes: usize, context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let place = HostPlace::new()?;
        let memory = calls::allocate_host(bytes, context)?;
        // SAFETY: just allocated with `bytes` bytes.
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

    /// Returns the bytes of the buffer. No copy of the driver is pending, as the code that enqueues
    /// one guarantees.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `self.0.bytes` bytes were allocated and initialised, and are borrowed
        // exclusively. The device does not use them meanwhile (guaranteed by the code that enqueued
        // a copy).
        unsafe { slice::from_raw_parts_mut(self.0.memory.as_ptr(), self.0.bytes) }
    }

    /// Copies the device's bytes at `from` to the first bytes of the buffer, in the order of a stream, and waits. After an
    /// error the copy may be made later.
    ///
    /// # Safety
    ///
    /// The device's range is allocated, has `bytes` bytes, and the caller may read it in the
    /// stream's order. The buffer has at least `bytes` bytes. After an error, the buffer stays and
    /// is not touched until the stream was waited for.
    pub unsafe fn read(
        &mut self,
        from: Address,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller upholds this contract; the host range stays for as long as the copy
        // may run.
        let copied = unsafe { calls::copy_to_host(self.0.memory, from, bytes, stream) };
        copied.and_then(|()| calls::synchronize(stream))
    }

    /// Copies the first bytes of the buffer to the device's bytes at `to`, in the order of a
    /// stream, and waits; errors as for [`read`](Self::read).
    ///
    /// # Safety
    ///
    /// Same as for [`read`](Self::read), with writing.
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

//! Page-locked host memory of a graph, and the copies through it that are waited for.
//!
//! What the proofs rely on is in [`handles`](super::handles).

use std::ptr;
use std::sync::Arc;

use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::cudarc::driver::{CudaContext, CudaStream, result, sys};
use pool_driver::error::CudaError;
use pool_driver::leftovers::{LeftoverKind, Place, Resource, ResourceOwner};

use super::calls::{answer, bind, wait_for};
use crate::base::range::LeasedRange;

/// Page-locked host memory that a graph reads.
#[derive(Debug)]
pub(crate) struct HostBuffer(ResourceOwner<HostMemory>);

// SAFETY: `&HostBuffer` gives an address and a length alone.
unsafe impl Sync for HostBuffer {}

/// The place among the leftovers for a buffer that is yet to be made.
pub(crate) type HostPlace = Place<HostMemory>;

/// The memory of a buffer.
#[derive(Debug)]
pub(crate) struct HostMemory {
    memory: ptr::NonNull<u8>,
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

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        bind(&self.context)?;
        // SAFETY: it came from `cuMemHostAlloc`, is freed once (caller), and the graph that reads it is gone.
        let freed =
            with_relaxed_capture_mode(|| unsafe { result::free_host(self.memory.as_ptr().cast()) });
        answer("cuMemFreeHost", freed)
    }
}

impl HostBuffer {
    /// A copy of these bytes, of which there is at least one; the context is bound.
    pub(crate) fn new(bytes: &[u8], context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        Self::in_place(Place::new()?, bytes, context)
    }

    /// As [`new`](Self::new), with a place among the leftovers that was made before.
    pub(crate) fn in_place(
        place: HostPlace,
        bytes: &[u8],
        context: &Arc<CudaContext>,
    ) -> Result<Self, CudaError> {
        let allocate = || {
            // SAFETY: what is allocated is nobody's yet, and is written below.
            unsafe { result::malloc_host(bytes.len(), sys::CU_MEMHOSTALLOC_PORTABLE) }
        };
        let memory = answer("cuMemHostAlloc", with_relaxed_capture_mode(allocate))?;
        let none = CudaError::OutOfMemory { requested: bytes.len(), memory: None };
        let memory = ptr::NonNull::new(memory.cast::<u8>()).ok_or(none)?;
        let (length, context) = (bytes.len(), Arc::clone(context));
        let mut buffer = Self(place.own(HostMemory { memory, bytes: length, context }));
        buffer.bytes_mut().copy_from_slice(bytes);
        Ok(buffer)
    }

    pub(crate) fn address(&self) -> *const u8 {
        self.0.memory.as_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.bytes
    }

    /// Whether all of `[address, address + bytes)` is in the buffer.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        let range = LeasedRange { address: self.address().addr() as u64, bytes: self.len() as u64 };
        range.contains(address, bytes)
    }

    /// The bytes of the buffer. Whoever writes them sees to it that no run of the graph reads them meanwhile.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes were allocated; `new` has written them all before anyone else has it
        // (the driver gives pages of zeros or old bytes, which are bytes).
        unsafe { std::slice::from_raw_parts_mut(self.0.memory.as_ptr(), self.0.bytes) }
    }
}

/// Copies to page-locked memory in the order of a stream, and waits; the context is bound. After an error the copy may
/// be made later: the buffer stays until the stream was waited for.
///
/// # Safety
///
/// The device range has as many bytes, and the buffer, too.
pub(crate) unsafe fn read(
    stream: &CudaStream,
    to: &mut HostBuffer,
    bytes: usize,
    from: u64,
) -> Result<(), CudaError> {
    let place = to.0.memory.as_ptr().cast();
    // SAFETY: the caller's promise; the host range stays for as long as the copy may be made.
    let copied = unsafe { sys::cuMemcpyDtoHAsync_v2(place, from, bytes, stream.cu_stream()) };
    answer("cuMemcpyDtoHAsync", copied.result()).and_then(|()| wait_for(stream))
}

/// Copies from page-locked memory in the order of a stream, and waits; as [`read`].
///
/// # Safety
///
/// As for [`read`].
pub(crate) unsafe fn write(
    stream: &CudaStream,
    to: u64,
    from: &mut HostBuffer,
    bytes: usize,
) -> Result<(), CudaError> {
    let place = from.0.memory.as_ptr().cast_const().cast();
    // SAFETY: as in `read`.
    let copied = unsafe { sys::cuMemcpyHtoDAsync_v2(to, place, bytes, stream.cu_stream()) };
    answer("cuMemcpyHtoDAsync", copied.result()).and_then(|()| wait_for(stream))
}

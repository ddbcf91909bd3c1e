//! Page-locked host memory of a graph, and the copies through it that are waited for.
//!
//! What the proofs rely on is in [`handles`](super::handles).

use std::ptr;
use std::sync::Arc;

use pool_cuda::cudarc::driver::{CudaContext, CudaStream, result, sys};
use pool_cuda::{CudaError, with_relaxed_capture_mode};

use super::calls::{answer, bind, wait_for};
use crate::base::range::LeasedRange;

/// Page-locked host memory that a graph reads.
#[derive(Debug)]
pub(crate) struct HostBuffer {
    memory: ptr::NonNull<u8>,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: it owns the memory, which any thread may use and free.
unsafe impl Send for HostBuffer {}
// SAFETY: `&HostBuffer` gives an address and a length alone.
unsafe impl Sync for HostBuffer {}

impl HostBuffer {
    /// A copy of these bytes, of which there is at least one; the context is bound.
    pub(crate) fn new(bytes: &[u8], context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let allocate = || {
            // SAFETY: what is allocated is nobody's yet, and is written below.
            unsafe { result::malloc_host(bytes.len(), sys::CU_MEMHOSTALLOC_PORTABLE) }
        };
        let memory = answer("cuMemHostAlloc", with_relaxed_capture_mode(allocate))?;
        let none = CudaError::OutOfMemory { requested: bytes.len(), memory: None };
        let memory = ptr::NonNull::new(memory.cast::<u8>()).ok_or(none)?;
        let mut buffer = Self { memory, bytes: bytes.len(), context: Arc::clone(context) };
        buffer.bytes_mut().copy_from_slice(bytes);
        Ok(buffer)
    }

    pub(crate) fn address(&self) -> *const u8 {
        self.memory.as_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Whether all of `[address, address + bytes)` is in the buffer.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        let range = LeasedRange { address: self.address().addr() as u64, bytes: self.bytes as u64 };
        range.contains(address, bytes)
    }

    /// The bytes of the buffer. Whoever writes them sees to it that no run of the graph reads them meanwhile.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes were allocated; `new` has written them all before anyone else has it
        // (the driver gives pages of zeros or old bytes, which are bytes).
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.bytes) }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        let _ = bind(&self.context);
        // SAFETY: it came from `cuMemHostAlloc`, is freed once, and the graph that reads it is gone.
        let _ =
            with_relaxed_capture_mode(|| unsafe { result::free_host(self.memory.as_ptr().cast()) });
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
    let place = to.memory.as_ptr().cast();
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
    let place = from.memory.as_ptr().cast_const().cast();
    // SAFETY: as in `read`.
    let copied = unsafe { sys::cuMemcpyHtoDAsync_v2(to, place, bytes, stream.cu_stream()) };
    answer("cuMemcpyHtoDAsync", copied.result()).and_then(|()| wait_for(stream))
}

//! Device memory: allocating, freeing, and the spans that are passed to calls.

use cudarc::driver::sys;

use super::memory_pool::MemoryPool;
use super::refusal::Outcome;
use super::stream::Stream;

/// A part of a device allocation, given by an address and a length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl Span {
    /// Creates the span that covers an allocation.
    pub(super) fn new(address: sys::CUdeviceptr, bytes: usize) -> Self {
        Self { address, bytes }
    }

    /// Returns addresses that have no device memory, like those in a capture's dry run. The driver
    /// refuses them or never accesses them, because a graph that contains them is not launched.
    #[must_use]
    pub fn made_up(bytes: usize) -> Self {
        Self { address: 1 << 62, bytes }
    }

    /// Returns the start address.
    #[must_use]
    pub fn address(self) -> u64 {
        self.address
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Returns a part of the span. A part that would extend past the end is cut off there.
    #[must_use]
    pub fn part(self, offset: usize, bytes: usize) -> Self {
        let offset = offset.min(self.bytes);
        let bytes = bytes.min(self.bytes - offset);
        Self { address: self.address + offset as u64, bytes }
    }
}

/// Allocates memory on the current device.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn allocate(bytes: usize) -> Outcome<Span> {
    let mut address = 0;
    // SAFETY: the output variable outlives the call.
    unsafe { call!(cuMemAlloc_v2(&raw mut address, bytes)) }?;
    Ok(Span::new(address, bytes))
}

/// Frees an allocation. A span that is not an allocation can be passed to test that the driver
/// refuses it.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn free(span: Span) -> Outcome<()> {
    // SAFETY: no Rust value is stored in device memory.
    // The driver refuses a span that is not allocated (2).
    unsafe { call!(cuMemFree_v2(span.address)) }
}

/// Returns the number of free bytes on the device and the total number.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn memory_information() -> Outcome<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both output variables outlive the call.
    unsafe { call!(cuMemGetInfo_v2(&raw mut free, &raw mut total)) }?;
    Ok((free, total))
}

impl Stream {
    /// Allocates memory from the device's current pool, in stream order.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn allocate(&self, bytes: usize) -> Outcome<Span> {
        let mut address = 0;
        // SAFETY: the stream is live (1).
        // The output variable outlives the call.
        unsafe { call!(cuMemAllocAsync(&raw mut address, bytes, self.raw())) }?;
        Ok(Span::new(address, bytes))
    }

    /// Allocates memory from the given pool, in stream order.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn allocate_from(&self, pool: &MemoryPool, bytes: usize) -> Outcome<Span> {
        let mut address = 0;
        // SAFETY: the pool and the stream are live (1).
        // The output variable outlives the call.
        let allocated = unsafe {
            call!(cuMemAllocFromPoolAsync(&raw mut address, bytes, pool.raw(), self.raw()))
        };
        allocated.map(|()| Span::new(address, bytes))
    }

    /// Frees memory in stream order.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn free(&self, span: Span) -> Outcome<()> {
        // SAFETY: the stream is live (1).
        // The driver refuses a span that is not allocated (2).
        unsafe { call!(cuMemFreeAsync(span.address, self.raw())) }
    }
}

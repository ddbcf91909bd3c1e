//! Device memory: allocating, freeing, and the spans that calls receive.

use cudarc::driver::sys;

use super::memory_pool::MemoryPool;
use super::refusal::Outcome;
use super::stream::Stream;

/// Part of a device allocation: an address and a length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl Span {
    /// Creates the span of an allocation.
    pub(super) fn new(address: sys::CUdeviceptr, bytes: usize) -> Self {
        Self { address, bytes }
    }

    /// Returns addresses without device memory, like those of a capture's dry run. The driver
    /// refuses them or never accesses them: a graph with them is not launched.
    #[must_use]
    pub fn made_up(bytes: usize) -> Self {
        Self { address: 1 << 62, bytes }
    }

    /// Returns its start.
    #[must_use]
    pub fn address(self) -> u64 {
        self.address
    }

    /// Returns its length in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Returns a part of it, cut off at its end.
    #[must_use]
    pub fn part(self, offset: usize, bytes: usize) -> Self {
        let offset = offset.min(self.bytes);
        let bytes = bytes.min(self.bytes - offset);
        Self { address: self.address + offset as u64, bytes }
    }
}

/// Allocates on the current device.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn allocate(bytes: usize) -> Outcome<Span> {
    let mut address = 0;
    // SAFETY: the place outlives the call.
    unsafe { call!(cuMemAlloc_v2(&raw mut address, bytes)) }?;
    Ok(Span::new(address, bytes))
}

/// Frees an allocation, or any other span for the driver to refuse.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn free(span: Span) -> Outcome<()> {
    // SAFETY: device memory is not Rust's, and the driver refuses a span that is not allocated (2).
    unsafe { call!(cuMemFree_v2(span.address)) }
}

/// Returns the free and total bytes of the device.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn memory_information() -> Outcome<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both places outlive the call.
    unsafe { call!(cuMemGetInfo_v2(&raw mut free, &raw mut total)) }?;
    Ok((free, total))
}

impl Stream {
    /// Allocates in stream order, from the device's current pool.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn allocate(&self, bytes: usize) -> Outcome<Span> {
        let mut address = 0;
        // SAFETY: the stream is live (1); the place outlives the call.
        unsafe { call!(cuMemAllocAsync(&raw mut address, bytes, self.raw())) }?;
        Ok(Span::new(address, bytes))
    }

    /// Allocates in stream order from a pool.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn allocate_from(&self, pool: &MemoryPool, bytes: usize) -> Outcome<Span> {
        let mut address = 0;
        // SAFETY: pool and stream are live (1); the place outlives the call.
        let allocated = unsafe {
            call!(cuMemAllocFromPoolAsync(&raw mut address, bytes, pool.raw(), self.raw()))
        };
        allocated.map(|()| Span::new(address, bytes))
    }

    /// Frees in stream order.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn free(&self, span: Span) -> Outcome<()> {
        // SAFETY: the stream is live (1); the driver refuses a span that is not allocated (2).
        unsafe { call!(cuMemFreeAsync(span.address, self.raw())) }
    }
}

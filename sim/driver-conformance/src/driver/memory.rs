//! Device memory: allocating, freeing, and the spans that calls are given.

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
    /// What the driver allocated.
    pub(super) fn new(address: sys::CUdeviceptr, bytes: usize) -> Self {
        Self { address, bytes }
    }

    /// Addresses at which no device has memory, as dry runs of captures make them up. The driver refuses them, or
    /// never comes to use them: whoever puts them into a graph does not launch it.
    #[must_use]
    pub fn made_up(bytes: usize) -> Self {
        Self { address: 1 << 62, bytes }
    }

    /// Where it starts.
    #[must_use]
    pub fn address(self) -> u64 {
        self.address
    }

    /// How long it is.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Part of it; cut off where it ends.
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
/// What the driver answers.
pub fn allocate(bytes: usize) -> Outcome<Span> {
    let mut address = 0;
    // SAFETY: the place outlives the call.
    unsafe { call!(cuMemAlloc_v2(&raw mut address, bytes)) }?;
    Ok(Span::new(address, bytes))
}

/// Frees what `allocate` gave; also what it did not give, for the driver to refuse.
///
/// # Errors
///
/// What the driver answers.
pub fn free(span: Span) -> Outcome<()> {
    // SAFETY: device memory is not Rust's, and the driver refuses what is not allocated (2).
    unsafe { call!(cuMemFree_v2(span.address)) }
}

/// Free and total bytes of the device.
///
/// # Errors
///
/// What the driver answers.
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
    /// What the driver answers, here and below.
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
    /// What the driver answers.
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
    /// What the driver answers.
    pub fn free(&self, span: Span) -> Outcome<()> {
        // SAFETY: the stream is live (1); the driver refuses what is not allocated (2).
        unsafe { call!(cuMemFreeAsync(span.address, self.raw())) }
    }
}

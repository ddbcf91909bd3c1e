//! The interface of an allocator of known rules, and their common arithmetic.

/// The alignment of CUDA's allocations, to which all simulators but PyTorch's round sizes up.
pub(super) const ALIGNMENT: u64 = 256;

/// There is no room for a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Full;

/// An allocator without memory.
pub(crate) trait Simulator: std::fmt::Debug {
    /// The address of a new buffer.
    ///
    /// # Errors
    /// Fails if the rules find no room within the capacity; then only cached memory has changed.
    fn allocate(&mut self, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full>;

    /// Frees a buffer on a stream; one that is not there is ignored.
    fn free(&mut self, buffer: u64, stream: u64);

    /// The bytes that the allocator has taken from the device.
    fn held(&self) -> u64;

    /// Returns the bytes of a live buffer, including those of rounding up.
    fn taken(&self, buffer: u64) -> u64;
}

/// `bytes` rounded up to a multiple of a power of two.
pub(super) fn round_up(bytes: u64, alignment: u64) -> Result<u64, Full> {
    bytes.checked_next_multiple_of(alignment).ok_or(Full)
}

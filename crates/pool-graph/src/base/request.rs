//! Allocation requests whose sizes and alignments have been checked and rounded.

use std::alloc::Layout;

use crate::base::error::GraphMemoryError;

/// The alignment, in bytes, of every address that a [source](crate::MemorySource) returns.
pub const SOURCE_ALIGNMENT: u64 = 256;

/// The granularity and the minimum alignment of allocations, in bytes.
pub(crate) const GRANULE: u64 = SOURCE_ALIGNMENT;

/// The number of bytes that a pool usually requests from its source in one allocation. For a block
/// larger than this, the pool requests more bytes.
pub(crate) const CHUNK: u64 = 16 << 20;

/// The layout of a block: a size (`u64`), a size and an alignment (`(u64, u64)`), or a [`Layout`].
///
/// If the layout specifies only a size, the block is aligned to 256 bytes. An alignment must be a
/// power of two.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the layout of a block",
    label = "not a layout",
    note = "layouts are: `u64` for a size; `(u64, u64)` for a size and an alignment; `std::alloc::Layout`"
)]
pub trait BlockLayout: sealed::BlockLayout {}

mod sealed {
    pub trait BlockLayout {
        /// Returns the layout's size and alignment in bytes.
        fn size_and_alignment(self) -> (u64, u64);
    }
}

impl BlockLayout for u64 {}

impl sealed::BlockLayout for u64 {
    fn size_and_alignment(self) -> (u64, u64) {
        (self, GRANULE)
    }
}

impl BlockLayout for (u64, u64) {}

impl sealed::BlockLayout for (u64, u64) {
    fn size_and_alignment(self) -> (u64, u64) {
        self
    }
}

impl BlockLayout for Layout {}

impl sealed::BlockLayout for Layout {
    fn size_and_alignment(self) -> (u64, u64) {
        (self.size() as u64, self.align() as u64)
    }
}

/// A request for a block whose size and alignment are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The requested size in bytes.
    pub(crate) size: u64,
    /// The requested alignment in bytes.
    pub(crate) asked_alignment: u64,
    /// The size in bytes, rounded up to a multiple of the granule.
    pub(crate) bytes: u64,
    /// The alignment in bytes, which is at least one granule.
    pub(crate) alignment: u64,
    /// The size of the smallest free range that is guaranteed to hold the block, regardless of
    /// where the range starts.
    pub(crate) anywhere: u64,
}

impl Request {
    pub(crate) fn new<E>(size: u64, asked_alignment: u64) -> Result<Self, GraphMemoryError<E>> {
        if size == 0 {
            return Err(GraphMemoryError::ZeroSize);
        }
        if !asked_alignment.is_power_of_two() {
            return Err(GraphMemoryError::BadAlignment { alignment: asked_alignment });
        }
        let alignment = asked_alignment.max(GRANULE);
        let rounded = size.checked_next_multiple_of(GRANULE);
        let sum = |bytes: u64| Some((bytes, bytes.checked_add(alignment - GRANULE)?));
        let (bytes, anywhere) = rounded
            .and_then(sum)
            .ok_or(GraphMemoryError::SizeOverflow { size, alignment: asked_alignment })?;
        Ok(Self { size, asked_alignment, bytes, alignment, anywhere })
    }

    /// Returns the number of bytes to request from the source. The result is at least the size of a
    /// chunk.
    pub(crate) fn growth(&self) -> u64 {
        self.anywhere.max(CHUNK)
    }

    /// Returns the number of bytes to skip after `address` to align the block. Returns `None` if
    /// the block does not fit into the `bytes` bytes at `address`.
    pub(crate) fn padding(&self, address: u64, bytes: u64) -> Option<u64> {
        let padding = address.checked_next_multiple_of(self.alignment)? - address;
        (padding.checked_add(self.bytes)? <= bytes).then_some(padding)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::{CHUNK, Request};
    use crate::base::error::GraphMemoryError;

    fn request(size: u64, alignment: u64) -> Result<Request, GraphMemoryError<Infallible>> {
        Request::new(size, alignment)
    }

    #[test]
    fn is_rounded_to_granules() {
        let one = request(1, 1).unwrap();
        assert_eq!((one.bytes, one.alignment, one.anywhere, one.growth()), (256, 256, 256, CHUNK));
        let odd = request(257, 4096).unwrap();
        assert_eq!((odd.bytes, odd.alignment, odd.anywhere), (512, 4096, 512 + 4096 - 256));
        assert_eq!(request(CHUNK, 512).unwrap().growth(), CHUNK + 256);
    }

    #[test]
    fn padding_leads_to_an_aligned_address() {
        let request = request(512, 1024).unwrap();
        assert_eq!(request.padding(1024, 512), Some(0));
        assert_eq!(request.padding(1280, 768 + 512), Some(768));
        assert_eq!(request.padding(1280, 768 + 256), None);
        assert_eq!(request.padding(u64::MAX - 255, 256), None);
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        assert_eq!(request(0, 1), Err(GraphMemoryError::ZeroSize));
        for alignment in [0, 3, 257, u64::MAX] {
            assert_eq!(request(1, alignment), Err(GraphMemoryError::BadAlignment { alignment }));
        }
        for (size, alignment) in [(u64::MAX, 1), (u64::MAX - 254, 256), (u64::MAX - 511, 1 << 63)] {
            let refused = Err(GraphMemoryError::SizeOverflow { size, alignment });
            assert_eq!(request(size, alignment), refused);
        }
        assert_eq!(request(u64::MAX - 255, 1).unwrap().bytes, u64::MAX - 255);
    }
}

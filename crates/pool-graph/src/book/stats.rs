//! Statistics of a pool, as plain numbers and as a table for people.

use std::fmt;

use pool_core::Device;

use crate::base::bytes::{Bytes, row};

/// The statistics of one [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphPoolStats {
    /// The device of the memory.
    pub device: Device,
    /// The pool's number.
    pub pool: u64,
    /// Bytes taken from the source, or in transit in either direction.
    pub reserved_bytes: u64,
    /// The peak of reserved bytes.
    pub peak_reserved_bytes: u64,
    /// The configured maximum; `u64::MAX` is none.
    pub maximum_bytes: u64,
    /// Bytes of allocated blocks, each rounded up to 256.
    pub in_use_bytes: u64,
    /// The peak of bytes in use.
    pub peak_in_use_bytes: u64,
    /// Requested bytes of allocated blocks.
    pub requested_bytes: u64,
    /// Bytes of blocks that captured graphs lease.
    pub leased_bytes: u64,
    /// Bytes in chunks that are in no block.
    pub free_bytes: u64,
    /// The largest block that needs no growth, in bytes, at an alignment of 256.
    pub largest_free_bytes: u64,
    /// Free bytes outside the largest free block of their chunk.
    pub scattered_free_bytes: u64,
    /// Pieces of the source's memory.
    pub chunks: u64,
    /// Blocks held, free or not.
    pub blocks: u64,
    /// Blocks that are allocated.
    pub allocated_blocks: u64,
    /// Allocated blocks that captured graphs lease.
    pub leased_blocks: u64,
    /// The number of blocks ever allocated.
    pub allocations: u64,
    /// The number of blocks returned individually.
    pub returns: u64,
    /// The number of growths: requests for which the pool took memory from the source.
    pub growths: u64,
    /// The number of refusals by the source.
    pub refusals: u64,
    /// The number of resets.
    pub resets: u64,
    /// `true` if the pool was disposed.
    pub disposed: bool,
}

impl GraphPoolStats {
    /// Returns the external fragmentation of the free bytes: 0 if each chunk's free bytes are one
    /// block, as after a reset without leases; near 1 if they are many small blocks.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn fragmentation(&self) -> f64 {
        if self.free_bytes == 0 {
            return 0.0;
        }
        self.scattered_free_bytes as f64 / self.free_bytes as f64
    }
}

impl fmt::Display for GraphPoolStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disposed = if self.disposed { ", disposed" } else { "" };
        writeln!(f, "graph memory pool {} on {}{disposed}", self.pool, self.device)?;
        row(f, "reserved", Bytes(self.reserved_bytes))?;
        row(f, "reserved at most", Bytes(self.peak_reserved_bytes))?;
        if self.maximum_bytes != u64::MAX {
            row(f, "maximum", Bytes(self.maximum_bytes))?;
        }
        row(f, "in use", Bytes(self.in_use_bytes))?;
        row(f, "in use at most", Bytes(self.peak_in_use_bytes))?;
        row(f, "asked for", Bytes(self.requested_bytes))?;
        row(f, "leased", Bytes(self.leased_bytes))?;
        row(f, "free", Bytes(self.free_bytes))?;
        row(f, "largest free", Bytes(self.largest_free_bytes))?;
        row(f, "fragmentation", format!("{:.1} %", 100.0 * self.fragmentation()))?;
        row(f, "chunks", self.chunks)?;
        row(f, "blocks", self.blocks)?;
        row(f, "blocks in use", self.allocated_blocks)?;
        row(f, "blocks leased", self.leased_blocks)?;
        row(f, "allocations", self.allocations)?;
        row(f, "returns", self.returns)?;
        row(f, "growths", self.growths)?;
        row(f, "refusals", self.refusals)?;
        row(f, "resets", self.resets)
    }
}

//! What a pool holds and did, as plain numbers and as a table for people.

use std::fmt;

use pool_core::Device;

use crate::base::bytes::{Bytes, row};

/// The numbers of one [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphPoolStats {
    /// Where the memory is.
    pub device: Device,
    /// The pool's number.
    pub pool: u64,
    /// Bytes taken from the source, or on their way in either direction.
    pub reserved_bytes: u64,
    /// The most bytes that were ever reserved.
    pub peak_reserved_bytes: u64,
    /// The configured maximum; `u64::MAX` is none.
    pub maximum_bytes: u64,
    /// Bytes of allocated blocks, each rounded up to 256.
    pub in_use_bytes: u64,
    /// The most bytes that were ever in use.
    pub peak_in_use_bytes: u64,
    /// Bytes of allocated blocks, as asked for.
    pub requested_bytes: u64,
    /// Bytes of blocks that captured graphs lease.
    pub leased_bytes: u64,
    /// Bytes in chunks that are in no block.
    pub free_bytes: u64,
    /// Bytes of the largest block that would not need growth, at an alignment of 256.
    pub largest_free_bytes: u64,
    /// Free bytes outside of the largest free block of their chunk.
    pub scattered_free_bytes: u64,
    /// Pieces of the source's memory.
    pub chunks: u64,
    /// Blocks held, free or not.
    pub blocks: u64,
    /// Blocks that are allocated.
    pub allocated_blocks: u64,
    /// Allocated blocks that captured graphs lease.
    pub leased_blocks: u64,
    /// Blocks that were ever allocated.
    pub allocations: u64,
    /// Blocks that were returned one by one.
    pub returns: u64,
    /// How often a request made the pool take memory from the source.
    pub growths: u64,
    /// How often the source refused.
    pub refusals: u64,
    /// How often the pool was reset.
    pub resets: u64,
    /// Whether the pool was disposed.
    pub disposed: bool,
}

impl GraphPoolStats {
    /// How much of the free bytes lies scattered: 0 where each chunk's free bytes are one block, as
    /// after a reset without leases; near 1 where they are many small ones.
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

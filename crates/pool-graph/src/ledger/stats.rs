//! A pool's statistics, available as numbers and as a printed table.

use std::fmt;

use pool_core::Device;

use crate::base::bytes::{Bytes, row};

/// The statistics of a [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphPoolStats {
    /// The device that holds the memory.
    pub device: Device,
    /// The pool's number.
    pub pool: u64,
    /// The number of bytes that the pool owns, is requesting from its source, or is returning to
    /// its source.
    pub reserved_bytes: u64,
    /// The highest value of `reserved_bytes` during the pool's lifetime.
    pub peak_reserved_bytes: u64,
    /// The configured size limit in bytes, or `u64::MAX` if the pool has no limit.
    pub maximum_bytes: u64,
    /// The total size in bytes of all allocated blocks, with each size rounded up to a multiple
    /// of 256.
    pub in_use_bytes: u64,
    /// The highest value of `in_use_bytes` during the pool's lifetime.
    pub peak_in_use_bytes: u64,
    /// The total number of bytes requested for all allocated blocks.
    pub requested_bytes: u64,
    /// The total size in bytes of all blocks that are leased to captured graphs.
    pub leased_bytes: u64,
    /// The number of bytes in the pool's chunks that are not part of an allocated block.
    pub free_bytes: u64,
    /// The size in bytes of the largest block, aligned to 256 bytes, that can be allocated without
    /// growing the pool.
    pub largest_free_bytes: u64,
    /// The total size in bytes of all free blocks except the largest one in each chunk.
    pub scattered_free_bytes: u64,
    /// The number of memory ranges that the pool has received from its source and has not yet
    /// returned.
    pub chunks: u64,
    /// The number of blocks in the pool, including free blocks.
    pub blocks: u64,
    /// The number of allocated blocks.
    pub allocated_blocks: u64,
    /// The number of allocated blocks that are leased to captured graphs.
    pub leased_blocks: u64,
    /// The number of allocations during the pool's lifetime.
    pub allocations: u64,
    /// The number of blocks that were returned individually.
    pub returns: u64,
    /// The number of times that the pool has received memory from its source.
    pub growths: u64,
    /// The number of requests that the source has refused.
    pub refusals: u64,
    /// The number of times that the pool has been reset.
    pub resets: u64,
    /// `true` if the pool has been disposed of.
    pub disposed: bool,
}

impl GraphPoolStats {
    /// Returns the external fragmentation of the pool's free memory as a number between 0 and 1.
    /// The result is 0 if the free bytes in each chunk form a single block. After a reset without
    /// leases, the result is always 0. The result is close to 1 if the free bytes are scattered
    /// across many small blocks.
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
        row(f, "peak reserved", Bytes(self.peak_reserved_bytes))?;
        if self.maximum_bytes != u64::MAX {
            row(f, "maximum", Bytes(self.maximum_bytes))?;
        }
        row(f, "in use", Bytes(self.in_use_bytes))?;
        row(f, "peak in use", Bytes(self.peak_in_use_bytes))?;
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

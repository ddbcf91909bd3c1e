//! Cases that every source of memory passes: synthetic addresses, the simulated driver, a device.

#![allow(dead_code, reason = "each test program uses what it can ask for")]

pub(crate) mod arenas;
pub(crate) mod intervals;
pub(crate) mod pools;
pub(crate) mod threads;

use pool_graph::{CUDAGraphMemoryPool, GraphPoolConfig, MemorySource};

pub(crate) const MIB: u64 = 1 << 20;

/// A source of memory under test, and how much of it a case may use.
pub(crate) struct Subject<M> {
    pub(crate) source: M,
    /// Bytes of the largest single allocation that is tried.
    pub(crate) largest: u64,
}

impl<M: MemorySource + Clone> Subject<M> {
    pub(crate) fn pool(&self, initial: u64, maximum: u64) -> CUDAGraphMemoryPool<M> {
        CUDAGraphMemoryPool::new(self.source.clone(), GraphPoolConfig { initial, maximum })
    }
}

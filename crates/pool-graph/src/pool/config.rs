//! How much a pool takes at once, and at most.

/// The bytes of a [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphPoolConfig {
    /// Bytes to take from the source when the pool is made, rounded up to chunks of 16 MiB; 512 MiB by
    /// default.
    pub initial: u64,
    /// Bytes that the pool never reserves more of; `u64::MAX`, the default, is no maximum.
    pub maximum: u64,
}

impl Default for GraphPoolConfig {
    fn default() -> Self {
        Self { initial: 512 << 20, maximum: u64::MAX }
    }
}

//! The bytes that a pool takes at its creation, and at most.

/// The bytes of a [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphPoolConfig {
    /// The bytes to take from the source at the pool's creation, rounded up to chunks of 16 MiB;
    /// 512 MiB by default.
    pub initial: u64,
    /// The maximum of reserved bytes; `u64::MAX`, the default, is no maximum.
    pub maximum: u64,
}

impl Default for GraphPoolConfig {
    fn default() -> Self {
        Self { initial: 512 << 20, maximum: u64::MAX }
    }
}

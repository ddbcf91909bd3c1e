//! The initial and the maximum size of a pool.

/// The initial and the maximum size of a [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphPoolConfig {
    /// The bytes to request from the source when the pool is created, rounded up to chunks of 16
    /// MiB. The default is 512 MiB.
    pub initial: u64,
    /// The maximum number of reserved bytes. The default, `u64::MAX`, means no limit.
    pub maximum: u64,
}

impl Default for GraphPoolConfig {
    fn default() -> Self {
        Self { initial: 512 << 20, maximum: u64::MAX }
    }
}

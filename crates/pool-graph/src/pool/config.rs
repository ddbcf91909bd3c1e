//! The initial and maximum sizes of a pool.

/// The initial and maximum sizes of a [`CUDAGraphMemoryPool`](crate::CUDAGraphMemoryPool).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphPoolConfig {
    /// The number of bytes that the pool requests from its source when it is created, rounded up to
    /// a multiple of 16 MiB. The default is 512 MiB.
    pub initial: u64,
    /// The maximum number of bytes that the pool may reserve from its source. The default of
    /// `u64::MAX` means that there is no limit.
    pub maximum: u64,
}

impl Default for GraphPoolConfig {
    fn default() -> Self {
        Self { initial: 512 << 20, maximum: u64::MAX }
    }
}

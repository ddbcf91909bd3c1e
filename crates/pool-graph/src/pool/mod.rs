//! The thread-safe pool of memory whose addresses stay.

mod config;
mod growth;
mod memory_pool;
mod shared;

pub use config::GraphPoolConfig;
pub use memory_pool::{CUDAGraphMemoryPool, Disposal};
pub(crate) use shared::Shared;

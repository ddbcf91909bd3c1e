//! The thread-safe pool of memory with fixed addresses.
//!
//! A thread waits on the lock of the pool's state until another thread has fetched memory from the source. A thread that
//! is itself inside a call of a source (a hook, say) does not wait there ([`SourceCall`](crate::base::sync::SourceCall)).
//! `parking_lot` allocates a record for a waiting thread; that happens before the lock is taken
//! ([`get_ready_to_wait`](crate::base::sync::get_ready_to_wait)). Its table of waiting threads grows under locks of its
//! own. So a hook of the allocator that runs right there, and must itself wait for another thread, deadlocks.

mod config;
mod growth;
mod memory_pool;
mod shared;

pub use config::GraphPoolConfig;
pub use memory_pool::{CUDAGraphMemoryPool, Disposal};
pub(crate) use shared::Shared;

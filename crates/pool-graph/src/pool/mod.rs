//! A thread-safe pool of memory whose blocks stay at fixed addresses.
//!
//! While one thread requests memory from the source, other threads that find no free block wait on
//! the lock of the pool's state. A thread that is already inside a call to a source, in a hook for
//! example, does not wait ([`SourceCall`](crate::base::sync::SourceCall)). `parking_lot` allocates
//! a record for each waiting thread. The pool makes that allocation happen before it takes the lock
//! ([`get_ready_to_wait`](crate::base::sync::get_ready_to_wait)). The table of waiting threads in
//! `parking_lot` grows under separate locks. If an allocator hook runs during that growth and waits
//! for another thread, the process deadlocks.

mod config;
mod growth;
mod memory_pool;
mod shared;

pub use config::GraphPoolConfig;
pub use memory_pool::{CUDAGraphMemoryPool, Disposal};
pub(crate) use shared::Shared;

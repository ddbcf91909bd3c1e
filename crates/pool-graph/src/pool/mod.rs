//! The thread-safe memory pool whose blocks stay at fixed addresses.
//!
//! If a thread finds no free block while another thread is requesting memory from the source, the
//! first thread waits on the pool's condition variable. A thread that is already calling a source
//! (for example, in an allocator hook) never waits; see
//! [`SourceCall`](crate::base::sync::SourceCall). `parking_lot` allocates a record for each thread
//! when the thread first waits. The pool calls
//! [`get_ready_to_wait`](crate::base::sync::get_ready_to_wait) to trigger this allocation before it
//! acquires the lock. In `parking_lot`, the table of waiting threads grows while internal locks are
//! held. If an allocator hook runs during this growth and waits for another thread, the process
//! deadlocks.

mod config;
mod growth;
mod memory_pool;
mod shared;

pub use config::GraphPoolConfig;
pub use memory_pool::{CUDAGraphMemoryPool, Disposal};
pub(crate) use shared::Shared;

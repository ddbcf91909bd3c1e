//! Implements owned arrays, whose memory is not bound to a scope. Any thread can acquire, drop, and
//! reuse owned arrays.
//!
//! A [`SharedPool`] is a handle to a [`Store`](store::Store). A store consists of shards. Each
//! shard contains lists of idle blocks, which are sorted by size and protected by a lock (see the
//! `shard` module). An [`Owned`] array stores the [record](record::Record) of its block, and that
//! record is not in any list while the array is live.
//!
//! Each backend defines its own kind of block. On the host, a block is an allocation (see the
//! `host_memory` module). For a backend that enqueues its work, a block is a pool that contains one
//! array (see the `pooled_memory` module). Like any other pool, this pool orders all uses of its
//! memory.
//!
//! # User code
//!
//! Backends, allocator hooks, and `tracing` subscribers run while no lock is held, so they may use
//! the same pool.

// Layering: a module may import only the modules that its row lists after the colon.
// `cargo xtask imports` checks these rows, and `cargo xtask imports --list` prints them.
//
// memory, size_class, thread_cell: nothing
// record: size_class
// host_memory: memory
// pooled_memory: memory
// shard: record, thread_cell
// store: memory, record, shard, size_class, thread_cell
// owned: host_memory, memory, store
// shared_pool: host_memory, memory, owned, store
// keep_owned: host_memory, memory, owned, record, shared_pool, store

mod host_memory;
mod keep_owned;
mod memory;
mod owned;
mod pooled_memory;
mod record;
mod shard;
mod shared_pool;
mod size_class;
mod store;
#[cfg(feature = "std")]
mod thread_cell;

pub use host_memory::{HostMemory, SharedHostBackend};
pub use memory::{OwnedMemory, SharedBackend};
pub use owned::Owned;
pub use pooled_memory::{ContextSource, PooledMemory};
pub use shared_pool::{SharedPool, TakeResult};

//! Owned arrays: memory that leaves its scope, and that any thread takes, drops and reuses.
//!
//! A [`SharedPool`] is a handle of a [`Store`](store::Store). The store has shards; a shard has lists of idle blocks,
//! by size, behind a lock (`shard`). An [`Owned`] has the [record](record::Record) of its block, which is in no list
//! meanwhile. The backend decides what a block is. On the host it is an allocation (`host_memory`). On a queue it is a
//! pool of one array (`pooled_memory`), which orders the block's uses as any pool does.
//!
//! # Foreign code
//!
//! Backends, allocators' hooks and `tracing` subscribers run outside the locks, and may use the same pool.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
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

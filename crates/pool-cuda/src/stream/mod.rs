//! Implements a pool's context, which is a stream on a device. The context also stores the pool's
//! blocks, the other streams that use them, page-locked buffers, and memory for shapes.

mod block_allocation;
pub(crate) mod block_free;
pub(crate) mod block_source;
pub(crate) mod block_user;
pub(crate) mod block_uses;
pub(crate) mod device;
pub(crate) mod device_stream;
pub(crate) mod guard_events;
pub(crate) mod holders;
pub(crate) mod other_streams;
mod peer_access;
pub(crate) mod peers;
pub(crate) mod registered_streams;
pub(crate) mod shape_cells;
pub(crate) mod staging;
mod stream_questions;
pub(crate) mod thread;

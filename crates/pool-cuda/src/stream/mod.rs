//! The context of a pool, a device with one stream of it, and what a pool keeps of other streams.

pub(crate) mod block_source;
pub(crate) mod block_uses;
pub(crate) mod block_watch;
pub(crate) mod device;
pub(crate) mod device_stream;
pub(crate) mod other_streams;
pub(crate) mod page_locked;
pub(crate) mod peer_access;
pub(crate) mod staging;
pub(crate) mod thread;

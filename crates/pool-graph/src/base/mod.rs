//! The vocabulary of all modules: blocks, requests, ranges, the error of pools and arenas, the lock, and spare capacity
//! for lists behind a lock.

pub(crate) mod block;
pub(crate) mod bytes;
pub(crate) mod error;
pub(crate) mod range;
pub(crate) mod request;
pub(crate) mod room;
pub(crate) mod sync;

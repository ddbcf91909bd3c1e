//! What every room of the crate speaks in: blocks, requests, ranges, the error of pools and arenas, the lock, and
//! room in lists that lie behind a lock.

pub(crate) mod block;
pub(crate) mod bytes;
pub(crate) mod error;
pub(crate) mod range;
pub(crate) mod request;
pub(crate) mod room;
pub(crate) mod sync;

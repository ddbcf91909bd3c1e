//! Types that all modules use: blocks, requests, ranges, the error of pools and arenas, and the
//! lock.

pub(crate) mod block;
pub(crate) mod bytes;
pub(crate) mod error;
pub(crate) mod range;
pub(crate) mod request;
pub(crate) mod shortage;
pub(crate) mod sync;

//! Types that the crate's other modules use: blocks, requests, address ranges, errors, and locks.

pub(crate) mod block;
pub(crate) mod bytes;
pub(crate) mod error;
pub(crate) mod range;
pub(crate) mod request;
pub(crate) mod shortage;
pub(crate) mod sync;

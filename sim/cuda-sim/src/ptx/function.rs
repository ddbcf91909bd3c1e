//! Functions of registers' bits, as instructions name them.

/// Functions on bits of registers.
pub(crate) type One = fn(u64) -> u64;
pub(crate) type Two = fn(u64, u64) -> u64;
pub(crate) type Three = fn(u64, u64, u64) -> u64;
pub(crate) type Four = fn(u64, u64, u64, u64) -> u64;

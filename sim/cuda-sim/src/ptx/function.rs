//! Types of functions on the bits of registers.

/// A function of the bits of one register.
pub(crate) type One = fn(u64) -> u64;
pub(crate) type Two = fn(u64, u64) -> u64;
pub(crate) type Three = fn(u64, u64, u64) -> u64;
pub(crate) type Four = fn(u64, u64, u64, u64) -> u64;

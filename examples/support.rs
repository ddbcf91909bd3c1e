//! What the examples share: where those for a device run, and where their kernels come from.

#[cfg(feature = "device")]
mod device;

#[cfg(feature = "device")]
pub use device::{kernel, open};

/// Compiles the code of the repository's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct RepositoryReadme;

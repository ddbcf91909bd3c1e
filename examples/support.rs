//! The common parts of the examples: the device, the kernels, and the linear algebra of the
//! examples that are generic over the backend.

#[cfg(feature = "device")]
pub mod algebra;
#[cfg(feature = "device")]
mod device;

#[cfg(feature = "device")]
pub use device::{kernel, open};

/// Compiles the code of the repository's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct RepositoryReadme;

/// Compiles the code of the guide.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide.md")]
struct Guide;

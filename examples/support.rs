//! The parts that examples share: the device, the kernels, and the linear algebra for examples that
//! are generic over the backend.

#[cfg(feature = "device")]
pub mod algebra;
#[cfg(feature = "device")]
mod device;

#[cfg(feature = "device")]
pub use device::{kernel, open};

/// Compiles the code in the repository's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct RepositoryReadme;

/// Compiles the code in the guide.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide.md")]
struct Guide;

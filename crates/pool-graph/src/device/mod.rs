//! Memory of a CUDA device, and arenas on its streams. Nothing else in the crate knows of CUDA.

#[cfg(feature = "cuda")]
mod capture;
#[cfg(feature = "cuda")]
mod installed;
#[cfg(feature = "cuda")]
mod memory;
#[cfg(not(feature = "cuda"))]
mod without;

#[cfg(feature = "cuda")]
pub use memory::DeviceMemory;
#[cfg(not(feature = "cuda"))]
pub use without::DeviceMemory;

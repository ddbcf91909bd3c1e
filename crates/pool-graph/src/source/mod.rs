//! The trait for memory sources, with implementations for CUDA devices and synthetic addresses.

mod contract;
#[cfg(feature = "cuda")]
mod device;
mod synthetic;
#[cfg(not(feature = "cuda"))]
mod without_cuda;

pub(crate) use contract::is_good_address;
pub use contract::{GraphMemoryResult, MemorySource};
#[cfg(feature = "cuda")]
pub use device::DeviceMemory;
pub use synthetic::{SyntheticMemory, SyntheticRefusal};
#[cfg(not(feature = "cuda"))]
pub use without_cuda::DeviceMemory;

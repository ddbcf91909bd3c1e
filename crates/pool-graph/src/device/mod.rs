//! Memory of a CUDA device, arenas on its streams, and what the driver says of graphs.

#[cfg(feature = "cuda-backend")]
mod capture;
#[cfg(feature = "cuda-backend")]
pub(crate) mod graph_reading;
#[cfg(feature = "cuda-backend")]
mod installed;
#[cfg(feature = "cuda-backend")]
mod memory;
#[cfg(not(feature = "cuda-backend"))]
mod without;

#[cfg(feature = "cuda-backend")]
pub use memory::DeviceMemory;
#[cfg(feature = "cuda-backend")]
pub(crate) use memory::answer;
#[cfg(not(feature = "cuda-backend"))]
pub use without::DeviceMemory;
